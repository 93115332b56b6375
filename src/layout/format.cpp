#include "layout/format.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::layout {

using namespace te;

std::string textOf(const Order &order) {
  std::string text;
  for (unsigned dimension : order)
    text += (text.empty() ? "" : ", ") + std::to_string(dimension);
  return text;
}

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

} // namespace kintsugi::layout
