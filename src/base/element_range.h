//===- element_range.h - Elements of a tensor that must lie in a range --------===//
#ifndef KINTSUGI_BASE_ELEMENT_RANGE_H
#define KINTSUGI_BASE_ELEMENT_RANGE_H

#include "base/element_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kintsugi {

/// The integers at first + sum of n_k * step_k, for each n_k in [0, count_k), lie in [low, high).
struct ElementRange {
  struct Loop {
    int64_t count = 0, step = 0;
    bool operator==(const Loop &) const = default;
  };

  int64_t low = 0, high = 0;
  int64_t first = 0;
  std::vector<Loop> loops; ///< The outermost first.

  bool operator==(const ElementRange &) const = default;

  /// Whether all of the elements are among the first `count` ones. The numbers may be any.
  bool staysWithin(uint64_t count) const;
  /// The first element outside of the range. Elements are whole bytes, of type `type`, and
  /// staysWithin() holds.
  std::optional<int64_t> findOutside(ElementType type, std::span<const std::byte> tensor) const;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_ELEMENT_RANGE_H
