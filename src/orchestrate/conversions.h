//===- conversions.h - Values in the orders in which others read them -------===//
//
// Where one form stores a value with its dimensions in one order and another form reads it in
// another, a copy stands between them (He et al. 2022, format conversions). It is a definition like
// any other, and a kernel of its own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_CONVERSIONS_H
#define KINTSUGI_ORCHESTRATE_CONVERSIONS_H

#include "te/program.h"

#include <map>
#include <set>

namespace kintsugi::orchestrate {

using Order = llvm::SmallVector<unsigned, 4>;
/// By the number of the original value: the orders that forms have it in; empty: as it is.
using Orders = std::map<uint32_t, std::set<Order>>;

/// Adds the orders of a program's definitions.
void addOrders(const te::Program &program, Orders &orders);

struct Converted {
  te::Program program;                     ///< With the copies behind all its nodes,
  llvm::SmallVector<uint32_t> conversions; ///< which these are.
};

/// A program with copies of its values in all other orders that are known; `done` has those, by
/// original value and order copied from, that need no more copies, and gets these.
Converted withConversions(const te::Program &program, const Orders &orders,
                          std::set<std::pair<uint32_t, Order>> &done);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_CONVERSIONS_H
