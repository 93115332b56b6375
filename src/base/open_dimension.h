//===- open_dimension.h - A dimension whose size each run says ------------===//
#ifndef KINTSUGI_BASE_OPEN_DIMENSION_H
#define KINTSUGI_BASE_OPEN_DIMENSION_H

#include <array>
#include <cstdint>
#include <string>

namespace kintsugi {

/// That an artifact may have.
constexpr unsigned mostOpenDimensions = 2;

/// With the name that the model gives it, and sizes from `low` to `high`.
struct OpenDimension {
  std::string name;
  int64_t low = 1, high = 1;

  bool takes(int64_t size) const { return size >= low && size <= high; }

  bool operator==(const OpenDimension &) const = default;
};

/// Of a run, by open dimension; 0 for those that there are not, or that are the greatest.
using OpenSizes = std::array<int64_t, mostOpenDimensions>;

} // namespace kintsugi

#endif // KINTSUGI_BASE_OPEN_DIMENSION_H
