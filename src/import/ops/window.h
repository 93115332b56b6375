//===- window.h - Sliding windows of convolutions and pools ------------------===//
#ifndef KINTSUGI_IMPORT_OPS_WINDOW_H
#define KINTSUGI_IMPORT_OPS_WINDOW_H

#include "import/op_context.h"

namespace kintsugi::import {

/// One spatial dimension of a convolution or a pool. Output o and kernel position k meet the input
/// at o * stride + k * dilation - padLow.
struct Window {
  int64_t input = 0, kernel = 1, stride = 1, dilation = 1, padLow = 0, padHigh = 0, output = 0;

  /// Input positions that a window spans.
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  /// Input positions, pads included, that some window reaches.
  int64_t reach() const { return output == 0 ? 0 : (output - 1) * stride + span(); }
};

using Windows = llvm::SmallVector<Window>;

/// Reads strides, dilations, pads and auto_pad for the dimensions of `tensor` from the third on.
/// `ceil` lets the last window stick out (ceil_mode of pools). Errors where a list has a wrong
/// length, a number is out of range, or a window does not fit.
Expected<Windows> readWindows(OpContext &c, ValueId tensor, llvm::ArrayRef<int64_t> kernel,
                              bool ceil);

/// The kernel's extents by the attribute kernel_shape; an error where it is absent.
Expected<std::vector<int64_t>> kernelShape(OpContext &c, ValueId tensor);

/// Strides, dilations or other attributes with one number a spatial dimension, each in
/// [least, 2^31); `otherwise` where absent.
Expected<std::vector<int64_t>> spatialAttribute(OpContext &c, llvm::StringRef name, size_t count,
                                                int64_t least, int64_t otherwise);

/// The tensor with its spatial dimensions extended (or cropped) so that every window lies inside;
/// `fill` is what stands in the pads. The tensor itself where nothing sticks out.
ValueId padded(OpContext &c, ValueId tensor, const Windows &windows, Expr fill);

/// The coordinates in the padded tensor of output coordinates `i` (from dimension `first` on) and
/// kernel coordinates `r`, for each window.
llvm::SmallVector<Index> windowIndices(const Windows &windows, Indices i, Indices r);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_WINDOW_H
