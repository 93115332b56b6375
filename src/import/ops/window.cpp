//===- window.cpp - Sliding windows of convolutions and pools ----------------===//

#include "import/ops/window.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

constexpr int64_t largest = (int64_t(1) << 31) - 1;

/// The pads that auto_pad SAME asks for: as many outputs as strides fit the input.
void padToSame(Window &w, bool upper) {
  w.output = (w.input + w.stride - 1) / w.stride;
  int64_t total = std::max<int64_t>(0, (w.output - 1) * w.stride + w.span() - w.input);
  w.padLow = upper ? total / 2 : total - total / 2;
  w.padHigh = total - w.padLow;
}

void countOutputs(Window &w, bool ceil) {
  int64_t slack = w.input + w.padLow + w.padHigh - w.span();
  // A window that no input fills may start in it all the same where sizes are rounded up.
  if (slack < 0 && (!ceil || slack <= -w.stride)) {
    w.output = 0;
    return;
  }
  w.output = slack < 0 ? 0 : slack / w.stride + 1;
  if (!ceil || slack % w.stride == 0)
    return;
  // One more window, unless it would start beyond the input and its low pad.
  if (w.output * w.stride < w.input + w.padLow)
    ++w.output;
}

} // namespace

Expected<std::vector<int64_t>> spatialAttribute(OpContext &c, llvm::StringRef name, size_t count,
                                                int64_t least, int64_t otherwise) {
  std::vector<int64_t> values = c.integers(name, std::vector<int64_t>(count, otherwise));
  if (values.size() != count)
    return c.error(name + " has " + llvm::Twine(values.size()) + " numbers instead of " +
                   llvm::Twine(count));
  for (int64_t value : values)
    if (value < least || value > largest)
      return c.error(name + " has the number " + llvm::Twine(value) + ", which is out of range");
  return values;
}

Expected<std::vector<int64_t>> kernelShape(OpContext &c, ValueId tensor) {
  if (!c.hasAttribute("kernel_shape"))
    return c.error("kernel_shape must be given");
  return spatialAttribute(c, "kernel_shape", c.rank(tensor) - 2, 1, 1);
}

Expected<Windows> readWindows(OpContext &c, ValueId tensor, llvm::ArrayRef<int64_t> kernel,
                              bool ceil) {
  size_t count = kernel.size();
  KINTSUGI_ASSIGN(auto strides, spatialAttribute(c, "strides", count, 1, 1));
  KINTSUGI_ASSIGN(auto dilations, spatialAttribute(c, "dilations", count, 1, 1));
  KINTSUGI_ASSIGN(auto pads, spatialAttribute(c, "pads", 2 * count, -largest, 0));
  std::string mode = c.text("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID")
    return c.error("auto_pad '" + mode + "' is not known");
  Windows windows;
  for (size_t d = 0; d < count; ++d) {
    if (kernel[d] < 1 || kernel[d] > largest)
      return c.error("its kernel has an extent of " + llvm::Twine(kernel[d]));
    Window w{c.extent(tensor, 2 + d), kernel[d], strides[d], dilations[d]};
    if (mode == "NOTSET") {
      w.padLow = pads[d];
      w.padHigh = pads[count + d];
    }
    if (same)
      padToSame(w, mode == "SAME_UPPER");
    else
      countOutputs(w, ceil);
    if (w.output == 0 && w.input != 0)
      return c.error("its kernel of extent " + llvm::Twine(w.kernel) +
                     " does not fit an input of extent " + llvm::Twine(w.input));
    windows.push_back(w);
  }
  return windows;
}

ValueId padded(OpContext &c, ValueId tensor, const Windows &windows, Expr fill) {
  Shape shape(c.shape(tensor).begin(), c.shape(tensor).end());
  bool same = true, fits = true;
  for (auto [d, w] : llvm::enumerate(windows)) {
    bool plain = w.padLow == 0 && w.reach() <= w.input;
    same &= plain;
    fits &= w.padLow <= 0 && w.reach() <= w.input + w.padLow;
    if (!plain) // Only what windows reach: a stride may leave the end unread.
      shape[2 + d] = w.reach();
  }
  if (same)
    return tensor;
  return c.define(c.name() + ".padded", shape, [&](Indices i) {
    llvm::SmallVector<Index> at(i.begin(), i.end());
    for (auto [d, w] : llvm::enumerate(windows))
      at[2 + d] = i[2 + d] - Index(w.padLow);
    return fits ? c.read(tensor, at) : c.readOr(tensor, at, fill);
  });
}

llvm::SmallVector<Index> windowIndices(const Windows &windows, Indices i, Indices r) {
  llvm::SmallVector<Index> result;
  for (auto [d, w] : llvm::enumerate(windows))
    result.push_back(i[d] * w.stride + r[d] * w.dilation);
  return result;
}

} // namespace kintsugi::import
