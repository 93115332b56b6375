#include "te/product.h"

namespace kintsugi::te {

bool multipliesMatrices(const Expr &body, unsigned parallel) {
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return false;
  bool rows = false, columns = false;
  for (unsigned k = 0; k < parallel; ++k) {
    bool left = body.operand(0).uses(k), right = body.operand(1).uses(k);
    rows |= left && !right;
    columns |= right && !left;
  }
  return rows && columns;
}

bool isContraction(const Definition &definition) {
  if (!definition.reduction || definition.reduction->combiner != Combiner::Sum)
    return false;
  const Expr &body = definition.bodies[0];
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return false;
  const Expr &left = body.operand(0), &right = body.operand(1);
  if (left == right)
    return false;
  unsigned parallel = definition.parallel.size(), all = definition.numIterators();
  auto sums = [&](const Expr &factor) {
    for (unsigned k = parallel; k < all; ++k)
      if (factor.uses(k))
        return true;
    return false;
  };
  if (!sums(left) || !sums(right))
    return false;
  for (unsigned k = 0; k < parallel; ++k)
    if (left.uses(k) != right.uses(k))
      return true;
  return false;
}

} // namespace kintsugi::te
