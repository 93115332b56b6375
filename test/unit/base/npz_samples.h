//===- npz_samples.h - What the tests of NumPy's formats share ------------===//
//
// The archives that NumPy wrote, and tensors of every type.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_BASE_NPZ_SAMPLES_H
#define KINTSUGI_TEST_UNIT_BASE_NPZ_SAMPLES_H

#include "base/npz.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace kintsugi {

inline std::string fixture(const std::string &name) {
  return std::string(KINTSUGI_TEST_DATA) + "/" + name;
}

inline std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

/// Elements as doubles.
inline std::vector<double> numbers(const Tensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i)
    values.push_back(loadDouble(tensor.view(), i));
  return values;
}

using Doubles = std::vector<double>;
using Shape = std::vector<int64_t>;

/// A tensor whose bytes are all different where the type allows it.
inline Tensor sample(ElementType type, Shape shape) {
  if (type == ElementType::Str) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < *elementCount(shape); ++i)
      values.push_back(std::string(static_cast<size_t>(i % 3), 'x') + "é");
    return std::move(*Tensor::fromStrings(shape, values));
  }
  Tensor tensor = std::move(*Tensor::create(type, shape));
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (bitsOf(type) > 64)
      reinterpret_cast<double *>(tensor.bytes().data())[2 * i] = static_cast<double>(i);
    else
      storeBits(type, tensor.bytes(), i,
                type == ElementType::Bool ? uint64_t(i % 2)
                                          : static_cast<uint64_t>(i) * 0x0101010101010101);
  return tensor;
}

inline void expectSame(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(a.type(), b.type());
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.strings(), b.strings());
  EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes())) << nameOf(a.type());
}

} // namespace kintsugi

#endif // KINTSUGI_TEST_UNIT_BASE_NPZ_SAMPLES_H
