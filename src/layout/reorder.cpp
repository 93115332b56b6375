#include "layout/reorder.h"

#include "simplify/rebuild.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::layout {

using namespace te;

static Expr reorderReads(const Expr &expr, OrderOf orderOf) {
  return rewrite(expr, [&](const Expr &e) {
    if (e.kind() != ExprKind::Read || orderOf(e.readValue()).empty())
      return e;
    std::optional<Expr> fill;
    if (const Expr *f = e.readFill())
      fill = *f;
    llvm::SmallVector<Index> indices(e.readIndices());
    return Expr::read(e.readValue(), e.type(), permuted(indices, orderOf(e.readValue())),
                      std::move(fill));
  });
}

Definition reorder(const Definition &definition, OrderOf orderOf) {
  Definition result = definition;
  const Order &order = orderOf(definition.results[0]);
  llvm::SmallVector<Index> iterators;
  for (unsigned k = 0; k < definition.numIterators(); ++k)
    iterators.push_back(Index::iterator(k));
  for (auto [position, dimension] : llvm::enumerate(order))
    iterators[dimension] = Index::iterator(position);
  result.parallel = permuted(definition.parallel, order);
  for (Expr &body : result.bodies) {
    if (!order.empty())
      body = substitute(body, iterators);
    body = reorderReads(body, orderOf);
  }
  return result;
}

static std::optional<Original> reordered(std::optional<Original> original, const Order &order) {
  if (original && original->order.empty())
    original->order.assign(order.begin(), order.end());
  else if (original)
    original->order = permuted(original->order, order);
  if (original && llvm::is_sorted(original->order))
    original->order.clear();
  return original;
}

Program reorder(const Program &program, llvm::ArrayRef<Order> orders) {
  simplify::Rebuilder rebuilder(program);
  auto orderOf = [&](ValueId id) -> const Order & { return orders[id.number]; };
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition) {
      rebuilder.copyNode(node);
    } else {
      Definition changed = reorder(*definition, orderOf);
      for (Expr &body : changed.bodies)
        body = rebuilder.rename(body);
      rebuilder.define(node, std::move(changed));
    }
    rebuilder.keepFacts(node);
    for (ValueId id : program.resultsOf(node))
      if (!orderOf(id).empty())
        rebuilder.fresh.value(rebuilder[id]).original =
            reordered(program.value(id).original, orderOf(id));
  }
  return rebuilder.finish();
}

} // namespace kintsugi::layout
