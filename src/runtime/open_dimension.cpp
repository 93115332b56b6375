//===- open_dimension.cpp - Runs of a size that each of them says ---------===//

#include "runtime/open_dimension.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::runtime;

uint64_t Trim::kept(int64_t size) const {
  uint64_t rows = stepRows * static_cast<uint64_t>(size);
  uint64_t pieces = (rows + tileRows - 1) / tileRows;
  return std::min((pieces + band - 1) / band * band, cuts) * inner;
}

OpenPart kintsugi::runtime::partOf(ElementType type, std::span<const int64_t> shape,
                                   const OpenAxis &axis, int64_t size) {
  OpenPart part;
  uint64_t row = bitsOf(type) / 8;
  for (size_t d = 0; d < shape.size(); ++d)
    (d < axis.dimension ? part.count : row) *= d == axis.dimension ? 1 : uint64_t(shape[d]);
  part.bytes = row * uint64_t(axis.step * size);
  part.pitch = row * uint64_t(shape[axis.dimension]);
  return part;
}
