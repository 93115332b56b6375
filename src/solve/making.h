//===- making.h - The cheapest way to make resources ----------------------===//
//
// A choice of columns that cover the items may still lack formats and derived values; optional
// columns make them. Greedy solving asks for the cheapest such columns again and again.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_MAKING_H
#define KINTSUGI_SOLVE_MAKING_H

#include "solve/incidence.h"

#include <optional>

namespace kintsugi::solve {

struct Making {
  double price = 0;              ///< Of all columns together.
  std::vector<ColumnId> columns; ///< Optional ones, ascending.
};

/// Optional columns that make all of `needed` from what is `available` (by resource), each resource
/// the cheapest way; nullopt where one can't be made. Work that two resources share is counted
/// twice while choosing (Knuth, A generalization of Dijkstra's algorithm, 1977), once in the price.
/// Takes time in the columns that `needed` reaches backwards.
std::optional<Making> makeCheaply(const Problem &problem, const Incidence &incidence,
                                  const std::vector<bool> &available,
                                  const std::vector<ResourceId> &needed);

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_MAKING_H
