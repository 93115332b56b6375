//===- resize.cpp - Resizing -------------------------------------------------===//
//
// One definition for each axis that changes. Positions that are equally spaced become index
// expressions (of the axis with its edges repeated, where outputs reach beyond them); others are
// read from a table, as are the weights.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"
#include "import/ops/resize_axis.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::import {
namespace {

using te::BinaryOp;

llvm::SmallVector<Index> replaced(Indices indices, unsigned dimension, Index index) {
  llvm::SmallVector<Index> result(indices.begin(), indices.end());
  result[dimension] = std::move(index);
  return result;
}

/// Repeats the first element `low` times before and the last `high` times after.
ValueId withEdges(OpContext &c, std::string name, ValueId x, unsigned d, int64_t low,
                  int64_t high) {
  if (low == 0 && high == 0)
    return x;
  int64_t extent = c.extent(x, d);
  Shape shape(c.shape(x).begin(), c.shape(x).end());
  shape[d] = low + extent + high;
  return c.define(std::move(name), shape, [&](Indices i) {
    auto at = [&](Index index) { return c.read(x, replaced(i, d, std::move(index))); };
    Expr result = at(i[d] - Index(low));
    if (high > 0)
      result = Expr::select(below(i[d], low + extent), result, at(Index(extent - 1)));
    if (low > 0)
      result = Expr::select(below(i[d], low), at(Index(0)), result);
    return result;
  });
}

Expected<ValueId> integerTable(OpContext &c, std::string name, llvm::ArrayRef<int64_t> values) {
  KINTSUGI_ASSIGN(Tensor table, Tensor::from<int64_t>({int64_t(values.size())}, values));
  return c.constant(std::move(name), std::move(table));
}

/// The weights as a table [output, taps] of the given type.
Expected<ValueId> weightTable(OpContext &c, std::string name, ElementType type,
                              const AxisTaps &axis) {
  KINTSUGI_ASSIGN(Tensor table, Tensor::create(type, {int64_t(axis.base.size()), axis.taps}));
  for (size_t k = 0; k < axis.weights.size(); ++k)
    storeDouble(type, table.bytes(), k, axis.weights[k]);
  return c.constant(std::move(name), std::move(table));
}

/// How to find input `base[o] + tap`: by an expression, or in a table that is clamped already.
struct Source {
  ValueId tensor;
  std::optional<SpacedPositions> spaced;
  int64_t shift = 0;            ///< Of the positions, by the edges.
  std::optional<ValueId> table; ///< [taps * output]

  Index position(OpContext &c, const Index &o, unsigned tap, int64_t outputs) const {
    if (table)
      return c.gather(*table, {o + Index(tap * outputs)});
    return (o * spaced->factor + Index(spaced->offset)).floorDiv(spaced->divisor) +
           Index(shift + tap);
  }
};

Expected<Source> sourceOf(OpContext &c, const std::string &step, ValueId x, unsigned d,
                          const ResizedAxis &axis, const AxisTaps &taps) {
  Source source{x, spacingOf(taps.base, axis)};
  auto [least, greatest] = std::minmax_element(taps.base.begin(), taps.base.end());
  if (source.spaced) {
    int64_t low = std::max<int64_t>(0, -*least);
    int64_t high = std::max<int64_t>(0, *greatest + taps.taps - axis.input);
    if (low <= axis.input && high <= axis.input) {
      source.tensor = withEdges(c, step + ".edges", x, d, low, high);
      source.shift = low;
      return source;
    }
    source.spaced.reset();
  }
  std::vector<int64_t> positions;
  for (unsigned tap = 0; tap < taps.taps; ++tap)
    for (int64_t base : taps.base)
      positions.push_back(std::clamp<int64_t>(base + tap, 0, axis.input - 1));
  KINTSUGI_ASSIGN(source.table, integerTable(c, step + ".positions", positions));
  return source;
}

/// Resizes dimension `d`. The element type becomes `type`.
Expected<ValueId> resizeAxis(OpContext &c, const std::string &step, ValueId x, unsigned d,
                             const ResizedAxis &axis, const AxisTaps &taps, ElementType type) {
  KINTSUGI_ASSIGN(Source source, sourceOf(c, step, x, d, axis, taps));
  Shape shape(c.shape(x).begin(), c.shape(x).end());
  shape[d] = axis.output;
  auto element = [&](Indices i, unsigned tap) {
    Index position = source.position(c, i[d], tap, axis.output);
    return Expr::cast(type, c.read(source.tensor, replaced(i, d, position)));
  };
  if (taps.weights.empty())
    return c.define(step, shape, [&](Indices i) { return element(i, 0); });
  KINTSUGI_ASSIGN(ValueId weights, weightTable(c, step + ".weights", type, taps));
  return c.define(step, shape, [&](Indices i) {
    std::optional<Expr> sum;
    for (unsigned tap = 0; tap < taps.taps; ++tap) {
      Expr term = element(i, tap) * c.read(weights, {i[d], Index(tap)});
      sum = sum ? *sum + term : term;
    }
    return *sum;
  });
}

/// Elements outside of the region take the extrapolation value.
ValueId extrapolated(OpContext &c, ValueId y, llvm::ArrayRef<AxisTaps> taps, double value) {
  return c.define(c.name(), c.shape(y), [&](Indices i) {
    Expr result = c.read(y, i), outside = Expr::literal(c.type(y), value);
    for (auto [d, axis] : llvm::enumerate(taps)) {
      if (axis.endInside < int64_t(axis.base.size()))
        result = Expr::select(below(i[d], axis.endInside), result, outside);
      if (axis.firstInside > 0)
        result = Expr::select(below(i[d], axis.firstInside), outside, result);
    }
    return result;
  });
}

Status resizeBy(OpContext &c, const std::vector<ResizedAxis> &axes, const ResizeStyle &style,
                double extrapolation) {
  ValueId x = c.input(0);
  if (style.mode != "nearest" && style.mode != "linear" && style.mode != "cubic")
    return c.error("its mode '" + style.mode + "' is not known");
  std::vector<int64_t> wanted;
  for (const ResizedAxis &axis : axes) {
    wanted.push_back(axis.output);
    if (axis.output > 1 << 26 || (axis.input == 0 && axis.output != 0))
      return c.error("it can't resize an axis from " + llvm::Twine(axis.input) + " to " +
                     llvm::Twine(axis.output));
  }
  KINTSUGI_RETURN_IF_ERROR(c.makeShape(wanted).status());
  llvm::SmallVector<AxisTaps> taps;
  llvm::SmallVector<unsigned> changed;
  bool crops = style.coordinates == "tf_crop_and_resize";
  for (auto [d, axis] : llvm::enumerate(axes)) {
    KINTSUGI_ASSIGN(AxisTaps own, tapsOf(axis, style));
    std::vector<int64_t> same(axis.output);
    std::iota(same.begin(), same.end(), 0);
    bool wholePixels = style.mode == "nearest" || (axis.scale == 1 && !crops);
    bool unchanged =
        axis.input == axis.output && wholePixels && (own.weights.empty() ? own.base == same : true);
    if (!unchanged)
      changed.push_back(d);
    taps.push_back(std::move(own));
  }
  ElementType type = c.type(x);
  bool mixes = style.mode != "nearest";
  ElementType wide = !mixes ? type : isFloat(type) ? accumulatorFor(type) : ElementType::F32;
  ValueId y = x;
  for (unsigned d : changed) {
    bool last = d == changed.back() && wide == type && !crops;
    std::string step = last ? c.name() : c.name() + ".axis" + std::to_string(d);
    KINTSUGI_ASSIGN(y, resizeAxis(c, step, y, d, axes[d], taps[d], wide));
  }
  y = c.castTo(crops ? c.name() + ".inside" : c.name(), y, type);
  c.output(0, crops ? extrapolated(c, y, taps, extrapolation) : y);
  return Status::success();
}

/// What each element of an axis is made of is found out one by one when compiling.
constexpr int64_t longestAxis = 1 << 22;

/// Extents from sizes, which may keep the aspect ratio.
Status applySizes(OpContext &c, std::vector<ResizedAxis> &axes, llvm::ArrayRef<unsigned> dimensions,
                  llvm::ArrayRef<int64_t> sizes) {
  std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (sizes.size() != dimensions.size())
    return c.error("it has " + llvm::Twine(sizes.size()) + " sizes for " +
                   llvm::Twine(dimensions.size()) + " axes");
  std::optional<double> common;
  for (auto [d, size] : llvm::zip(dimensions, sizes)) {
    if (size < 0 || size > longestAxis || axes[d].input == 0)
      return c.error("it can't resize an axis from " + llvm::Twine(axes[d].input) + " to " +
                     llvm::Twine(size) +
                     (size > longestAxis
                          ? ", which is more than " + std::to_string(longestAxis) + " elements"
                          : ""));
    axes[d].output = size;
    axes[d].scale = double(size) / axes[d].input;
    bool larger = policy == "not_smaller";
    if (!common || (larger ? axes[d].scale > *common : axes[d].scale < *common))
      common = axes[d].scale;
  }
  if (policy == "stretch")
    return Status::success();
  if (policy != "not_larger" && policy != "not_smaller")
    return c.error("its keep_aspect_ratio_policy '" + policy + "' is not known");
  for (unsigned d : dimensions) {
    double output = *common * axes[d].input + 0.5;
    if (!(output <= double(longestAxis)))
      return c.error("its sizes would make an axis too large");
    axes[d].scale = *common;
    axes[d].output = static_cast<int64_t>(output);
  }
  return Status::success();
}

Status applyScales(OpContext &c, std::vector<ResizedAxis> &axes,
                   llvm::ArrayRef<unsigned> dimensions, llvm::ArrayRef<double> scales) {
  if (scales.size() != dimensions.size())
    return c.error("it has " + llvm::Twine(scales.size()) + " scales for " +
                   llvm::Twine(dimensions.size()) + " axes");
  for (auto [d, scale] : llvm::zip(dimensions, scales)) {
    double output = std::floor(axes[d].input * scale);
    if (!(scale > 0) || !(output <= double(longestAxis)))
      return c.error("it has a scale that is not positive, or too large");
    axes[d].scale = scale;
    axes[d].output = static_cast<int64_t>(output);
  }
  return Status::success();
}

std::vector<ResizedAxis> axesOf(OpContext &c) {
  std::vector<ResizedAxis> axes;
  for (int64_t extent : c.dims(c.input(0)))
    axes.push_back({extent, extent});
  return axes;
}

llvm::SmallVector<unsigned> allDimensions(OpContext &c) {
  llvm::SmallVector<unsigned> result(c.rank(c.input(0)));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

Status resize(OpContext &c) {
  ResizeStyle style;
  style.mode = c.text("mode", "nearest");
  style.coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  style.rounding = c.text("nearest_mode", "round_prefer_floor");
  style.cubicCoefficient = c.real("cubic_coeff_a", -0.75);
  style.excludeOutside = c.integer("exclude_outside", 0) != 0;
  style.antialias = c.integer("antialias", 0) != 0;
  auto axes = axesOf(c);
  auto dimensions = allDimensions(c);
  if (c.hasAttribute("axes")) {
    std::vector<int64_t> given = c.integers("axes");
    KINTSUGI_ASSIGN(dimensions, c.axes(given, axes.size()));
  }
  if (style.coordinates == "tf_crop_and_resize") {
    KINTSUGI_ASSIGN(std::vector<double> roi, c.constantReals(1, "roi"));
    if (roi.size() != 2 * dimensions.size())
      return c.error("its roi must have two numbers for each axis");
    for (auto [k, d] : llvm::enumerate(dimensions)) {
      axes[d].roiStart = roi[k];
      axes[d].roiEnd = roi[dimensions.size() + k];
      if (!std::isfinite(axes[d].roiStart) || !std::isfinite(axes[d].roiEnd))
        return c.error("its roi has numbers that are not finite");
    }
  }
  KINTSUGI_ASSIGN(std::vector<double> scales, c.constantReals(2, "scales"));
  KINTSUGI_ASSIGN(std::vector<int64_t> sizes, c.constantIntegers(3, "sizes"));
  if (!sizes.empty())
    KINTSUGI_RETURN_IF_ERROR(applySizes(c, axes, dimensions, sizes));
  else
    KINTSUGI_RETURN_IF_ERROR(applyScales(c, axes, dimensions, scales));
  return resizeBy(c, axes, style, c.real("extrapolation_value", 0));
}

/// Upsample, and Resize as it was in operator set 10.
Status upsample(OpContext &c) {
  std::vector<double> scales = c.reals("scales");
  if (c.opset() >= 9) {
    KINTSUGI_ASSIGN(scales, c.constantReals(1, "scales"));
  }
  ResizeStyle style;
  style.mode = c.text("mode", "nearest");
  if (style.mode == "bilinear")
    style.mode = "linear";
  style.coordinates = "asymmetric";
  style.rounding = "floor";
  auto axes = axesOf(c);
  KINTSUGI_RETURN_IF_ERROR(applyScales(c, axes, allDimensions(c), scales));
  return resizeBy(c, axes, style, 0);
}

} // namespace

OperatorTable resizeOperators() {
  static const Operator table[] = {
      {"Resize", 10, 2, upsample},
      {"Resize", 11, 1, resize},
      {"Upsample", 7, 1, upsample},
  };
  return table;
}

} // namespace kintsugi::import
