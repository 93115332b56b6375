#include "verify/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kintsugi::verify {

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The place of a float among all of its type, in order: neighbours differ by 1, and both zeros
/// have place 0. From its bits in sign-magnitude form.
static int64_t placeOf(TensorView tensor, int64_t index) {
  unsigned width = bitsOf(tensor.type);
  uint64_t bits = loadBits(tensor, index);
  if (tensor.type == ElementType::F8E8M0) // Has no sign.
    return static_cast<int64_t>(bits);
  uint64_t sign = uint64_t(1) << (width - 1);
  int64_t magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

static double ulpDistance(TensorView a, TensorView b, int64_t index) {
  return std::abs(static_cast<double>(placeOf(a, index)) - static_cast<double>(placeOf(b, index)));
}

/// Integers of 64 bits do not fit a double: their distance is taken exactly first.
static double integerDistance(TensorView a, TensorView b, int64_t index) {
  uint64_t x = static_cast<uint64_t>(loadInteger(a, index));
  uint64_t y = static_cast<uint64_t>(loadInteger(b, index));
  bool less = isSigned(a.type) ? static_cast<int64_t>(x) < static_cast<int64_t>(y) : x < y;
  return static_cast<double>(less ? y - x : x - y);
}

namespace {
/// Adds up what the cosine needs.
struct Angle {
  double dot = 0, actual = 0, expected = 0;
  bool isEmpty = true;

  void add(double a, double b) {
    isEmpty = false;
    dot += a * b;
    actual += a * a;
    expected += b * b;
  }
  double cosine() const {
    if (actual == 0 || expected == 0)
      return actual == expected ? 1 : 0;
    return dot / (std::sqrt(actual) * std::sqrt(expected));
  }
};
} // namespace

namespace {
/// The slices of one axis.
class Slices {
public:
  Slices(unsigned axis, std::span<const int64_t> shape)
      : axis(axis), extent(shape[axis]), errors(extent, 0), magnitudes(extent, 0) {
    for (int64_t inner : shape.subspan(axis + 1))
      stride *= inner;
  }

  void addMagnitude(int64_t element, double magnitude) { raise(magnitudes, element, magnitude); }
  void addError(int64_t element, double error) { raise(errors, element, error); }

  /// `least`: what a slice's magnitude counts as at least.
  void worst(double least, Difference &result) const {
    for (int64_t slice = 0; slice < extent; ++slice) {
      double scale = std::max(magnitudes[slice], least);
      double relative = errors[slice] == 0 ? 0 : scale > 0 ? errors[slice] / scale : infinity;
      if (relative <= result.inSlices)
        continue;
      result.inSlices = relative;
      result.axis = axis;
      result.slice = slice;
    }
  }

private:
  void raise(std::vector<double> &all, int64_t element, double value) const {
    double &most = all[element / stride % extent];
    most = std::max(most, value);
  }

  unsigned axis;
  int64_t extent, stride = 1;
  std::vector<double> errors, magnitudes;
};
} // namespace

/// Of axis 1 and of the last, where they have enough elements.
static std::vector<Slices> slicesOf(std::span<const int64_t> shape, unsigned rank, int64_t count) {
  std::vector<Slices> all;
  std::vector<unsigned> axes;
  if (rank > 1)
    axes.push_back(1);
  if (rank > 2)
    axes.push_back(rank - 1);
  for (unsigned axis : axes)
    if (shape[axis] > 1 && count / shape[axis] >= leastOfSlice)
      all.emplace_back(axis, shape);
  return all;
}

/// The real numbers that a tensor holds: complex ones are pairs of them.
static TensorView realPart(TensorView tensor, std::vector<int64_t> &shape) {
  if (!isComplex(tensor.type))
    return tensor;
  shape.assign(tensor.shape.begin(), tensor.shape.end());
  shape.push_back(2);
  return {tensor.type == ElementType::C64 ? ElementType::F32 : ElementType::F64, shape,
          tensor.bytes};
}

Difference difference(TensorView actual, TensorView expected, double leastShare) {
  std::vector<int64_t> shape;
  unsigned rank = expected.shape.size();
  actual = realPart(actual, shape);
  expected = realPart(expected, shape);
  bool floats = isFloat(actual.type);
  Difference result;
  double largest = 0;
  Angle angle;
  int64_t count = expected.count(), nans = 0;
  std::vector<Slices> all = slicesOf(expected.shape, floats ? rank : 0, count);
  for (int64_t i = 0; i < count; ++i) {
    double a = loadDouble(actual, i), b = loadDouble(expected, i);
    bool finite = std::isfinite(a) && std::isfinite(b);
    if (finite) {
      angle.add(a, b);
      largest = std::max(largest, std::abs(b));
      for (Slices &slices : all)
        slices.addMagnitude(i, std::abs(b));
    }
    nans += std::isnan(a) && std::isnan(b);
    bool same = floats ? a == b || (std::isnan(a) && std::isnan(b))
                       : loadBits(actual, i) == loadBits(expected, i);
    if (same)
      continue;
    double distance = !finite  ? infinity
                      : floats ? std::abs(a - b)
                               : integerDistance(actual, expected, i);
    result.ulps = std::max(result.ulps, !floats  ? 0
                                        : finite ? ulpDistance(actual, expected, i)
                                                 : infinity);
    for (Slices &slices : all)
      slices.addError(i, distance);
    if (distance > result.maxAbsolute) {
      result.maxAbsolute = distance;
      result.worst = i;
    }
  }
  result.cosine = angle.isEmpty && result.maxAbsolute > 0 ? 0 : angle.cosine();
  if (result.maxAbsolute > 0)
    result.relative = largest > 0 ? result.maxAbsolute / largest : infinity;
  for (const Slices &slices : all)
    slices.worst(leastShare * largest, result);
  result.isNan = count > 0 && nans == count;
  return result;
}

} // namespace kintsugi::verify
