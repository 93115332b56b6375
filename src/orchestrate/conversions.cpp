#include "orchestrate/conversions.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using namespace te;

namespace {

/// The dimension of the original at each position.
Order spelledOut(const Order &order, size_t rank) {
  if (!order.empty())
    return order;
  Order all;
  for (unsigned k = 0; k < rank; ++k)
    all.push_back(k);
  return all;
}

Definition conversion(const Program &program, ValueId from, const Order &before,
                      const Order &after) {
  const Value &value = program.value(from);
  size_t rank = value.shape.size();
  Order there = spelledOut(before, rank), here = spelledOut(after, rank);
  Definition copy;
  llvm::SmallVector<Index> indices(rank);
  for (auto [position, dimension] : llvm::enumerate(here)) {
    size_t source = llvm::find(there, dimension) - there.begin();
    copy.parallel.push_back({"i" + std::to_string(position), value.shape[source]});
    indices[source] = Index::iterator(position);
  }
  copy.bodies = {Expr::read(from, value.type, indices)};
  return copy;
}

} // namespace

void addOrders(const Program &program, Orders &orders) {
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (ValueId result : program.resultsOf(node))
      if (const std::optional<Original> &original = program.value(result).original)
        orders[original->value].insert(original->order);
}

Converted withConversions(const Program &program, const Orders &orders,
                          std::set<std::pair<uint32_t, Order>> &done) {
  Converted converted{program, {}};
  Program &fresh = converted.program;
  for (uint32_t number = 0; number < program.numValues(); ++number) {
    const Value &value = program.values[number];
    auto known = value.original ? orders.find(value.original->value) : orders.end();
    if (known == orders.end() || known->second.size() < 2 || value.isEmpty() ||
        !done.insert({value.original->value, value.original->order}).second)
      continue;
    fresh.currentOrigin = program.origins[value.node];
    for (const Order &order : known->second) {
      if (order == value.original->order)
        continue;
      Definition copy = conversion(program, {number}, value.original->order, order);
      ValueId result = fresh.define(value.name + ".turned", value.type, std::move(copy));
      fresh.value(result).original = Original{value.original->value, order};
      fresh.value(result).facts = value.facts;
      converted.conversions.push_back(fresh.value(result).node);
    }
  }
  return converted;
}

} // namespace kintsugi::orchestrate
