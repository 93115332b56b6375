//===- quantized_products.cpp - Products of 8-bit integers --------------------===//
//
// Matrix products and convolutions of numbers that are kept as steps from a zero point. Their sums
// are exact, in 32 bits; QLinear operators bring these back to 8 bits by the scales.
//
//===----------------------------------------------------------------------===//

#include "import/ops/convolution.h"
#include "import/ops/families.h"
#include "import/ops/matmul.h"

namespace kintsugi::import {
namespace {

/// Dimensions of a factor that its scales and zero points may differ along, by numbers of their own
/// for each place, or that are summed over.
struct Axes {
  std::optional<unsigned> apart, summed;
};

/// A scale or zero point of a factor: one number, one for each place along an axis, or as many as
/// the factor has elements in all dimensions but the one that is summed over.
struct Parameter {
  enum class Kind : uint8_t { One, Apart, Each } kind = Kind::One;
  ValueId tensor;
  Axes axes;

  /// The number that belongs to the factor's element at `i`.
  Expr read(const Builder &b, Indices i) const {
    llvm::SmallVector<Index> at(b.rank(tensor));
    if (kind == Kind::Apart)
      at[0] = i[*axes.apart];
    if (kind == Kind::Each) {
      at.assign(i.begin(), i.end());
      at[*axes.summed] = 0;
    }
    return b.read(tensor, at);
  }
};

Expected<Parameter> parameterOf(OpContext &c, unsigned input, ValueId factor, Axes axes) {
  Parameter result{Parameter::Kind::One, c.input(input), axes};
  std::vector<int64_t> given = c.dims(result.tensor), each = c.dims(factor);
  if (c.count(result.tensor) == 1)
    return result;
  if (axes.apart && given == std::vector{each[*axes.apart]}) {
    result.kind = Parameter::Kind::Apart;
    return result;
  }
  if (axes.apart && axes.summed) {
    each[*axes.summed] = 1;
    result.kind = Parameter::Kind::Each;
    if (given == each)
      return result;
  }
  return c.error("a scale or zero point of shape " + shapeString(given) +
                 " does not fit a factor of shape " + shapeString(c.dims(factor)));
}

/// Where the inputs of a factor are; operators differ in their order.
struct FactorInputs {
  unsigned elements, zeroPoint;
  std::optional<unsigned> scale;
};

struct Factor {
  ValueId steps; ///< From the zero point, as i32.
  std::optional<Parameter> scale;
};

Status requireByte(OpContext &c, ValueId tensor) {
  if (c.type(tensor) == ElementType::I8 || c.type(tensor) == ElementType::U8)
    return Status::success();
  return c.error(llvm::Twine("it multiplies integers of 8 bits, not ") + nameOf(c.type(tensor)));
}

Expected<Factor> readFactor(OpContext &c, std::string name, FactorInputs inputs, Axes axes) {
  ValueId x = c.input(inputs.elements);
  KINTSUGI_RETURN_IF_ERROR(requireByte(c, x));
  Factor result;
  if (inputs.scale) {
    KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(*inputs.scale)));
    KINTSUGI_ASSIGN(result.scale, parameterOf(c, *inputs.scale, x, axes));
  }
  if (!c.hasInput(inputs.zeroPoint)) {
    result.steps = c.castTo(std::move(name), x, ElementType::I32);
    return result;
  }
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, c.input(inputs.zeroPoint)));
  KINTSUGI_ASSIGN(Parameter zero, parameterOf(c, inputs.zeroPoint, x, axes));
  result.steps = c.define(std::move(name), c.shape(x), [&](Indices i) {
    return Expr::cast(ElementType::I32, c.read(x, i)) -
           Expr::cast(ElementType::I32, zero.read(c, i));
  });
  return result;
}

/// Sums by the scales of their factors as steps of another scale, inputs `scale` and `scale` + 1:
/// the output. `factors` is the product of the factors' scales at an element.
Status requantized(OpContext &c, ValueId sums, unsigned scale, Pointwise factors) {
  ValueId to = c.input(scale), zero = c.input(scale + 1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(to));
  KINTSUGI_RETURN_IF_ERROR(requireByte(c, zero));
  KINTSUGI_ASSIGN(Parameter toScale, parameterOf(c, scale, sums, {}));
  KINTSUGI_ASSIGN(Parameter toZero, parameterOf(c, scale + 1, sums, {}));
  c.output(0, c.define(c.name(), c.shape(sums), [&](Indices i) {
    auto wide = [](Expr value) { return Expr::cast(ElementType::F32, std::move(value)); };
    Expr by = wide(factors(i) / toScale.read(c, i));
    Expr steps = Expr::unary(te::UnaryOp::Round, wide(c.read(sums, i)) * by);
    return Expr::cast(c.type(zero), steps + wide(toZero.read(c, i))); // Which saturates.
  }));
  return Status::success();
}

Status requireOneTypeOfScales(OpContext &c, llvm::ArrayRef<unsigned> scales) {
  for (unsigned scale : scales)
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(scales[0]), c.input(scale)));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Matrices

Axes rowsOf(OpContext &c, ValueId a) {
  return c.rank(a) < 2 ? Axes() : Axes{c.rank(a) - 2, c.rank(a) - 1};
}

Axes columnsOf(OpContext &c, ValueId b) {
  return c.rank(b) < 2 ? Axes() : Axes{c.rank(b) - 1, c.rank(b) - 2};
}

/// Coordinates in a factor of an element of the product, whose summed dimension may be any.
llvm::SmallVector<Index> coordinatesIn(OpContext &c, ValueId factor, bool isRow, bool isColumn,
                                       Indices i) {
  llvm::SmallVector<Index> all(i.begin(), i.end());
  if (isColumn)
    all.push_back(0);
  if (isRow)
    all.insert(all.end() - 1, Index(0));
  all.erase(all.begin(), all.end() - c.rank(factor));
  for (unsigned d = 0; d < all.size(); ++d)
    if (c.extent(factor, d) == 1)
      all[d] = 0;
  return all;
}

Status matMulInteger(OpContext &c) {
  KINTSUGI_ASSIGN(Factor a, readFactor(c, c.name() + ".left", {0, 2, {}}, rowsOf(c, c.input(0))));
  KINTSUGI_ASSIGN(Factor b,
                  readFactor(c, c.name() + ".right", {1, 3, {}}, columnsOf(c, c.input(1))));
  KINTSUGI_ASSIGN(ValueId product, matrixProduct(c, c.name(), a.steps, b.steps));
  c.output(0, product);
  return Status::success();
}

Status qLinearMatMul(OpContext &c) {
  ValueId left = c.input(0), right = c.input(3);
  KINTSUGI_RETURN_IF_ERROR(requireOneTypeOfScales(c, {1, 4, 6}));
  KINTSUGI_ASSIGN(Factor a, readFactor(c, c.name() + ".left", {0, 2, 1}, rowsOf(c, left)));
  KINTSUGI_ASSIGN(Factor b, readFactor(c, c.name() + ".right", {3, 5, 4}, columnsOf(c, right)));
  KINTSUGI_ASSIGN(ValueId sums, matrixProduct(c, c.name() + ".sum", a.steps, b.steps));
  bool isRow = c.rank(left) == 1, isColumn = c.rank(right) == 1;
  return requantized(c, sums, 6, [&](Indices i) {
    return a.scale->read(c, coordinatesIn(c, left, isRow, isColumn, i)) *
           b.scale->read(c, coordinatesIn(c, right, isRow, isColumn, i));
  });
}

//===----------------------------------------------------------------------===//
// Convolutions

/// The sums of a convolution of inputs 0 and `weights`.
Expected<ValueId> sumsOf(OpContext &c, std::string name, ValueId x, ValueId weights) {
  int64_t groups = c.integer("group", 1);
  KINTSUGI_ASSIGN(Windows windows, convolutionWindows(c, x, weights, groups));
  ValueId input = padded(c, x, windows, Expr::literal(ElementType::I32, int64_t(0)));
  return convolve(c, std::move(name), ElementType::I32, input, weights, windows, groups,
                  ElementType::I32);
}

Status convInteger(OpContext &c) {
  KINTSUGI_ASSIGN(Factor x, readFactor(c, c.name() + ".input", {0, 2, {}}, {}));
  KINTSUGI_ASSIGN(Factor w, readFactor(c, c.name() + ".weights", {1, 3, {}}, {0, {}}));
  KINTSUGI_ASSIGN(ValueId sums, sumsOf(c, c.name(), x.steps, w.steps));
  c.output(0, sums);
  return Status::success();
}

Status qLinearConv(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(requireOneTypeOfScales(c, {1, 4, 6}));
  KINTSUGI_ASSIGN(Factor x, readFactor(c, c.name() + ".input", {0, 2, 1}, {}));
  KINTSUGI_ASSIGN(Factor w, readFactor(c, c.name() + ".weights", {3, 5, 4}, {0, {}}));
  KINTSUGI_ASSIGN(ValueId sums, sumsOf(c, c.name() + ".sum", x.steps, w.steps));
  if (c.hasInput(8)) {
    KINTSUGI_ASSIGN(sums, addBias(c, c.name() + ".biased", sums, 8));
  }
  return requantized(c, sums, 6, [&](Indices i) {
    llvm::SmallVector<Index> inWeights(c.rank(w.steps));
    inWeights[0] = i[1];
    return x.scale->read(c, i) * w.scale->read(c, inWeights);
  });
}

} // namespace

OperatorTable quantizedProductOperators() {
  static const Operator table[] = {
      {"MatMulInteger", 10, 2, matMulInteger},
      {"QLinearMatMul", 10, 8, qLinearMatMul},
      {"ConvInteger", 10, 2, convInteger},
      {"QLinearConv", 10, 8, qLinearConv},
  };
  return table;
}

} // namespace kintsugi::import
