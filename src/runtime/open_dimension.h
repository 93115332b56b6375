//===- open_dimension.h - Runs of a size that each of them says -----------===//
//
// A manifest is of the greatest size of its open dimension. A run of a smaller one looks at the
// first steps along it only; what lies behind them is of earlier runs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_OPEN_DIMENSION_H
#define KINTSUGI_RUNTIME_OPEN_DIMENSION_H

#include "base/element_type.h"
#include "base/open_dimension.h"

#include <cstdint>
#include <span>

namespace kintsugi::runtime {

/// Where a port has the open dimension: the extent of `dimension` is `step` times the size.
struct OpenAxis {
  uint32_t dimension = 0;
  int64_t step = 1;

  bool operator==(const OpenAxis &) const = default;
};

/// Which tiles of a stage a run below the greatest size needs. In a row of `cuts` * `inner` of
/// them, those that differ in their last digit below `inner` belong to the same of `cuts` pieces of
/// `tileRows` rows each, and the size says how many of the first rows are looked at.
struct Trim {
  uint64_t stepRows = 1; ///< Rows of a step of the open dimension.
  uint64_t tileRows = 1;
  uint64_t cuts = 1;
  uint64_t inner = 1;
  uint64_t band = 1; ///< So many pieces are numbered together, and are needed or not.

  uint64_t period() const { return cuts * inner; }
  /// Of the tiles in a row, how many of the first ones a size needs.
  uint64_t kept(int64_t size) const;

  bool operator==(const Trim &) const = default;
};

/// The elements of a run's size within a tensor of the greatest one: `count` pieces that are
/// `pitch` bytes apart there, and follow each other without a gap in the caller's memory.
struct OpenPart {
  uint64_t count = 1;
  uint64_t bytes = 0; ///< Of a piece.
  uint64_t pitch = 0;

  uint64_t total() const { return count * bytes; }
};

OpenPart partOf(ElementType type, std::span<const int64_t> shape, const OpenAxis &axis,
                int64_t size);

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_OPEN_DIMENSION_H
