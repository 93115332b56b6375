//===- open_dimension.cpp - Runs of a size that each of them says ---------===//

#include "runtime/open_dimension.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::runtime;

uint64_t Trim::kept(const OpenSizes &sizes) const {
  if (sizes[number] == 0)
    return period();
  uint64_t rows = stepRows * static_cast<uint64_t>(sizes[number]);
  uint64_t pieces = (rows + tileRows - 1) / tileRows;
  return std::min((pieces + band - 1) / band * band, cuts) * inner;
}

int64_t kintsugi::runtime::extentAt(std::span<const OpenAxis> axes, size_t dimension, int64_t whole,
                                    const OpenSizes &sizes) {
  for (const OpenAxis &axis : axes)
    if (axis.dimension == dimension)
      return axis.step * sizes[axis.number];
  return whole;
}

OpenPart kintsugi::runtime::partOf(ElementType type, std::span<const int64_t> shape,
                                   std::span<const OpenAxis> axes, const OpenSizes &sizes) {
  OpenPart part;
  part.bytes = bitsOf(type) / 8;
  bool isPiece = true, isBand = true; // Of what lies further in all is taken.
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t taken = extentAt(axes, d, shape[d], sizes);
    auto count = static_cast<uint64_t>(taken), whole = static_cast<uint64_t>(shape[d]);
    if (isPiece) {
      part.pitch = part.bytes * whole;
      part.bandPitch = part.pitch;
      part.bytes *= count;
      isPiece = taken == shape[d];
    } else if (isBand) {
      part.bandPitch *= whole;
      part.pieces *= count;
      isBand = taken == shape[d];
    } else {
      part.bands *= count;
    }
  }
  return part;
}
