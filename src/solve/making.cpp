//===- making.cpp - The cheapest way to make resources --------------------===//

#include "solve/making.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace kintsugi::solve {
namespace {

class MakingSearch {
public:
  MakingSearch(const Problem &problem, const Incidence &incidence,
               const std::vector<bool> &available)
      : problem(problem), incidence(incidence), available(available),
        missing(problem.columns.size(), notReached), price(problem.columns.size()),
        maker(problem.resources.size(), -1) {}

  std::optional<Making> run(const std::vector<ResourceId> &needed);

private:
  static constexpr int notReached = -1;

  const Column &column(ColumnId id) const { return problem.columns[index(id)]; }
  void reachBackwards(std::vector<ResourceId> pending);
  void settlePrices();

  const Problem &problem;
  const Incidence &incidence;
  const std::vector<bool> &available;
  std::vector<int> missing;    ///< By column: consumed resources that have no price yet.
  std::vector<double> price;   ///< By column: its cost and that of all it consumes.
  std::vector<ColumnId> maker; ///< By resource: the cheapest last step.
  std::vector<ColumnId> ready; ///< Reached columns that miss nothing.
};

void MakingSearch::reachBackwards(std::vector<ResourceId> pending) {
  while (!pending.empty()) {
    ResourceId resource = pending.back();
    pending.pop_back();
    for (ColumnId id : incidence.producers[index(resource)]) {
      if (!column(id).covers.empty() || missing[index(id)] != notReached)
        continue;
      missing[index(id)] = 0;
      price[index(id)] = column(id).cost;
      for (ResourceId before : column(id).consumes)
        if (!available[index(before)]) {
          ++missing[index(id)];
          pending.push_back(before);
        }
      if (missing[index(id)] == 0)
        ready.push_back(id);
    }
  }
}

void MakingSearch::settlePrices() {
  using Entry = std::pair<double, ColumnId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (ColumnId id : ready)
    queue.emplace(price[index(id)], id);
  while (!queue.empty()) {
    ColumnId id = queue.top().second;
    queue.pop();
    for (ResourceId made : column(id).produces) {
      if (available[index(made)] || maker[index(made)] >= 0)
        continue;
      maker[index(made)] = id;
      for (ColumnId next : incidence.consumers[index(made)]) {
        if (missing[index(next)] <= 0)
          continue;
        price[index(next)] += price[index(id)];
        if (--missing[index(next)] == 0)
          queue.emplace(price[index(next)], next);
      }
    }
  }
}

std::optional<Making> MakingSearch::run(const std::vector<ResourceId> &needed) {
  reachBackwards(needed);
  settlePrices();
  Making making;
  std::vector<bool> used(problem.columns.size());
  std::vector<ResourceId> pending(needed);
  while (!pending.empty()) {
    ColumnId id = maker[index(pending.back())];
    pending.pop_back();
    if (id < 0)
      return std::nullopt;
    if (used[index(id)])
      continue;
    used[index(id)] = true;
    making.columns.push_back(id);
    making.price += column(id).cost;
    for (ResourceId before : column(id).consumes)
      if (!available[index(before)])
        pending.push_back(before);
  }
  std::ranges::sort(making.columns);
  return making;
}

} // namespace

std::optional<Making> makeCheaply(const Problem &problem, const Incidence &incidence,
                                  const std::vector<bool> &available,
                                  const std::vector<ResourceId> &needed) {
  if (needed.empty())
    return Making{};
  return MakingSearch(problem, incidence, available).run(needed);
}

} // namespace kintsugi::solve
