//===- tensor.h - A tensor in host memory ---------------------------------===//
//
// Dense, row-major, aligned bytes with an element type and a shape: feeds, weights, results of the
// interpreter. Kernels and the runtime see only pointers; this is for the code around them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_TENSOR_H
#define KINTSUGI_BASE_TENSOR_H

#include "base/checked.h"
#include "base/half.h"
#include "base/status.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kintsugi {

/// Bytes that every tensor's data is aligned to: a cache line, and the widest vector.
inline constexpr size_t tensorAlignment = 64;

/// Looks at a tensor that lives elsewhere. Not for strings: see Tensor::strings().
struct TensorView {
  ElementType type = ElementType::Invalid;
  std::span<const int64_t> shape;
  std::span<const std::byte> bytes; ///< bytesOf(type, shape) of them, elements packed.

  int64_t count() const { return *elementCount(shape); }

  /// The elements as T, which must be as wide as the element type.
  template <typename T> std::span<const T> as() const {
    assert(sizeof(T) * 8 == bitsOf(type));
    return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// Owns its bytes. Moves but does not copy: copying may fail, so it is clone().
class Tensor {
public:
  Tensor() = default;

  /// A tensor of zeros (empty strings for Str). An input error for a shape whose size overflows or
  /// with a negative extent, a machine error where there is not enough memory.
  static Expected<Tensor> create(ElementType type, std::vector<int64_t> shape);

  /// A copy of elements that are laid out as T; as many as the shape has.
  template <typename T>
  static Expected<Tensor> from(std::vector<int64_t> shape, std::span<const T> values) {
    static_assert(elementTypeFor<T> != ElementType::Invalid);
    return copyOf({elementTypeFor<T>, shape, std::as_bytes(values)});
  }

  /// A copy of what the view shows; an input error where its bytes are too few or too many.
  static Expected<Tensor> copyOf(TensorView view);

  static Expected<Tensor> fromStrings(std::vector<int64_t> shape, std::vector<std::string> values);

  Expected<Tensor> clone() const;

  ElementType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return extents; }
  size_t rank() const { return extents.size(); }
  int64_t count() const { return elements; }

  /// The data; empty for strings. Aligned to tensorAlignment.
  std::span<const std::byte> bytes() const { return {data.get(), size}; }
  std::span<std::byte> bytes() { return {data.get(), size}; }

  TensorView view() const {
    assert(elementType != ElementType::Str);
    return {elementType, extents, bytes()};
  }

  template <typename T> std::span<const T> as() const { return view().as<T>(); }
  template <typename T> std::span<T> as() {
    assert(sizeof(T) * 8 == bitsOf(elementType));
    return {reinterpret_cast<T *>(data.get()), size / sizeof(T)};
  }

  /// The elements of a Str tensor, row-major.
  const std::vector<std::string> &strings() const { return text; }
  std::vector<std::string> &strings() { return text; }

  /// Same elements, another shape with as many; an input error for any other.
  Status reshape(std::vector<int64_t> shape);

private:
  struct Free {
    void operator()(std::byte *memory) const;
  };

  ElementType elementType = ElementType::Invalid;
  std::vector<int64_t> extents;
  int64_t elements = 0;
  std::unique_ptr<std::byte[], Free> data;
  size_t size = 0;
  std::vector<std::string> text;
};

/// The bits of one element, zero-extended; packed narrow elements are unpacked. Types of at most
/// 64 bits, complex ones included (real part low). `index` is row-major and in range.
uint64_t loadBits(TensorView tensor, int64_t index);

/// Sets one element from the low bits of `bits`.
void storeBits(ElementType type, std::span<std::byte> bytes, int64_t index, uint64_t bits);

/// One element as a number: floats exact, integers and bool rounded to a double's 53 bits.
double loadDouble(TensorView tensor, int64_t index);

/// One element of an integer or bool tensor; u64 wraps.
int64_t loadInteger(TensorView tensor, int64_t index);

/// Sets one element of a float tensor by rounding, of a bool tensor by whether it is not zero, of
/// an integer tensor by truncation toward zero and clamping (NaN gives 0).
void storeDouble(ElementType type, std::span<std::byte> bytes, int64_t index, double value);

/// Sets one element of an integer tensor to the value's low bits, of a bool tensor by whether it is
/// not zero, of a float tensor by rounding.
void storeInteger(ElementType type, std::span<std::byte> bytes, int64_t index, int64_t value);

/// "[1, 64, 56, 56]"
std::string shapeString(std::span<const int64_t> shape);

} // namespace kintsugi

#endif // KINTSUGI_BASE_TENSOR_H
