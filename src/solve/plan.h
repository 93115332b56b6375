//===- plan.h - From a choice of columns to a plan ------------------------===//
//
// What every solver shares once it has chosen: can the columns be put in an order, what do they
// cost, and the Solution that says so.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_PLAN_H
#define KINTSUGI_SOLVE_PLAN_H

#include "solve/incidence.h"
#include "solve/solvers.h"

#include <span>

namespace kintsugi::solve {

/// What happens when the chosen columns run as soon as what they consume is there.
struct Execution {
  std::vector<ColumnId> order; ///< Those that ran; among ready ones the smallest id first.
  std::vector<ColumnId> stuck; ///< Those that never could, ascending.
  std::vector<bool> available; ///< By resource, in the end.
};

/// Runs `chosen` (distinct ids), each at most once. Says nothing of cover or outputs.
Execution execute(const Problem &problem, std::span<const ColumnId> chosen);

/// By column: could it run if every column did?
std::vector<bool> usableColumns(const Problem &problem);

/// Is every output available after `execution`?
bool producesOutputs(const Problem &problem, const Execution &execution);

/// Optional columns whose products nothing chosen needs are dropped from an execution order.
std::vector<ColumnId> withoutIdle(const Problem &problem, const std::vector<ColumnId> &order);

/// Whether there is room for what they take, but for a millionth of it: what solvers don't see.
bool hasRoom(const Problem &problem, std::span<const ColumnId> chosen);

/// Total cost, added in ascending order of ids so that the order of running does not change it.
double totalCost(const Problem &problem, std::vector<ColumnId> chosen);

/// The solution that runs `order`, less its idle columns, and proves `bound`: Optimal where the two
/// meet, to a relative 1e-9. Fuel spent is the caller's to fill in.
Solution makePlan(const Problem &problem, const std::vector<ColumnId> &order, double bound);

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_PLAN_H
