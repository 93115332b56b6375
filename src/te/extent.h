//===- extent.h - The size of an iterator or a dimension --------------------===//
//
// A type of its own, so that a symbol with a bound can stand here later without a change of every
// signature. Extents are at least 0.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXTENT_H
#define KINTSUGI_TE_EXTENT_H

#include <cassert>
#include <cstdint>

namespace kintsugi::te {

class Extent {
public:
  constexpr Extent(int64_t size) : size(size) { assert(size >= 0 && "extents are at least 0"); }

  constexpr int64_t constant() const { return size; }
  constexpr bool operator==(const Extent &) const = default;

private:
  int64_t size;
};

/// All integers from `low` to `high`, both included; empty if high < low.
struct Interval {
  int64_t low = 0;
  int64_t high = -1;

  static Interval of(Extent extent) { return {0, extent.constant() - 1}; }
  static Interval point(int64_t value) { return {value, value}; }
  bool empty() const { return high < low; }
  bool within(const Interval &outer) const {
    return empty() || (outer.low <= low && high <= outer.high);
  }
  int64_t size() const { return empty() ? 0 : high - low + 1; }
  bool operator==(const Interval &) const = default;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_EXTENT_H
