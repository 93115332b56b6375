//===- rows.h - The linear rows of a problem ------------------------------===//
//
// Rows over 0/1 columns that every plan satisfies (every plan without idle optional columns, to be
// exact: dropping those never costs anything). Three kinds: cover, output and support.
//
// A support row says: whoever consumes something of a set L of resources needs a column that brings
// L into being from outside. In the order of a plan the first producer of anything in L consumes
// nothing in L, so for one consumer c
//     u_c <= sum of u_p over producers p of L that consume nothing of L.
// L = {r} is the availability row of r; L = the resources of a cycle is the cut against that cycle,
// and is tighter than "not all columns of the cycle" (it is the loop formula of Lin and Zhao,
// ASSAT, AAAI 2002). Consumers that cover one item exclude each other, so they share a row, from
// whose right side the producers that cover the same item fall out as well.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_ROWS_H
#define KINTSUGI_SOLVE_ROWS_H

#include "solve/plan.h"

#include <limits>

namespace kintsugi::solve {

/// In place of a bound that a row lacks.
inline constexpr double unbounded = std::numeric_limits<double>::infinity();

/// lower <= sum(plus) - sum(minus) <= upper. Both lists ascend and are disjoint. With `weights`,
/// one for each of `plus`, that sum is of them.
struct Row {
  std::vector<ColumnId> plus;
  std::vector<ColumnId> minus;
  double lower = 0;
  double upper = 0;
  std::vector<double> weights = {};
  friend bool operator==(const Row &, const Row &) = default;
};

/// Cover of every item, every output, and availability of every Derived resource. Columns that are
/// not in `usable` (by column) are left out: they can run in no plan.
std::vector<Row> initialRows(const Problem &problem, const Incidence &incidence,
                             const std::vector<bool> &usable);

/// What the usable columns take is no more than there is room for, as shares of that.
Row roomRow(const Problem &problem, const std::vector<bool> &usable);

/// Rows that no plan violates and the choice behind `run` does; empty only where every chosen
/// column ran and every output is there.
std::vector<Row> lazyRows(const Problem &problem, const Incidence &incidence,
                          const std::vector<bool> &usable, const Execution &run);

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_ROWS_H
