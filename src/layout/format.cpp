#include "layout/format.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::layout {

using namespace te;

int innermostDimension(llvm::ArrayRef<Extent> shape) {
  int dimension = static_cast<int>(shape.size()) - 1;
  while (dimension >= 0 && shape[dimension].constant() == 1)
    --dimension;
  return dimension;
}

Order innermost(llvm::ArrayRef<Extent> shape, unsigned dimension) {
  Order order;
  if (shape[dimension].constant() == 1 || innermostDimension(shape) <= static_cast<int>(dimension))
    return order;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (d != dimension)
      order.push_back(d);
  order.push_back(dimension);
  return order;
}

bool isConstant(const Program &program, const std::vector<bool> &constantNodes, ValueId id) {
  const Value &value = program.value(id);
  return value.kind == ValueKind::Constant ||
         (value.kind == ValueKind::Result && constantNodes[value.node]);
}

std::vector<bool> constantNodes(const Program &program) {
  std::vector<bool> constant(program.nodes.size(), false);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    constant[node] = !std::holds_alternative<Scan>(program.nodes[node]) &&
                     llvm::all_of(program.operandsOf(node),
                                  [&](ValueId id) { return isConstant(program, constant, id); });
  return constant;
}

} // namespace kintsugi::layout
