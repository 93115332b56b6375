//===- skip_normalization.cpp - com.microsoft's sums that are normalized ----===//
//
// What residual connections end in: input + skip + bias, normalized over the last dimension.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/statistics.h"

namespace kintsugi::import {
namespace {

/// A vector as long as the last dimension of x, or nothing where it is left out.
Status requireVector(OpContext &c, unsigned input, llvm::StringRef role) {
  if (!c.hasInput(input))
    return Status::success();
  ValueId x = c.input(0), vector = c.input(input);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, vector));
  if (c.dims(vector) == std::vector{c.dims(x).back()})
    return Status::success();
  return c.error("its " + role + " of shape " + shapeString(c.dims(vector)) +
                 " does not fit its input of shape " + shapeString(c.dims(x)));
}

Status requireSkip(OpContext &c) {
  ValueId x = c.input(0), skip = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, skip));
  if (c.rank(x) != 2 && c.rank(x) != 3)
    return c.error("its input of shape " + shapeString(c.dims(x)) + " must have 2 or 3 dimensions");
  std::vector<int64_t> shape = c.dims(x), given = c.dims(skip);
  // One for all samples may lack their dimension.
  std::vector<int64_t> one(shape.end() - 2, shape.end()), first{1, one[0], one[1]};
  bool isForAll = shape.size() == 3 && (given == one || given == first);
  if (given == shape || isForAll)
    return Status::success();
  return c.error("its skip of shape " + shapeString(given) + " does not fit its input of shape " +
                 shapeString(shape));
}

/// input + skip + bias, where input `bias` is there.
ValueId sumOf(OpContext &c, unsigned bias) {
  ValueId x = c.input(0);
  ElementType type = c.type(x), wide = accumulatorFor(type);
  return c.define(c.name(3), c.shape(x), [&](Indices i) {
    Expr sum = Expr::cast(wide, c.read(x, i)) + Expr::cast(wide, c.readBroadcast(c.input(1), i));
    if (c.hasInput(bias))
      sum = sum + Expr::cast(wide, c.readBroadcast(c.input(bias), i));
    return Expr::stored(type, sum);
  });
}

Status requireNoStatistics(OpContext &c) {
  if (c.hasOutput(1) || c.hasOutput(2))
    return c.error("its mean and inv_std_var are outputs, as in training; export the model for "
                   "inference");
  return Status::success();
}

Status skipLayerNormalization(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireOnly({"epsilon"}));
  KINTSUGI_RETURN_IF_ERROR(requireSkip(c));
  KINTSUGI_RETURN_IF_ERROR(requireVector(c, 2, "gamma"));
  KINTSUGI_RETURN_IF_ERROR(requireVector(c, 3, "beta"));
  KINTSUGI_RETURN_IF_ERROR(requireVector(c, 4, "bias"));
  KINTSUGI_RETURN_IF_ERROR(requireNoStatistics(c));
  ValueId sum = sumOf(c, 4);
  Groups groups(c, sum, {c.rank(sum) - 1});
  Standardized s = standardized(c, sum, groups, c.real("epsilon", 1e-12f));
  ElementType wide = c.type(s.centered);
  c.output(0, c.define(c.name(), c.shape(sum), [&](Indices i) {
    Expr y = c.read(s.centered, i) * c.read(s.inverse, groups.outerOf(i)) *
             Expr::cast(wide, c.read(c.input(2), {i.back()}));
    if (c.hasInput(3))
      y = y + Expr::cast(wide, c.read(c.input(3), {i.back()}));
    return Expr::cast(c.type(sum), y);
  }));
  c.output(3, sum);
  return Status::success();
}

/// By the root of the mean square alone.
Status skipSimplifiedLayerNormalization(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireOnly({"epsilon"}));
  KINTSUGI_RETURN_IF_ERROR(requireSkip(c));
  KINTSUGI_RETURN_IF_ERROR(requireVector(c, 2, "gamma"));
  KINTSUGI_RETURN_IF_ERROR(requireVector(c, 3, "bias"));
  KINTSUGI_RETURN_IF_ERROR(requireNoStatistics(c));
  ValueId sum = sumOf(c, 3);
  Groups groups(c, sum, {c.rank(sum) - 1});
  ValueId meanSquare = meanOf(c, c.name() + ".meansquare", sum, groups, squared);
  ValueId inverse = inverseRoot(c, c.name() + ".inverse", meanSquare, c.real("epsilon", 1e-12f));
  ElementType wide = c.type(inverse);
  c.output(0, c.define(c.name(), c.shape(sum), [&](Indices i) {
    Expr y = Expr::cast(wide, c.read(sum, i)) * c.read(inverse, groups.outerOf(i));
    return Expr::cast(c.type(sum), y * Expr::cast(wide, c.read(c.input(2), {i.back()})));
  }));
  c.output(3, sum);
  return Status::success();
}

} // namespace

OperatorTable skipNormalizationOperators() {
  static const Operator table[] = {
      {"SkipLayerNormalization", 1, 3, skipLayerNormalization, "com.microsoft"},
      {"SkipSimplifiedLayerNormalization", 1, 3, skipSimplifiedLayerNormalization, "com.microsoft"},
  };
  return table;
}

} // namespace kintsugi::import
