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

} // namespace kintsugi::te
