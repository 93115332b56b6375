//===- verify.cpp - Does a solution hold? ---------------------------------===//

#include "solve/plan.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::solve {
namespace {

Error wrong(const Problem &problem, const std::string &what) {
  return internalError("solution of '" + problem.name + "': " + what);
}

Status verifyCover(const Problem &problem, const Solution &solution) {
  std::vector<int> covered(problem.items.size());
  std::vector<bool> chosen(problem.columns.size());
  for (ColumnId id : solution.columns) {
    if (id < 0 || index(id) >= problem.columns.size())
      return wrong(problem, "it chooses column " + std::to_string(id) + ", which does not exist");
    if (chosen[index(id)])
      return wrong(problem, "column '" + problem.columns[index(id)].name + "' is chosen twice");
    chosen[index(id)] = true;
    for (ItemId item : problem.columns[index(id)].covers)
      ++covered[index(item)];
  }
  for (size_t i = 0; i < covered.size(); ++i)
    if (covered[i] != 1)
      return wrong(problem, "item '" + problem.items[i].name + "' is covered " +
                                std::to_string(covered[i]) + " times");
  return Status::success();
}

Status verifyOrder(const Problem &problem, const Solution &solution) {
  std::vector<bool> available(problem.resources.size());
  for (size_t r = 0; r < available.size(); ++r)
    available[r] = problem.resources[r].kind == ResourceKind::Input;
  for (ColumnId id : solution.columns) {
    const Column &column = problem.columns[index(id)];
    for (ResourceId resource : column.consumes)
      if (!available[index(resource)])
        return wrong(problem, "column '" + column.name + "' runs before '" +
                                  problem.resources[index(resource)].name + "' is produced");
    for (ResourceId resource : column.produces)
      available[index(resource)] = true;
  }
  for (size_t r = 0; r < available.size(); ++r)
    if (problem.resources[r].output && !available[r])
      return wrong(problem, "output '" + problem.resources[r].name + "' is not produced");
  return Status::success();
}

Status verifyRoom(const Problem &problem, const Solution &solution) {
  if (!hasRoom(problem, solution.columns))
    return wrong(problem, "its columns take more than there is room for");
  return Status::success();
}

Status verifyNumbers(const Problem &problem, const Solution &solution) {
  double total = totalCost(problem, solution.columns);
  double slack = 1e-9 * std::max(1e-300, total);
  if (!(std::abs(solution.objective - total) <= slack))
    return wrong(problem, "the objective " + std::to_string(solution.objective) +
                              " is not the cost of the columns, " + std::to_string(total));
  if (!(solution.bound >= 0 && solution.bound <= solution.objective + slack))
    return wrong(problem, "the bound is negative or above the objective");
  double gap = total > 0 ? (solution.objective - solution.bound) / solution.objective : 0;
  if (!(std::abs(solution.gap - gap) <= 1e-9))
    return wrong(problem, "the gap does not follow from objective and bound");
  if (solution.status == SolutionStatus::Optimal && gap > 1e-9)
    return wrong(problem, "it calls itself optimal with a gap");
  return Status::success();
}

} // namespace

const char *statusName(SolutionStatus status) {
  switch (status) {
  case SolutionStatus::Optimal:
    return "optimal";
  case SolutionStatus::Feasible:
    return "feasible";
  case SolutionStatus::Infeasible:
    return "infeasible";
  case SolutionStatus::Unknown:
    return "unknown";
  }
  return "unknown";
}

Status Problem::verify(const Solution &solution) const {
  if (!solution.hasPlan()) {
    if (!solution.columns.empty())
      return wrong(*this, "it has columns though it has no plan");
    return Status::success();
  }
  KINTSUGI_RETURN_IF_ERROR(verifyCover(*this, solution));
  KINTSUGI_RETURN_IF_ERROR(verifyOrder(*this, solution));
  KINTSUGI_RETURN_IF_ERROR(verifyRoom(*this, solution));
  return verifyNumbers(*this, solution);
}

} // namespace kintsugi::solve
