//===- rows.cpp - Cover, output and support rows --------------------------===//

#include "solve/rows.h"

#include <algorithm>
#include <map>
#include <set>

namespace kintsugi::solve {
namespace {

bool intersects(const std::vector<int32_t> &ids, const std::vector<ResourceId> &sorted) {
  return std::ranges::any_of(ids,
                             [&](int32_t id) { return std::ranges::binary_search(sorted, id); });
}

bool contains(const std::vector<int32_t> &ids, int32_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

/// Support rows of one set of resources.
class Support {
public:
  Support(const Problem &problem, const Incidence &incidence, const std::vector<bool> &usable,
          std::vector<ResourceId> resources)
      : problem(problem), incidence(incidence), usable(usable), resources(std::move(resources)) {
    for (ResourceId resource : this->resources)
      for (ColumnId id : incidence.producers[index(resource)])
        if (usable[index(id)] && !intersects(column(id).consumes, this->resources))
          external.push_back(id);
    std::ranges::sort(external);
    external.erase(std::ranges::unique(external).begin(), external.end());
  }

  /// For all consumers that cover `item`.
  Row ofItem(ItemId item) const {
    Row row{{}, {}, -unbounded, 0};
    for (ColumnId id : incidence.coverers[index(item)])
      if (usable[index(id)] && intersects(column(id).consumes, resources))
        row.plus.push_back(id);
    for (ColumnId id : external)
      if (!contains(column(id).covers, item))
        row.minus.push_back(id);
    return row;
  }

  /// For an optional consumer. A producer that waits for all that the consumer makes is no support:
  /// the consumer would come too late to be of use.
  Row ofOptional(ColumnId consumer) const {
    Row row{{consumer}, {}, -unbounded, 0};
    for (ColumnId id : external)
      if (!std::ranges::all_of(column(consumer).produces, [&](ResourceId made) {
            return contains(column(id).consumes, made);
          }))
        row.minus.push_back(id);
    return row;
  }

  /// The tightest of the rows that speak of `consumer`.
  Row ofColumn(ColumnId consumer) const {
    if (column(consumer).covers.empty())
      return ofOptional(consumer);
    Row best = ofItem(column(consumer).covers[0]);
    for (ItemId item : column(consumer).covers) {
      Row row = ofItem(item);
      if (row.minus.size() < best.minus.size() ||
          (row.minus.size() == best.minus.size() && row.plus.size() > best.plus.size()))
        best = std::move(row);
    }
    return best;
  }

private:
  const Column &column(ColumnId id) const { return problem.columns[index(id)]; }

  const Problem &problem;
  const Incidence &incidence;
  const std::vector<bool> &usable;
  std::vector<ResourceId> resources; ///< Ascending.
  std::vector<ColumnId> external;
};

/// Rows of one Derived resource: as few items as greedily cover all its consumers.
void availabilityRows(const Problem &problem, const Incidence &incidence,
                      const std::vector<bool> &usable, ResourceId resource,
                      std::vector<Row> &rows) {
  Support support(problem, incidence, usable, {resource});
  std::vector<ColumnId> open;
  for (ColumnId id : incidence.consumers[index(resource)]) {
    if (!usable[index(id)])
      continue;
    if (problem.columns[index(id)].covers.empty())
      rows.push_back(support.ofOptional(id));
    else
      open.push_back(id);
  }
  while (!open.empty()) {
    std::map<ItemId, size_t> counts;
    for (ColumnId id : open)
      for (ItemId item : problem.columns[index(id)].covers)
        ++counts[item];
    ItemId best = std::ranges::max_element(counts, {}, [](auto &e) { return e.second; })->first;
    rows.push_back(support.ofItem(best));
    std::erase_if(open,
                  [&](ColumnId id) { return contains(problem.columns[index(id)].covers, best); });
  }
}

/// The resources that stuck columns wait for, and which of them wait for which.
class WaitGraph {
public:
  WaitGraph(const Problem &problem, const Execution &run) : problem(problem) {
    for (ColumnId id : run.stuck)
      for (ResourceId resource : problem.columns[index(id)].consumes)
        if (!run.available[index(resource)])
          makers[resource];
    for (ColumnId id : run.stuck)
      for (ResourceId resource : problem.columns[index(id)].produces)
        if (auto found = makers.find(resource); found != makers.end())
          found->second.push_back(id);
    for (const auto &[resource, columns] : makers)
      for (ColumnId id : columns)
        for (ResourceId before : problem.columns[index(id)].consumes)
          if (!run.available[index(before)])
            after[before].insert(resource);
  }

  /// Sets of resources such that each chosen producer of one consumes another of the same set.
  std::set<std::vector<ResourceId>> unfounded() const {
    std::set<std::vector<ResourceId>> sets;
    for (const auto &[resource, columns] : makers)
      if (auto found = around(resource); !found.empty())
        sets.insert(std::move(found));
    return sets;
  }

private:
  /// The unfounded set around `start` that closes soonest; empty where `start` merely waits for
  /// such a set elsewhere.
  std::vector<ResourceId> around(ResourceId start) const {
    std::map<ResourceId, int> distance{{start, 0}}; // Steps from start along `after`.
    std::vector<ResourceId> queue{start};
    for (size_t head = 0; head < queue.size(); ++head)
      if (auto next = after.find(queue[head]); next != after.end())
        for (ResourceId resource : next->second)
          if (distance.emplace(resource, distance[queue[head]] + 1).second)
            queue.push_back(resource);

    std::set<ResourceId> members{start};
    std::vector<ResourceId> pending{start};
    while (!pending.empty()) {
      ResourceId resource = pending.back();
      pending.pop_back();
      for (ColumnId maker : makers.at(resource)) {
        ResourceId nearest = -1;
        for (ResourceId before : problem.columns[index(maker)].consumes)
          if (auto d = distance.find(before); d != distance.end())
            if (nearest < 0 || d->second < distance.at(nearest))
              nearest = before;
        if (nearest < 0)
          return {};
        if (members.insert(nearest).second)
          pending.push_back(nearest);
      }
    }
    return {members.begin(), members.end()};
  }

  const Problem &problem;
  std::map<ResourceId, std::vector<ColumnId>> makers; ///< Chosen producers, all stuck.
  std::map<ResourceId, std::set<ResourceId>> after;   ///< Edges r' -> r: a maker of r wants r'.
};

/// The set with further resources, so that optional columns which only turn one of them into
/// another (one format into another) are no support from outside. The row then holds for all of
/// the formats at once, and is not dodged by the same cycle in another format.
std::vector<ResourceId> widened(const Problem &problem, const Incidence &incidence,
                                const std::vector<bool> &usable, const Execution &run,
                                std::vector<ResourceId> set) {
  auto unfounded = [&](ResourceId resource) {
    return !run.available[index(resource)] &&
           std::ranges::all_of(incidence.producers[index(resource)], [&](ColumnId id) {
             return !std::ranges::binary_search(run.stuck, id) ||
                    intersects(problem.columns[index(id)].consumes, set);
           });
  };
  std::vector<ResourceId> pending(set);
  while (!pending.empty()) {
    ResourceId resource = pending.back();
    pending.pop_back();
    for (ColumnId id : incidence.producers[index(resource)]) {
      const Column &column = problem.columns[index(id)];
      if (!usable[index(id)] || !column.covers.empty() || intersects(column.consumes, set))
        continue;
      auto before = std::ranges::find_if(column.consumes, unfounded);
      if (before == column.consumes.end())
        continue;
      set.insert(std::ranges::lower_bound(set, *before), *before);
      pending.push_back(*before);
    }
  }
  return set;
}

} // namespace

std::vector<Row> initialRows(const Problem &problem, const Incidence &incidence,
                             const std::vector<bool> &usable) {
  auto usableOf = [&](const std::vector<ColumnId> &ids) {
    std::vector<ColumnId> kept;
    std::ranges::copy_if(ids, std::back_inserter(kept),
                         [&](ColumnId id) { return usable[index(id)]; });
    return kept;
  };
  std::vector<Row> rows;
  for (const auto &columns : incidence.coverers)
    rows.push_back({usableOf(columns), {}, 1, 1});
  for (size_t r = 0; r < problem.resources.size(); ++r) {
    const Resource &resource = problem.resources[r];
    if (resource.output && resource.kind != ResourceKind::Input) {
      std::vector<ColumnId> makers = usableOf(incidence.producers[r]);
      rows.push_back({std::move(makers), {}, 1, unbounded});
    }
    if (resource.kind == ResourceKind::Derived)
      availabilityRows(problem, incidence, usable, static_cast<ResourceId>(r), rows);
  }
  return rows;
}

Row roomRow(const Problem &problem, const std::vector<bool> &usable) {
  Row row{{}, {}, -unbounded, 1};
  for (size_t id = 0; id < problem.columns.size(); ++id)
    if (double takes = problem.columns[id].takes; takes > 0 && usable[id]) {
      row.plus.push_back(static_cast<ColumnId>(id));
      // Where there is no room at all, what takes any can't be taken.
      row.weights.push_back(problem.room > 0 ? takes / problem.room : 2);
    }
  return row;
}

std::vector<Row> lazyRows(const Problem &problem, const Incidence &incidence,
                          const std::vector<bool> &usable, const Execution &run) {
  std::vector<Row> rows;
  for (const std::vector<ResourceId> &set : WaitGraph(problem, run).unfounded()) {
    std::vector<ResourceId> wide = widened(problem, incidence, usable, run, set);
    Support support(problem, incidence, usable, wide);
    for (ColumnId id : run.stuck)
      if (intersects(problem.columns[index(id)].consumes, wide)) {
        Row row = support.ofColumn(id);
        if (std::ranges::find(rows, row) == rows.end())
          rows.push_back(std::move(row));
      }
  }
  return rows;
}

} // namespace kintsugi::solve
