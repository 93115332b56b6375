#include "loops/matrix_product.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// Whether a factor is of a type, or may be rounded to it.
bool becomes(const Expr &factor, ElementType element) {
  ElementType own = unwidened(factor).type();
  return own == element || own == ElementType::F32;
}

} // namespace

std::optional<MatrixProduct> matrixProductOf(const LoopNest &nest) {
  if (!nest.factors || !nest.reduction || nest.reduction->combiner != Combiner::Sum ||
      nest.bodies.size() != 1 || nest.reduction->accumulator != ElementType::F32 ||
      !nest.spans.empty() || nest.inPasses)
    return std::nullopt;
  const Expr &body = nest.bodies[0];
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return std::nullopt;
  if (!becomes(body.operand(0), *nest.factors) || !becomes(body.operand(1), *nest.factors))
    return std::nullopt;
  MatrixProduct product{*nest.factors, 1, {}, {}, {}};
  llvm::SmallVector<unsigned> own[2];
  for (unsigned k = 0; k < nest.parallel.size(); ++k) {
    bool first = body.operand(0).uses(k), second = body.operand(1).uses(k);
    if (!first && !second)
      return std::nullopt;
    (first && second ? product.batch : own[second]).push_back(k);
  }
  if (own[0].empty() || own[1].empty())
    return std::nullopt;
  // Columns are what lies side by side in the results.
  product.columnsFactor = own[0].back() > own[1].back() ? 0 : 1;
  product.columns = own[product.columnsFactor];
  product.rows = own[1 - product.columnsFactor];
  auto pointsOf = [&](llvm::ArrayRef<unsigned> iterators) {
    int64_t points = 1;
    for (unsigned k : iterators)
      points *= nest.extentOf(k);
    return points;
  };
  product.numRows = pointsOf(product.rows);
  product.numColumns = pointsOf(product.columns);
  product.numBatch = pointsOf(product.batch);
  for (unsigned k = 0; k < nest.numReductions(); ++k)
    product.depth *= nest.extentOf(nest.parallel.size() + k);
  if (product.numRows == 0 || product.numColumns == 0 || product.numBatch == 0 ||
      product.depth < FactorMove::elements)
    return std::nullopt;
  return product;
}

FactorMoves factorMovesOf(const LoopNest &nest, const MatrixProduct &product,
                          const Schedule &schedule) {
  const Expr &body = nest.bodies[0];
  const Expr &ofRows = body.operand(1 - product.columnsFactor);
  const Expr &ofColumns = body.operand(product.columnsFactor);
  return {factorMoveOf(ofRows, nest, product.element, product.rows, schedule),
          factorMoveOf(ofColumns, nest, product.element, product.columns, schedule)};
}

} // namespace kintsugi::loops
