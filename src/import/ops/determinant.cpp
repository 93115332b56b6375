//===- determinant.cpp - Determinants of square matrices ----------------------===//
//
// Gauss's elimination with the greatest element of a column as its pivot, a step for each column.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;
using te::UnaryOp;

/// One step. What it carries are the matrices [batch, row, column], of which the rows that are done
/// stay as they are, and the products of the pivots so far [batch].
class EliminationStep {
public:
  EliminationStep(ElementType type, Extent batch, Extent size)
      : type(type), batch(batch), size(size), program(std::make_shared<te::Program>()),
        b(*program) {
    program->name = "elimination";
    step = program->addInput("step", ElementType::I64, {});
    matrix = program->addInput("matrix", type, {batch, size, size});
    product = program->addInput("product", type, {batch});
  }

  std::shared_ptr<const te::Program> body() {
    pivotRow = b.argReduce(
        "pivot_row", {batch}, Combiner::ArgMax, {size},
        [&](Indices i, Indices r) {
          Expr magnitude = Expr::unary(UnaryOp::Abs, b.read(matrix, {i[0], r[0], now()}));
          return Expr::select(less(rowNumber(r[0]), stepNumber()), number(type, -1), magnitude);
        },
        [&](Indices, Indices r) { return rowNumber(r[0]); });
    pivot = b.define("pivot", {batch}, [&](Indices i) {
      return b.read(matrix, {i[0], Index::data(b.read(pivotRow, {i[0]})), now()});
    });
    program->addOutput("matrix_next", eliminated(exchanged()));
    program->addOutput("product_next", b.define("product_next", {batch}, [&](Indices i) {
      Expr next = b.read(product, i) * b.read(pivot, i);
      Expr isSame = Expr::binary(BinaryOp::Equal, b.read(pivotRow, i), stepNumber());
      return Expr::select(isSame, next, -next);
    }));
    return program;
  }

private:
  Expr stepNumber() const { return b.read(step, {}); }
  Index now() const { return Index::data(stepNumber()); }
  static Expr rowNumber(const Index &row) { return Expr::index(row, ElementType::I64); }

  /// With the pivot's row in the place of the step's.
  ValueId exchanged() {
    return b.define("exchanged", {batch, size, size}, [&](Indices i) {
      Expr chosen = b.read(pivotRow, {i[0]}), row = rowNumber(i[1]);
      auto is = [&](Expr other) { return Expr::binary(BinaryOp::Equal, row, std::move(other)); };
      Expr from =
          Expr::select(is(stepNumber()), chosen, Expr::select(is(chosen), stepNumber(), row));
      return b.read(matrix, {i[0], Index::data(from), i[2]});
    });
  }

  /// Zeros below the pivot. Where it is zero they all are.
  ValueId eliminated(ValueId rows) {
    return b.define("matrix_next", {batch, size, size}, [&](Indices i) {
      Expr divisor = b.read(pivot, {i[0]}), own = b.read(rows, i);
      Expr isZero = Expr::binary(BinaryOp::Equal, divisor, number(type, 0));
      Expr share = b.read(rows, {i[0], i[1], now()}) / divisor;
      Expr changes = less(stepNumber(), rowNumber(i[1]));
      return Expr::select(
          changes, Expr::select(isZero, own, own - share * b.read(rows, {i[0], now(), i[2]})), own);
    });
  }

  ElementType type;
  Extent batch, size;
  std::shared_ptr<te::Program> program;
  Builder b;
  ValueId step, matrix, product, pivotRow, pivot;
};

Status determinant(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  unsigned rank = c.rank(x);
  if (rank < 2 || c.extent(x, rank - 1) != c.extent(x, rank - 2))
    return c.error("its input of shape " + shapeString(c.dims(x)) + " is not of square matrices");
  ElementType type = c.type(x), wide = accumulatorFor(type);
  Shape batches(c.shape(x).drop_back(2));
  int64_t size = c.extent(x, rank - 1), batch = 1;
  for (Extent extent : batches)
    batch *= extent.constant();
  auto one = [&](Indices) { return number(wide, 1); };
  if (size == 0 || batch == 0) { // The product of no pivots.
    c.output(0, c.castTo(c.name(), c.define(c.name() + ".one", batches, one), type));
    return Status::success();
  }
  ValueId matrices =
      c.reshape(c.name() + ".matrices", c.castTo(c.name() + ".wide", x, wide), {batch, size, size});
  ValueId ones = c.define(c.name() + ".ones", {Extent(batch)}, one);
  te::Scan scan{Extent(size), EliminationStep(wide, batch, size).body(), {matrices, ones}, {}, {}};
  auto results = c.program.addScan({c.name() + ".rows", c.name() + ".product"}, std::move(scan));
  ValueId products = c.reshape(c.name() + ".products", results[1], batches);
  c.output(0, c.castTo(c.name(), products, type));
  return Status::success();
}

} // namespace

OperatorTable determinantOperators() {
  static const Operator table[] = {
      {"Det", 11, 1, determinant},
  };
  return table;
}

} // namespace kintsugi::import
