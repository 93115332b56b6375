//===- greedy.cpp - The separate plan, and greedy improvement of it -------===//

#include "solve/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace kintsugi::solve {
namespace {

class PlanBuilder {
public:
  explicit PlanBuilder(const Problem &problem) : problem(problem), incidence(problem) {}

  /// Sets `home` to each item's cheapest column of its own that consumes nothing derived; says of
  /// the first item without one.
  std::optional<std::string> separate();
  /// Takes further columns by cost saved over the separate plan.
  void improve();
  /// An order that runs the homes and the optional columns they need, if there is one.
  std::optional<std::vector<ColumnId>> plan() const;
  /// No plan costs less than what each item costs at its cheapest, shared evenly in each column.
  double bound() const;

private:
  bool standsAlone(ColumnId id) const;
  double saving(ColumnId id) const;
  std::vector<ColumnId> makers(const std::vector<bool> &available,
                               std::set<ResourceId> needed) const;

  const Problem &problem;
  Incidence incidence;
  std::vector<ColumnId> home; ///< By item: the column that covers it.
};

bool PlanBuilder::standsAlone(ColumnId id) const {
  const Column &column = problem.columns[index(id)];
  return column.covers.size() == 1 && std::ranges::none_of(column.consumes, [&](ResourceId r) {
           return problem.resources[index(r)].kind == ResourceKind::Derived;
         });
}

std::optional<std::string> PlanBuilder::separate() {
  home.assign(problem.items.size(), -1);
  for (size_t i = 0; i < home.size(); ++i) {
    for (ColumnId id : incidence.coverers[i])
      if (standsAlone(id) &&
          (home[i] < 0 || problem.columns[index(id)].cost < problem.columns[index(home[i])].cost))
        home[i] = id;
    if (home[i] < 0)
      return "no column covers item '" + problem.items[i].name + "' alone";
  }
  return std::nullopt;
}

/// The cheapest way to make `needed` from `available` by optional columns, as far as there is one
/// (Knuth, A generalization of Dijkstra's algorithm, 1977; work that two products share counts
/// twice). Looks only at columns that the needed resources reach backwards.
std::vector<ColumnId> PlanBuilder::makers(const std::vector<bool> &available,
                                          std::set<ResourceId> needed) const {
  std::set<ColumnId> candidates;
  std::vector<ResourceId> pending(needed.begin(), needed.end());
  std::set<ResourceId> reached(needed);
  while (!pending.empty()) {
    ResourceId resource = pending.back();
    pending.pop_back();
    for (ColumnId id : incidence.producers[index(resource)])
      if (problem.columns[index(id)].covers.empty() && candidates.insert(id).second)
        for (ResourceId before : problem.columns[index(id)].consumes)
          if (!available[index(before)] && reached.insert(before).second)
            pending.push_back(before);
  }

  std::map<ResourceId, std::pair<double, ColumnId>> made; // Settled: price and last column.
  while (true) {
    double best = std::numeric_limits<double>::infinity();
    ColumnId last = -1;
    for (ColumnId id : candidates) {
      const Column &column = problem.columns[index(id)];
      double price = column.cost;
      for (ResourceId before : column.consumes)
        if (!available[index(before)])
          price +=
              made.contains(before) ? made[before].first : std::numeric_limits<double>::infinity();
      if (price < best) {
        best = price;
        last = id;
      }
    }
    if (last < 0)
      break;
    candidates.erase(last);
    for (ResourceId resource : problem.columns[index(last)].produces)
      made.emplace(resource, std::pair(best, last));
  }

  std::set<ColumnId> used;
  pending.assign(needed.begin(), needed.end());
  while (!pending.empty()) {
    auto found = made.find(pending.back());
    pending.pop_back();
    if (found != made.end() && used.insert(found->second.second).second)
      for (ResourceId before : problem.columns[index(found->second.second)].consumes)
        if (!available[index(before)])
          pending.push_back(before);
  }
  return {used.begin(), used.end()};
}

std::optional<std::vector<ColumnId>> PlanBuilder::plan() const {
  std::vector<ColumnId> chosen(home);
  std::ranges::sort(chosen);
  chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
  std::vector<bool> available(problem.resources.size());
  for (size_t r = 0; r < available.size(); ++r)
    available[r] = problem.resources[r].kind == ResourceKind::Input;
  for (ColumnId id : chosen)
    for (ResourceId resource : problem.columns[index(id)].produces)
      available[index(resource)] = true;

  std::set<ResourceId> needed;
  for (size_t r = 0; r < available.size(); ++r)
    if (problem.resources[r].output && !available[r])
      needed.insert(static_cast<ResourceId>(r));
  for (ColumnId id : chosen)
    for (ResourceId resource : problem.columns[index(id)].consumes)
      if (!available[index(resource)])
        needed.insert(resource);
  if (!needed.empty())
    for (ColumnId id : makers(available, needed))
      chosen.push_back(id);

  Execution run = execute(problem, chosen);
  if (!run.stuck.empty() || !producesOutputs(problem, run))
    return std::nullopt;
  return withoutIdle(problem, run.order);
}

double PlanBuilder::saving(ColumnId id) const {
  double alone = 0;
  for (ItemId item : problem.columns[index(id)].covers)
    alone += problem.columns[index(home[index(item)])].cost;
  return alone - problem.columns[index(id)].cost;
}

void PlanBuilder::improve() {
  auto start = plan();
  if (!start)
    return;
  double total = totalCost(problem, *start);
  std::vector<std::pair<double, ColumnId>> queue;
  for (size_t i = 0; i < problem.columns.size(); ++i)
    if (double saved = saving(static_cast<ColumnId>(i));
        !problem.columns[i].covers.empty() && saved > 0)
      queue.push_back({-saved, static_cast<ColumnId>(i)});
  std::ranges::sort(queue);

  std::vector<bool> taken(problem.items.size());
  for (auto [negated, id] : queue) {
    const Column &column = problem.columns[index(id)];
    if (std::ranges::any_of(column.covers, [&](ItemId item) { return taken[index(item)]; }))
      continue;
    std::vector<ColumnId> before(home);
    for (ItemId item : column.covers)
      home[index(item)] = id;
    auto next = plan();
    double cost = next ? totalCost(problem, *next) : 0;
    if (!next || cost >= total) {
      home = std::move(before);
      continue;
    }
    total = cost;
    for (ItemId item : column.covers)
      taken[index(item)] = true;
  }
}

double PlanBuilder::bound() const {
  double total = 0;
  for (const auto &columns : incidence.coverers) {
    double least = std::numeric_limits<double>::infinity();
    for (ColumnId id : columns) {
      const Column &column = problem.columns[index(id)];
      least = std::min(least, column.cost / static_cast<double>(column.covers.size()));
    }
    total += columns.empty() ? 0 : least;
  }
  return total;
}

Expected<Solution> build(const Problem &problem, bool improve) {
  KINTSUGI_RETURN_IF_ERROR(problem.check());
  PlanBuilder builder(problem);
  Solution none;
  none.bound = builder.bound();
  if (auto why = builder.separate()) {
    none.reason = *why;
    return none;
  }
  if (improve)
    builder.improve();
  auto order = builder.plan();
  if (!order) {
    none.reason = "the columns that cover one item each do not make a plan";
    return none;
  }
  return makePlan(problem, *order, builder.bound());
}

} // namespace

Expected<Solution> solveSeparate(const Problem &problem, const SolverOptions &options) {
  return build(problem, false);
}

Expected<Solution> solveGreedy(const Problem &problem, const SolverOptions &options) {
  return build(problem, true);
}

} // namespace kintsugi::solve
