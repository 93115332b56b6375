//===- constant_orders.h - Formats of constant subexpressions ------------------===//
//
// What depends on constants alone is computed once, and lies in memory in any order at no cost. So
// its format is not searched: it is the order in which the loops that read it run (a table of
// relative positions, gathered for all heads at once, is read head by head). Sums read constants
// by steps that their schedules choose and copy them to match, so that whatever is read along a
// reduction stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_CONSTANT_ORDERS_H
#define KINTSUGI_LAYOUT_CONSTANT_ORDERS_H

#include "explain/log.h"
#include "te/program.h"

#include <optional>

namespace kintsugi::layout {

/// The program with the results of such definitions stored as their readers' loops run; nullopt
/// where they are. A value stays as it is where its readers run in unlike orders or where an index
/// is more than an iterator and a constant, and where an output, a scan or a call needs it so.
/// `log` may be null.
std::optional<te::Program> constantsAsRead(const te::Program &program, explain::Log *log);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_CONSTANT_ORDERS_H
