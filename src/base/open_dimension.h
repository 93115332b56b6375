//===- open_dimension.h - A dimension whose size each run says ------------===//
#ifndef KINTSUGI_BASE_OPEN_DIMENSION_H
#define KINTSUGI_BASE_OPEN_DIMENSION_H

#include <cstdint>
#include <string>

namespace kintsugi {

/// With the name that the model gives it, and sizes from `low` to `high`.
struct OpenDimension {
  std::string name;
  int64_t low = 1, high = 1;

  bool operator==(const OpenDimension &) const = default;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_OPEN_DIMENSION_H
