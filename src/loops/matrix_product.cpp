#include "loops/matrix_product.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// The type that both factors have, or may be rounded to.
std::optional<ElementType> elementOf(const Expr &body, std::optional<ElementType> rounded) {
  std::optional<ElementType> element = rounded;
  for (const Expr &factor : body.operands()) {
    ElementType own = unwidened(factor).type();
    if (own != ElementType::F16 && own != ElementType::BF16)
      continue;
    if (element && *element != own)
      return std::nullopt;
    element = own;
  }
  bool areExact = llvm::all_of(body.operands(), [&](const Expr &factor) {
    return element && unwidened(factor).type() == *element;
  });
  return areExact || rounded ? element : std::nullopt;
}

} // namespace

std::optional<MatrixProduct> matrixProductOf(const LoopNest &nest,
                                             std::optional<ElementType> rounded) {
  if (!nest.reduction || nest.reduction->combiner != Combiner::Sum || nest.bodies.size() != 1 ||
      nest.reduction->accumulator != ElementType::F32 || !nest.spans.empty() || nest.inPasses)
    return std::nullopt;
  const Expr &body = nest.bodies[0];
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return std::nullopt;
  std::optional<ElementType> element = elementOf(body, rounded);
  if (!element)
    return std::nullopt;
  MatrixProduct product{*element, 1, {}, {}, {}};
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
