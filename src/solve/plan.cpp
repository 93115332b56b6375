//===- plan.cpp - Running a choice of columns, and its cost ---------------===//

#include "solve/plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace kintsugi::solve {

Execution execute(const Problem &problem, std::span<const ColumnId> chosen) {
  Execution run;
  run.available.resize(problem.resources.size());
  for (size_t r = 0; r < problem.resources.size(); ++r)
    run.available[r] = problem.resources[r].kind == ResourceKind::Input;

  std::vector<std::vector<size_t>> waiting(problem.resources.size()); // Positions in `chosen`.
  std::vector<size_t> missing(chosen.size());
  std::priority_queue<ColumnId, std::vector<ColumnId>, std::greater<>> ready;
  for (size_t k = 0; k < chosen.size(); ++k) {
    for (ResourceId resource : problem.columns[index(chosen[k])].consumes)
      if (!run.available[index(resource)]) {
        waiting[index(resource)].push_back(k);
        ++missing[k];
      }
    if (missing[k] == 0)
      ready.push(chosen[k]);
  }
  while (!ready.empty()) {
    ColumnId id = ready.top();
    ready.pop();
    run.order.push_back(id);
    for (ResourceId resource : problem.columns[index(id)].produces) {
      if (run.available[index(resource)])
        continue;
      run.available[index(resource)] = true;
      for (size_t k : waiting[index(resource)])
        if (--missing[k] == 0)
          ready.push(chosen[k]);
    }
  }
  for (size_t k = 0; k < chosen.size(); ++k)
    if (missing[k] != 0)
      run.stuck.push_back(chosen[k]);
  std::sort(run.stuck.begin(), run.stuck.end());
  return run;
}

std::vector<bool> usableColumns(const Problem &problem) {
  std::vector<ColumnId> all(problem.columns.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<bool> usable(problem.columns.size());
  for (ColumnId id : execute(problem, all).order)
    usable[index(id)] = true;
  return usable;
}

bool producesOutputs(const Problem &problem, const Execution &execution) {
  for (size_t r = 0; r < problem.resources.size(); ++r)
    if (problem.resources[r].output && !execution.available[r])
      return false;
  return true;
}

std::vector<ColumnId> withoutIdle(const Problem &problem, const std::vector<ColumnId> &order) {
  std::vector<bool> needed(problem.resources.size());
  for (size_t r = 0; r < problem.resources.size(); ++r)
    needed[r] = problem.resources[r].output;
  std::vector<ColumnId> kept;
  for (size_t k = order.size(); k-- > 0;) {
    const Column &column = problem.columns[index(order[k])];
    bool useful = !column.covers.empty();
    for (ResourceId resource : column.produces)
      useful |= needed[index(resource)];
    if (!useful)
      continue;
    for (ResourceId resource : column.consumes)
      needed[index(resource)] = true;
    kept.push_back(order[k]);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

bool hasRoom(const Problem &problem, std::span<const ColumnId> chosen) {
  double taken = 0;
  for (ColumnId id : chosen)
    taken += problem.columns[index(id)].takes;
  return taken <= problem.room * (1 + 1e-6);
}

double totalCost(const Problem &problem, std::vector<ColumnId> chosen) {
  std::sort(chosen.begin(), chosen.end());
  double total = 0;
  for (ColumnId id : chosen)
    total += problem.columns[index(id)].cost;
  return total;
}

Solution makePlan(const Problem &problem, const std::vector<ColumnId> &order, double bound) {
  Solution solution;
  solution.columns = withoutIdle(problem, order);
  solution.objective = totalCost(problem, solution.columns);
  bool closed = bound >= solution.objective * (1 - 1e-9);
  solution.status = closed ? SolutionStatus::Optimal : SolutionStatus::Feasible;
  solution.bound = closed ? solution.objective : std::max(0.0, bound);
  if (solution.objective > 0)
    solution.gap = (solution.objective - solution.bound) / solution.objective;
  return solution;
}

} // namespace kintsugi::solve
