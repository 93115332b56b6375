//===- dynamic.cpp - Exact dynamic programming over states ----------------===//
//
// A state is what has been covered and what is available for columns that may still run; running a
// column leads to the next state. The cheapest path from nothing to everything is the optimum, and
// an order comes with it, so cycles need no care. Best first with a bound that shares each column's
// cost evenly among its items (A*, Hart, Nilsson and Raphael 1968; the bound is consistent).
//
//===----------------------------------------------------------------------===//

#include "solve/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>

namespace kintsugi::solve {
namespace {

struct State {
  std::vector<bool> bits; ///< Items covered, then resources available.
  double taken = 0;       ///< Of the room, where there is not all.
  bool operator==(const State &) const = default;
};

struct HashOfState {
  size_t operator()(const State &state) const {
    return std::hash<std::vector<bool>>()(state.bits) ^ std::hash<double>()(state.taken);
  }
};

struct Reached {
  double cost = 0;
  State from;
  ColumnId by = -1;
  bool expanded = false;
};

class StateSearch {
public:
  StateSearch(const Problem &problem, const SolverOptions &options)
      : problem(problem), options(options), incidence(problem) {
    for (const auto &columns : incidence.coverers) {
      double least = std::numeric_limits<double>::infinity();
      for (ColumnId id : columns)
        least = std::min(least, share(id));
      shares.push_back(least);
    }
  }

  Solution run(const Solution &fallback);

private:
  /// A state waiting to be expanded; of equal promise the one found first.
  struct Entry {
    double estimate;
    int64_t number;
    State state;
    bool operator<(const Entry &other) const {
      return std::pair(estimate, number) > std::pair(other.estimate, other.number);
    }
  };

  double share(ColumnId id) const {
    const Column &column = problem.columns[index(id)];
    return column.cost / static_cast<double>(column.covers.size());
  }
  bool canRun(const State &state, const Column &column) const;
  bool isGoal(const State &state) const;
  double rest(const State &state) const;
  State after(State state, const Column &column) const;
  void forgetUseless(State &state) const;
  void reach(State state, double cost, const State &from, ColumnId by);
  std::vector<ColumnId> pathTo(State state) const;

  const Problem &problem;
  const SolverOptions &options;
  Incidence incidence;
  std::vector<double> shares; ///< By item: what covering it costs at the least.
  std::unordered_map<State, Reached, HashOfState> states;
  std::priority_queue<Entry> open;
  int64_t generated = 0;
};

bool StateSearch::canRun(const State &state, const Column &column) const {
  size_t items = problem.items.size();
  return state.taken + column.takes <= problem.room &&
         std::ranges::none_of(column.covers,
                              [&](ItemId item) { return state.bits[index(item)]; }) &&
         std::ranges::all_of(column.consumes,
                             [&](ResourceId r) { return state.bits[items + index(r)]; });
}

bool StateSearch::isGoal(const State &state) const {
  size_t items = problem.items.size();
  for (size_t i = 0; i < items; ++i)
    if (!state.bits[i])
      return false;
  for (size_t r = 0; r < problem.resources.size(); ++r)
    if (problem.resources[r].output && !state.bits[items + r])
      return false;
  return true;
}

double StateSearch::rest(const State &state) const {
  double total = 0;
  for (size_t i = 0; i < problem.items.size(); ++i)
    if (!state.bits[i])
      total += shares[i];
  return total;
}

State StateSearch::after(State state, const Column &column) const {
  for (ItemId item : column.covers)
    state.bits[index(item)] = true;
  for (ResourceId resource : column.produces)
    state.bits[problem.items.size() + index(resource)] = true;
  if (std::isfinite(problem.room))
    state.taken += column.takes;
  forgetUseless(state);
  return state;
}

/// A resource that no column still open can consume makes no difference: states that differ only
/// there are one. This is what keeps narrow problems small.
void StateSearch::forgetUseless(State &state) const {
  size_t items = problem.items.size();
  for (size_t r = 0; r < problem.resources.size(); ++r) {
    if (!state.bits[items + r] || problem.resources[r].output)
      continue;
    state.bits[items + r] = std::ranges::any_of(incidence.consumers[r], [&](ColumnId id) {
      return std::ranges::none_of(problem.columns[index(id)].covers,
                                  [&](ItemId item) { return state.bits[index(item)]; });
    });
  }
}

void StateSearch::reach(State state, double cost, const State &from, ColumnId by) {
  ++generated;
  auto [found, added] = states.try_emplace(std::move(state));
  Reached &reached = found->second;
  if (!added && (reached.expanded || reached.cost <= cost))
    return;
  reached = {cost, from, by, false};
  open.push({cost + rest(found->first), generated, found->first});
}

std::vector<ColumnId> StateSearch::pathTo(State state) const {
  std::vector<ColumnId> path;
  for (const Reached *at = &states.at(state); at->by >= 0; at = &states.at(at->from))
    path.push_back(at->by);
  std::ranges::reverse(path);
  return path;
}

Solution StateSearch::run(const Solution &fallback) {
  State first{std::vector<bool>(problem.items.size() + problem.resources.size())};
  for (size_t r = 0; r < problem.resources.size(); ++r)
    first.bits[problem.items.size() + r] = problem.resources[r].kind == ResourceKind::Input;
  forgetUseless(first);
  reach(first, 0, {}, -1);
  int64_t expanded = 0;
  auto spent = [&](Solution solution) {
    solution.nodes = expanded;
    solution.iterations = generated;
    return solution;
  };
  while (!open.empty()) {
    Entry entry = open.top();
    open.pop();
    Reached &reached = states.at(entry.state);
    if (reached.expanded)
      continue;
    if (entry.estimate == std::numeric_limits<double>::infinity())
      break; // Some item has no column.
    if (isGoal(entry.state)) {
      std::vector<ColumnId> path = pathTo(entry.state);
      return spent(makePlan(problem, path, totalCost(problem, path)));
    }
    if (expanded >= options.nodes || generated >= options.iterations) {
      Solution solution = fallback;
      if (fallback.hasPlan())
        solution = makePlan(problem, fallback.columns, entry.estimate);
      else
        solution.bound = entry.estimate;
      solution.outOfFuel = true;
      return spent(std::move(solution));
    }
    reached.expanded = true;
    ++expanded;
    double cost = reached.cost;
    for (size_t id = 0; id < problem.columns.size(); ++id)
      if (canRun(entry.state, problem.columns[id]))
        reach(after(entry.state, problem.columns[id]), cost + problem.columns[id].cost, entry.state,
              static_cast<ColumnId>(id));
  }
  Solution solution;
  solution.status = SolutionStatus::Infeasible;
  solution.reason = "no columns that cover each item once can be put in an order";
  return spent(std::move(solution));
}

} // namespace

Expected<Solution> solveDynamic(const Problem &problem, const SolverOptions &options) {
  KINTSUGI_ASSIGN(Solution fallback, solveGreedy(problem, options));
  return StateSearch(problem, options).run(fallback);
}

} // namespace kintsugi::solve
