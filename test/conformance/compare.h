//===- compare.h - Whether a result is the expected one ---------------------===//
//
// The rule of ONNX's own backend test runner (onnx/backend/test/runner: numpy's assert_allclose),
// made stricter for integers, which must be equal.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_CONFORMANCE_COMPARE_H
#define KINTSUGI_TEST_CONFORMANCE_COMPARE_H

#include "base/tensor.h"

#include <optional>
#include <string>

namespace kintsugi::conformance {

/// Nothing where type and shape agree and every element is right: equal for integers, booleans and
/// strings; |actual - expected| <= atol + rtol |expected| for floats, where NaN matches NaN and an
/// infinity only itself. bf16 has a relative tolerance of at least 2^-6. Otherwise what is wrong.
std::optional<std::string> difference(const Tensor &actual, const Tensor &expected, double rtol,
                                      double atol);

} // namespace kintsugi::conformance

#endif // KINTSUGI_TEST_CONFORMANCE_COMPARE_H
