//===- making.cpp - The cheapest way to make resources --------------------===//

#include "solve/making.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace kintsugi::solve {
namespace {

/// Looks at what can be reached alone: problems are large, and the ways to one resource few.
class MakingSearch {
public:
  MakingSearch(const Problem &problem, const Incidence &incidence,
               const std::vector<bool> &available)
      : problem(problem), incidence(incidence), available(available) {}

  std::optional<Making> run(const std::vector<ResourceId> &needed);

private:
  struct Reached {
    int missing = 0;  ///< Consumed resources that have no price yet.
    double price = 0; ///< Its cost and that of all it consumes.
  };

  const Column &column(ColumnId id) const { return problem.columns[index(id)]; }
  void reachBackwards(std::vector<ResourceId> pending);
  void settlePrices();

  const Problem &problem;
  const Incidence &incidence;
  const std::vector<bool> &available;
  std::unordered_map<ColumnId, Reached> reached;
  std::unordered_map<ResourceId, ColumnId> maker; ///< The cheapest last step.
  std::vector<ColumnId> ready;                    ///< Reached columns that miss nothing.
};

void MakingSearch::reachBackwards(std::vector<ResourceId> pending) {
  while (!pending.empty()) {
    ResourceId resource = pending.back();
    pending.pop_back();
    for (ColumnId id : incidence.producers[index(resource)]) {
      if (!column(id).covers.empty())
        continue;
      auto [entry, isNew] = reached.try_emplace(id, Reached{0, column(id).cost});
      if (!isNew)
        continue;
      for (ResourceId before : column(id).consumes)
        if (!available[index(before)]) {
          ++entry->second.missing;
          pending.push_back(before);
        }
      if (entry->second.missing == 0)
        ready.push_back(id);
    }
  }
}

void MakingSearch::settlePrices() {
  using Entry = std::pair<double, ColumnId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (ColumnId id : ready)
    queue.emplace(reached.at(id).price, id);
  while (!queue.empty()) {
    ColumnId id = queue.top().second;
    queue.pop();
    for (ResourceId made : column(id).produces) {
      if (available[index(made)] || !maker.try_emplace(made, id).second)
        continue;
      for (ColumnId next : incidence.consumers[index(made)]) {
        auto entry = reached.find(next);
        if (entry == reached.end() || entry->second.missing <= 0)
          continue;
        entry->second.price += reached.at(id).price;
        if (--entry->second.missing == 0)
          queue.emplace(entry->second.price, next);
      }
    }
  }
}

std::optional<Making> MakingSearch::run(const std::vector<ResourceId> &needed) {
  reachBackwards(needed);
  settlePrices();
  Making making;
  std::unordered_set<ColumnId> used;
  std::vector<ResourceId> pending(needed);
  while (!pending.empty()) {
    auto found = maker.find(pending.back());
    pending.pop_back();
    if (found == maker.end())
      return std::nullopt;
    ColumnId id = found->second;
    if (!used.insert(id).second)
      continue;
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
