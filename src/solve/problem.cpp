//===- problem.cpp - Building and checking a problem ----------------------===//

#include "solve/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace kintsugi::solve {
namespace {

std::string quoted(const std::string &name) { return "'" + name + "'"; }

Status checkNames(const std::string &kind, const auto &list) {
  std::unordered_set<std::string_view> seen;
  seen.reserve(list.size());
  for (const auto &entry : list) {
    if (entry.name.empty())
      return inputError("a" + std::string(kind == "item" ? "n " : " ") + kind + " has no name");
    if (!seen.insert(entry.name).second)
      return inputError(kind + " " + quoted(entry.name) + " is declared twice");
  }
  return Status::success();
}

Status checkIds(const Column &column, const char *verb, const std::vector<int32_t> &ids,
                size_t count) {
  std::vector<int32_t> sorted(ids);
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && (sorted.front() < 0 || static_cast<size_t>(sorted.back()) >= count))
    return inputError("column " + quoted(column.name) + " " + verb + " something undeclared");
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return inputError("column " + quoted(column.name) + " " + verb + " the same thing twice");
  return Status::success();
}

Status checkFlow(const Problem &problem, const Column &column) {
  std::vector<ResourceId> consumed(column.consumes);
  std::sort(consumed.begin(), consumed.end());
  for (ResourceId resource : column.produces) {
    const Resource &what = problem.resources[static_cast<size_t>(resource)];
    if (what.kind == ResourceKind::Input)
      return inputError("column " + quoted(column.name) + " produces the input " +
                        quoted(what.name));
    if (std::binary_search(consumed.begin(), consumed.end(), resource))
      return inputError("column " + quoted(column.name) + " consumes " + quoted(what.name) +
                        ", which it produces");
  }
  if (column.covers.empty() && column.produces.empty())
    return inputError("column " + quoted(column.name) + " covers and produces nothing");
  return Status::success();
}

} // namespace

ItemId Problem::addItem(std::string itemName) {
  items.push_back({std::move(itemName)});
  return static_cast<ItemId>(items.size() - 1);
}

ResourceId Problem::addResource(std::string resourceName, ResourceKind kind) {
  resources.push_back({std::move(resourceName), kind, false});
  return static_cast<ResourceId>(resources.size() - 1);
}

ColumnId Problem::addColumn(Column column) {
  columns.push_back(std::move(column));
  return static_cast<ColumnId>(columns.size() - 1);
}

Status Problem::checkColumn(const Column &column) const {
  if (!std::isfinite(column.cost) || column.cost < 0)
    return inputError("column " + quoted(column.name) +
                      " has a cost that is negative or not finite");
  if (!std::isfinite(column.takes) || column.takes < 0)
    return inputError("column " + quoted(column.name) +
                      " takes an amount that is negative or not finite");
  KINTSUGI_RETURN_IF_ERROR(checkIds(column, "covers", column.covers, items.size()));
  KINTSUGI_RETURN_IF_ERROR(checkIds(column, "consumes", column.consumes, resources.size()));
  KINTSUGI_RETURN_IF_ERROR(checkIds(column, "produces", column.produces, resources.size()));
  return checkFlow(*this, column);
}

Status Problem::check() const {
  constexpr size_t most = std::numeric_limits<int32_t>::max();
  if (items.size() > most || resources.size() > most || columns.size() > most)
    return inputError("more than 2^31 - 1 items, resources or columns");
  KINTSUGI_RETURN_IF_ERROR(checkNames("item", items));
  KINTSUGI_RETURN_IF_ERROR(checkNames("resource", resources));
  KINTSUGI_RETURN_IF_ERROR(checkNames("column", columns));
  if (!(room >= 0))
    return inputError("the room is negative or not a number");
  double total = 0, taken = 0;
  for (const Column &column : columns) {
    KINTSUGI_RETURN_IF_ERROR(checkColumn(column));
    total += column.cost;
    taken += column.takes;
  }
  if (!std::isfinite(total) || !std::isfinite(taken))
    return inputError("what all columns cost or take adds up to more than a double holds");
  return Status::success();
}

bool operator==(const Problem &left, const Problem &right) {
  auto sameItem = [](const Item &a, const Item &b) { return a.name == b.name; };
  auto sameResource = [](const Resource &a, const Resource &b) {
    return a.name == b.name && a.kind == b.kind && a.output == b.output;
  };
  auto sameColumn = [](const Column &a, const Column &b) {
    return a.name == b.name && a.cost == b.cost && a.takes == b.takes && a.covers == b.covers &&
           a.consumes == b.consumes && a.produces == b.produces;
  };
  return left.name == right.name && left.room == right.room &&
         std::ranges::equal(left.items, right.items, sameItem) &&
         std::ranges::equal(left.resources, right.resources, sameResource) &&
         std::ranges::equal(left.columns, right.columns, sameColumn);
}

} // namespace kintsugi::solve
