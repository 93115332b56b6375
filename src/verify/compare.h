//===- compare.h - Two tensors that should be equal -------------------------===//
//
// The differences that `kintsugi compare` reports, each telling another story: absolute and
// relative size, units in the last place, and the angle between the two.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_COMPARE_H
#define KINTSUGI_VERIFY_COMPARE_H

#include "base/tensor.h"

#include <optional>

namespace kintsugi::verify {

struct Difference {
  /// The largest over all elements; infinite where one of two is NaN or an infinity that the other
  /// is not.
  double maxAbsolute = 0;
  /// maxAbsolute over the largest finite magnitude of the expected tensor; infinite where that is 0
  /// and the other is not.
  double relative = 0;
  double ulps = 0; ///< The largest distance in representable numbers of the type; floats only.
  /// Of the finite elements as vectors; 1 where both are zero, 0 where there are none of them and
  /// the others differ.
  double cosine = 1;
  int64_t worst = 0; ///< Row-major number of the element with the largest difference.

  /// The largest difference in a slice of axis 1 or of the last axis over the largest magnitude in
  /// that slice, of all slices the worst. Slices of fewer than leastOfSlice elements are none: the
  /// largest of so few may be small by chance.
  double inSlices = 0;
  unsigned axis = 0; ///< Of that slice.
  int64_t slice = 0; ///< Its number along the axis.

  bool isNan = false; ///< There are elements, and all of them are NaN on both sides.
};

constexpr int64_t leastOfSlice = 8;
constexpr double shareOfSlice = 1e-3;

/// Both of the same type and shape, neither of strings. Floats compare by value (0 equals -0, NaN
/// equals NaN), integers and booleans exactly. A slice's magnitude counts as at least
/// `leastShare` of the tensor's: what is left where large numbers cancel is no scale.
Difference difference(TensorView actual, TensorView expected, double leastShare = shareOfSlice);

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_COMPARE_H
