//===- open_dimension.h - Runs of a size that each of them says -----------===//
//
// A manifest is of the greatest sizes of its open dimensions. A run of smaller ones looks at the
// first steps along them only; what lies behind those is of earlier runs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_OPEN_DIMENSION_H
#define KINTSUGI_RUNTIME_OPEN_DIMENSION_H

#include "base/element_type.h"
#include "base/open_dimension.h"

#include <cstdint>
#include <span>

namespace kintsugi::runtime {

/// Where a port has an open dimension: the extent of `dimension` is `step` times the size.
struct OpenAxis {
  uint32_t dimension = 0;
  int64_t step = 1;
  uint32_t number = 0; ///< Of the open dimension, in the manifest.

  bool operator==(const OpenAxis &) const = default;
};

/// Which tiles of a stage a run below the greatest size needs. In a row of `cuts` * `inner` of
/// them, those that differ in their last digit below `inner` belong to the same of `cuts` pieces of
/// `tileRows` rows each, and the size says how many of the first rows are looked at.
struct Trim {
  uint32_t number = 0;   ///< Of the open dimension, in the manifest.
  uint64_t stepRows = 1; ///< Rows of a step of it.
  uint64_t tileRows = 1;
  uint64_t cuts = 1;
  uint64_t inner = 1;
  uint64_t band = 1; ///< So many pieces are numbered together, and are needed or not.

  uint64_t period() const { return cuts * inner; }
  /// Of the tiles in a row, how many of the first ones these sizes need; all of no size.
  uint64_t kept(const OpenSizes &sizes) const;

  bool operator==(const Trim &) const = default;
};

/// The elements of a run's sizes within a tensor of the greatest ones: pieces that follow each
/// other without a gap in the caller's memory, and are `pitch` bytes apart there, those of each
/// band.
struct OpenPart {
  uint64_t bands = 1, bandPitch = 0;
  uint64_t pieces = 1, pitch = 0; ///< Of a band.
  uint64_t bytes = 0;             ///< Of a piece.

  uint64_t count() const { return bands * pieces; }
  uint64_t total() const { return count() * bytes; }
  /// Of a piece, in the greatest tensor.
  uint64_t placeOf(uint64_t piece) const {
    return piece / pieces * bandPitch + piece % pieces * pitch;
  }
};

/// The extent of a dimension in a run of these sizes, `whole` at the greatest.
int64_t extentAt(std::span<const OpenAxis> axes, size_t dimension, int64_t whole,
                 const OpenSizes &sizes);

/// `axes`: of different dimensions of `shape`, and of different open ones.
OpenPart partOf(ElementType type, std::span<const int64_t> shape, std::span<const OpenAxis> axes,
                const OpenSizes &sizes);

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_OPEN_DIMENSION_H
