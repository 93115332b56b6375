//===- exact_tensor.h - Tensors as the interpreter holds them ---------------===//
//
// Floats of every width as double, integers and booleans as int64_t (see te/scalar.h): elements are
// rounded where they come in, and where they go out as a Tensor of their type, not in between.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXACT_TENSOR_H
#define KINTSUGI_TE_EXACT_TENSOR_H

#include "base/tensor.h"
#include "te/program.h"

namespace kintsugi::te {

struct ExactTensor {
  ElementType type = ElementType::Invalid;
  std::vector<int64_t> shape;
  std::vector<double> floats;    ///< Row-major; empty unless `type` is a float.
  std::vector<int64_t> integers; ///< Row-major; empty if `type` is a float.

  /// Zeros. An input error for strings and complex numbers, a machine error for more than
  /// `maxElements`.
  static Expected<ExactTensor> create(ElementType type, std::vector<int64_t> shape);
  static Expected<ExactTensor> from(TensorView tensor);

  int64_t count() const { return isFloat(type) ? floats.size() : integers.size(); }
  /// The first `extent` slices of a dimension.
  ExactTensor first(int64_t extent, unsigned dimension) const;
  /// Rounded to its type.
  Expected<Tensor> rounded() const;

  static constexpr int64_t maxElements = int64_t(1) << 28;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_EXACT_TENSOR_H
