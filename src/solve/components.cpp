//===- components.cpp - Independent parts of a set of rows ----------------===//

#include "solve/components.h"

#include <cstring>
#include <map>
#include <numeric>

namespace kintsugi::solve {
namespace {

class UnionFind {
public:
  explicit UnionFind(size_t count) : parent(count) { std::iota(parent.begin(), parent.end(), 0); }
  size_t find(size_t id) {
    while (parent[id] != id)
      id = parent[id] = parent[parent[id]];
    return id;
  }
  void join(size_t a, size_t b) { parent[find(a)] = find(b); }

private:
  std::vector<size_t> parent;
};

template <typename T> void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

} // namespace

std::vector<Component> splitIntoComponents(const std::vector<double> &costs,
                                           const std::vector<Row> &rows) {
  UnionFind sets(costs.size() + rows.size()); // Columns, then rows.
  std::vector<bool> used(costs.size());
  for (size_t r = 0; r < rows.size(); ++r)
    for (const auto *side : {&rows[r].plus, &rows[r].minus})
      for (ColumnId id : *side) {
        used[index(id)] = true;
        sets.join(index(id), costs.size() + r);
      }

  std::vector<Component> parts;
  std::map<size_t, size_t> partOf; // Of a set's root.
  auto part = [&](size_t element) -> Component & {
    auto [found, added] = partOf.emplace(sets.find(element), parts.size());
    if (added)
      parts.emplace_back();
    return parts[found->second];
  };
  std::vector<ColumnId> position(costs.size());
  for (size_t c = 0; c < costs.size(); ++c) {
    if (!used[c])
      continue;
    Component &home = part(c);
    position[c] = static_cast<ColumnId>(home.columns.size());
    home.columns.push_back(static_cast<ColumnId>(c));
    home.program.costs.push_back(costs[c]);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    Row local = rows[r];
    for (auto *side : {&local.plus, &local.minus})
      for (ColumnId &id : *side)
        id = position[index(id)];
    part(costs.size() + r).program.rows.push_back(std::move(local));
  }
  return parts;
}

Component restrictedTo(const BinaryProgram &program, const std::vector<bool> &kept) {
  Component part;
  std::vector<ColumnId> position(program.costs.size());
  for (size_t c = 0; c < program.costs.size(); ++c) {
    if (!kept[c])
      continue;
    position[c] = static_cast<ColumnId>(part.columns.size());
    part.columns.push_back(static_cast<ColumnId>(c));
    part.program.costs.push_back(program.costs[c]);
  }
  for (Row row : program.rows) {
    for (size_t at = row.weights.size(); at-- > 0;)
      if (!kept[index(row.plus[at])])
        row.weights.erase(row.weights.begin() + static_cast<ptrdiff_t>(at));
    for (auto *side : {&row.plus, &row.minus}) {
      std::erase_if(*side, [&](ColumnId id) { return !kept[index(id)]; });
      for (ColumnId &id : *side)
        id = position[index(id)];
    }
    part.program.rows.push_back(std::move(row));
  }
  return part;
}

std::string programKey(const BinaryProgram &program) {
  std::string bytes;
  append(bytes, program.costs.size());
  for (double cost : program.costs)
    append(bytes, cost);
  for (const Row &row : program.rows) {
    append(bytes, row.lower);
    append(bytes, row.upper);
    append(bytes, row.weights.size());
    for (double weight : row.weights)
      append(bytes, weight);
    for (const auto *side : {&row.plus, &row.minus}) {
      append(bytes, side->size());
      for (ColumnId id : *side)
        append(bytes, id);
    }
  }
  return bytes;
}

} // namespace kintsugi::solve
