//===- checked.h - Arithmetic on sizes that can't overflow ----------------===//
//
// Extents, sizes and offsets come from untrusted bytes. Every sum and product of them goes through
// here, and an overflow is a missing value instead of a wrapped one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_CHECKED_H
#define KINTSUGI_BASE_CHECKED_H

#include "base/element_type.h"

#include <cstdint>
#include <optional>
#include <span>

namespace kintsugi {

inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> checkedSub(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// The product of the extents; 1 for rank 0. Nothing where an extent is negative or the product
/// does not fit. A zero anywhere gives 0, even where the other extents' product would not fit.
inline std::optional<int64_t> elementCount(std::span<const int64_t> shape) {
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    empty |= extent == 0;
  }
  if (empty)
    return 0;
  int64_t count = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  return count;
}

/// Bytes that `count` elements take, narrow elements packed: ceil(count * bits / 8). Nothing where
/// that overflows, `count` is negative, or the type has no fixed size (strings).
inline std::optional<int64_t> bytesOf(ElementType type, int64_t count) {
  int64_t bits = bitsOf(type);
  if (bits == 0 || count < 0)
    return std::nullopt;
  if (bits % 8 == 0)
    return checkedMul(count, bits / 8);
  auto total = checkedMul(count, bits);
  return total ? std::optional(*total / 8 + (*total % 8 != 0)) : std::nullopt;
}

/// Bytes of a dense tensor of that shape.
inline std::optional<int64_t> bytesOf(ElementType type, std::span<const int64_t> shape) {
  auto count = elementCount(shape);
  return count ? bytesOf(type, *count) : std::nullopt;
}

/// Whether [offset, offset + length) lies in [0, size).
inline bool inRange(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

/// The least multiple of `alignment` (a power of two) that is at least `value`.
inline std::optional<int64_t> checkedAlignUp(int64_t value, int64_t alignment) {
  auto sum = checkedAdd(value, alignment - 1);
  return sum ? std::optional(*sum & ~(alignment - 1)) : std::nullopt;
}

} // namespace kintsugi

#endif // KINTSUGI_BASE_CHECKED_H
