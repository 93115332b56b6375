//===- convolution.h - Steps that kinds of convolutions share ----------------===//
//
// For the plain and the quantized convolutions.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_CONVOLUTION_H
#define KINTSUGI_IMPORT_OPS_CONVOLUTION_H

#include "import/ops/window.h"

namespace kintsugi::import {

/// Checks an input [n, c, spatial...] against weights [o, c / groups, kernel...] and reads the
/// windows.
Expected<Windows> convolutionWindows(OpContext &c, ValueId x, ValueId k, int64_t groups);

/// y[n, o, spatial...] of type `type`: the sum over channels and kernel, in the type `wide`. `x` is
/// padded already.
ValueId convolve(OpContext &c, std::string name, ElementType type, ValueId x, ValueId k,
                 const Windows &windows, int64_t groups, ElementType wide);

/// y plus the bias that is input number `input`, one for each channel (dimension 1).
Expected<ValueId> addBias(OpContext &c, std::string name, ValueId y, unsigned input);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_CONVOLUTION_H
