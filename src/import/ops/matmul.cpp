//===- matmul.cpp - Products of matrices -------------------------------------===//

#include "import/ops/matmul.h"

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {

using te::Combiner;

Expected<ValueId> matrixProduct(OpContext &c, std::string name, ValueId a, ValueId b) {
  bool row = c.rank(a) == 1, column = c.rank(b) == 1;
  if (c.rank(a) == 0 || c.rank(b) == 0)
    return c.error("a scalar can't be multiplied as a matrix");
  unsigned batchA = row ? 0 : c.rank(a) - 2, batchB = column ? 0 : c.rank(b) - 2;
  unsigned batch = std::max(batchA, batchB);
  int64_t depth = c.extent(a, c.rank(a) - 1);
  if (depth != c.extent(b, column ? 0 : c.rank(b) - 2))
    return c.error("matrices of shapes " + shapeString(c.dims(a)) + " and " +
                   shapeString(c.dims(b)) + " can't be multiplied");
  std::vector<int64_t> shape(batch, 1);
  auto merge = [&](ValueId x, unsigned own) {
    for (unsigned d = 0; d < own; ++d) {
      int64_t &common = shape[batch - own + d];
      int64_t mine = c.extent(x, d);
      if (common != 1 && mine != 1 && common != mine)
        return false;
      common = common == 1 ? mine : common;
    }
    return true;
  };
  if (!merge(a, batchA) || !merge(b, batchB))
    return c.error("batches of matrices of shapes " + shapeString(c.dims(a)) + " and " +
                   shapeString(c.dims(b)) + " don't broadcast");
  if (!row)
    shape.push_back(c.extent(a, c.rank(a) - 2));
  if (!column)
    shape.push_back(c.extent(b, c.rank(b) - 1));
  KINTSUGI_ASSIGN(Shape result, c.makeShape(shape));

  auto batchOf = [&](ValueId x, unsigned own, Indices i) {
    llvm::SmallVector<Index> coordinates;
    for (unsigned d = 0; d < own; ++d)
      coordinates.push_back(c.extent(x, d) == 1 ? Index(0) : i[batch - own + d]);
    return coordinates;
  };
  ElementType wide = accumulatorFor(c.type(a));
  return c.reduce(std::move(name), c.type(a), result, Combiner::Sum, {Extent(depth)},
                  [&](Indices i, Indices r) {
                    auto left = batchOf(a, batchA, i), right = batchOf(b, batchB, i);
                    if (!row)
                      left.push_back(i[batch]);
                    left.push_back(r[0]);
                    right.push_back(r[0]);
                    if (!column)
                      right.push_back(i.back());
                    return Expr::cast(wide, c.read(a, left)) * Expr::cast(wide, c.read(b, right));
                  });
}

namespace {

Status matMul(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(1)));
  if (c.type(c.input(0)) == ElementType::Bool)
    return c.error("booleans have no arithmetic");
  KINTSUGI_ASSIGN(ValueId result, matrixProduct(c, c.name(), c.input(0), c.input(1)));
  c.output(0, result);
  return Status::success();
}

/// alpha * A' * B' + beta * C, where A' and B' may be transposed.
Status gemm(OpContext &c) {
  ValueId a = c.input(0), b = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(a, b));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(a, 2, "A"));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(b, 2, "B"));
  if (c.type(a) == ElementType::Bool)
    return c.error("booleans have no arithmetic");
  bool turnA = c.integer("transA", 0), turnB = c.integer("transB", 0);
  double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  int64_t depth = c.extent(a, turnA ? 0 : 1);
  if (depth != c.extent(b, turnB ? 1 : 0))
    return c.error("matrices of shapes " + shapeString(c.dims(a)) + " and " +
                   shapeString(c.dims(b)) + " can't be multiplied");
  KINTSUGI_ASSIGN(Shape shape,
                  c.makeShape(std::vector{c.extent(a, turnA ? 1 : 0), c.extent(b, turnB ? 0 : 1)}));
  bool adds = c.hasInput(2) && beta != 0, scales = alpha != 1;
  ElementType type = c.type(a), wide = accumulatorFor(type);
  bool last = !adds && !scales;
  ValueId sum = c.reduce(last ? c.name() : c.name() + ".product", last ? type : wide, shape,
                         Combiner::Sum, {Extent(depth)}, [&](Indices i, Indices r) {
                           Expr left = turnA ? c.read(a, {r[0], i[0]}) : c.read(a, {i[0], r[0]});
                           Expr right = turnB ? c.read(b, {i[1], r[0]}) : c.read(b, {r[0], i[1]});
                           return Expr::cast(wide, left) * Expr::cast(wide, right);
                         });
  if (last) {
    c.output(0, sum);
    return Status::success();
  }
  if (adds) {
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(a, c.input(2)));
    KINTSUGI_ASSIGN(Shape common, c.broadcast({sum, c.input(2)}));
    if (common != shape)
      return c.error("C of shape " + shapeString(c.dims(c.input(2))) +
                     " does not broadcast to the product");
  }
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    Expr result = c.read(sum, i);
    if (scales)
      result = Expr::literal(wide, alpha) * result;
    if (adds) {
      Expr addend = Expr::cast(wide, c.readBroadcast(c.input(2), i));
      result = result + (beta == 1 ? addend : Expr::literal(wide, beta) * addend);
    }
    return Expr::cast(type, result);
  }));
  return Status::success();
}

} // namespace

OperatorTable matmulOperators() {
  static const Operator table[] = {
      {"MatMul", 1, 2, matMul},
      {"Gemm", 1, 2, gemm},
  };
  return table;
}

} // namespace kintsugi::import
