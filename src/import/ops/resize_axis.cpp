//===- resize_axis.cpp - Where a resized axis reads from ---------------------===//

#include "import/ops/resize_axis.h"

#include <algorithm>

#include <cmath>
#include <numeric>

namespace kintsugi::import {
namespace {

/// The position in the input, as a real number, of output `o`.
Expected<double> original(const ResizedAxis &axis, const std::string &mode, int64_t o) {
  double n = axis.input, resized = axis.scale * n;
  if (mode == "asymmetric")
    return o / axis.scale;
  if (mode == "half_pixel")
    return (o + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel")
    return resized == 1 ? -0.5 : (o + 0.5) / axis.scale - 0.5;
  if (mode == "align_corners")
    return resized == 1 ? 0 : o * (n - 1) / (resized - 1);
  if (mode == "half_pixel_symmetric")
    return n / 2 * (1 - axis.output / resized) + (o + 0.5) / axis.scale - 0.5;
  if (mode == "tf_half_pixel_for_nn")
    return (o + 0.5) / axis.scale;
  if (mode == "tf_crop_and_resize") {
    double size = axis.roiEnd - axis.roiStart;
    double inside = resized == 1 ? size * (n - 1) / 2 : o * size * (n - 1) / (resized - 1);
    return inside + axis.roiStart * (n - 1);
  }
  return inputError("its coordinate_transformation_mode '" + mode + "' is not known");
}

Expected<int64_t> nearest(double position, const std::string &rounding) {
  if (rounding == "round_prefer_floor")
    return static_cast<int64_t>(std::ceil(position - 0.5));
  if (rounding == "round_prefer_ceil")
    return static_cast<int64_t>(std::floor(position + 0.5));
  if (rounding == "floor")
    return static_cast<int64_t>(std::floor(position));
  if (rounding == "ceil")
    return static_cast<int64_t>(std::ceil(position));
  return inputError("its nearest_mode '" + rounding + "' is not known");
}

/// The weight at a distance, for linear and cubic interpolation (Keys 1981).
double kernel(const ResizeStyle &style, double distance) {
  double x = std::abs(distance), a = style.cubicCoefficient;
  if (style.mode == "linear")
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

void addWeights(const ResizedAxis &axis, const ResizeStyle &style, double position, int64_t start,
                AxisTaps &result) {
  double narrow = style.antialias ? std::min(axis.scale, 1.0) : 1.0;
  double base = std::floor(position), ratio = position - base;
  size_t first = result.weights.size();
  double sum = 0;
  for (unsigned t = 0; t < result.taps; ++t) {
    double weight = kernel(style, (start + double(t) - ratio) * narrow);
    double input = base + start + t;
    if (style.excludeOutside && (input < 0 || input >= axis.input))
      weight = 0;
    sum += weight;
    result.weights.push_back(weight);
  }
  if ((style.excludeOutside || style.antialias) && sum != 0)
    for (size_t k = first; k < result.weights.size(); ++k)
      result.weights[k] /= sum;
  result.base.push_back(static_cast<int64_t>(base) + start);
}

} // namespace

Expected<AxisTaps> tapsOf(const ResizedAxis &axis, const ResizeStyle &style) {
  AxisTaps result;
  bool isNearest = style.mode == "nearest", crops = style.coordinates == "tf_crop_and_resize";
  int64_t start = 0;
  if (!isNearest) {
    double reach = style.mode == "cubic" ? 2 : 1;
    double narrow = style.antialias ? std::min(axis.scale, 1.0) : 1.0;
    if (!(reach / narrow < 1 << 20))
      return inputError("it shrinks an axis too much");
    start = static_cast<int64_t>(std::floor(-reach / narrow)) + 1;
    result.taps = static_cast<unsigned>(2 - 2 * start);
    constexpr int64_t mostWeights = 1 << 25;
    if (axis.output > mostWeights / result.taps)
      return inputError("it weighs too many elements");
  }
  result.endInside = axis.output;
  bool seenInside = false;
  for (int64_t o = 0; o < axis.output; ++o) {
    KINTSUGI_ASSIGN(double position, original(axis, style.coordinates, o));
    if (std::isnan(position))
      return inputError("its sizes, scales or roi don't say where it reads");
    bool inside = !crops || (position >= 0 && position <= axis.input - 1);
    if (inside && !seenInside)
      result.firstInside = o;
    if (!inside && seenInside)
      result.endInside = std::min(result.endInside, o);
    seenInside |= inside;
    position = std::clamp(position, -double(int64_t(1) << 40), double(int64_t(1) << 40));
    if (isNearest) {
      KINTSUGI_ASSIGN(int64_t base, nearest(position, style.rounding));
      result.base.push_back(base);
    } else {
      addWeights(axis, style, position, start, result);
    }
  }
  if (!seenInside)
    result.endInside = 0;
  return result;
}

std::optional<SpacedPositions> spacingOf(const std::vector<int64_t> &positions,
                                         const ResizedAxis &axis) {
  if (positions.empty() || axis.input == 0)
    return std::nullopt;
  int64_t common = std::gcd(axis.input, axis.output);
  int64_t factor = axis.input / common, divisor = axis.output / common;
  auto floorDiv = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  // The first position leaves `divisor` offsets to try.
  constexpr int64_t largestDivisor = 64;
  if (divisor > largestDivisor)
    return std::nullopt;
  for (int64_t k = 0; k < divisor; ++k) {
    int64_t offset = positions[0] * divisor + k;
    bool holds = true;
    for (size_t o = 0; holds && o < positions.size(); ++o)
      holds = floorDiv(factor * int64_t(o) + offset, divisor) == positions[o];
    if (holds)
      return SpacedPositions{factor, offset, divisor};
  }
  return std::nullopt;
}

} // namespace kintsugi::import
