//===- constant_orders.h - Formats of what is computed of constants alone -----===//
//
// Such values cost nothing whatever order they are stored in, so nothing is searched: each lies as
// the loops that read it run (a table of relative positions, gathered by rows of heads, is read by
// head). Sums read their constants by steps that their schedules choose, and copy them to match;
// what one reads along its reduction stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_CONSTANT_ORDERS_H
#define KINTSUGI_LAYOUT_CONSTANT_ORDERS_H

#include "explain/log.h"
#include "layout/format.h"
#include "te/open_axis.h"

namespace kintsugi::layout {

/// Sets the orders of definitions that depend on constants alone, by value number. `orders` has
/// those of the other values, by which their definitions' loops run. Row-major stays what readers
/// want in unlike orders, what a scan or a call reads, outputs, and what lies apart along an open
/// dimension. `log` may be null.
void orderConstants(const te::Program &program, llvm::ArrayRef<te::OpenInputs> open,
                    std::vector<Order> &orders, explain::Log *log);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_CONSTANT_ORDERS_H
