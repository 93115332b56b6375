//===- resize_axis.h - Where a resized axis reads from -----------------------===//
//
// Resizing is done one axis after the other. For one axis everything is known when importing: which
// inputs each output reads, and with which weights.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_RESIZE_AXIS_H
#define KINTSUGI_IMPORT_OPS_RESIZE_AXIS_H

#include "base/status.h"

#include <optional>
#include <string>
#include <vector>

namespace kintsugi::import {

/// What Resize's attributes say; the names are ONNX's.
struct ResizeStyle {
  std::string mode = "nearest"; ///< nearest, linear, cubic
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  double cubicCoefficient = -0.75;
  bool excludeOutside = false;
  bool antialias = false;
};

/// One axis before and after.
struct ResizedAxis {
  int64_t input = 1, output = 1;
  double scale = 1;                ///< Not always output / input.
  double roiStart = 0, roiEnd = 1; ///< tf_crop_and_resize only.
};

/// Output o reads inputs base[o] + 0, 1, ... with weights[o * taps + 0, 1, ...]. Inputs outside of
/// the axis stand for the nearest one inside.
struct AxisTaps {
  unsigned taps = 1;
  std::vector<int64_t> base;
  std::vector<double> weights; ///< Empty for nearest: the element itself.
  /// The outputs that lie inside the region; the others are the extrapolation value.
  int64_t firstInside = 0, endInside = 0;
};

/// An error where a name is not known. Follows the reference implementation of the `onnx` package
/// (onnx/reference/ops/op_resize.py).
Expected<AxisTaps> tapsOf(const ResizedAxis &axis, const ResizeStyle &style);

/// floor((factor * o + offset) / divisor)
struct SpacedPositions {
  int64_t factor, offset, divisor;
};

/// The positions as a formula that holds for every one of them, if there is a simple one.
std::optional<SpacedPositions> spacingOf(const std::vector<int64_t> &positions,
                                         const ResizedAxis &axis);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_RESIZE_AXIS_H
