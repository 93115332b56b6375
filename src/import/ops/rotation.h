//===- rotation.h - Heads that are rotated by their positions ----------------===//
//
// Pairs of elements of each head are rotated by an angle that the token's position gives.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_ROTATION_H
#define KINTSUGI_IMPORT_OPS_ROTATION_H

#include "import/builder.h"

#include <functional>

namespace kintsugi::import {

struct Rotation {
  ValueId x;              ///< [batch, head, token, element] or [batch, token, head * element].
  ValueId cosines, sines; ///< [position, pair] or, without `positionOf`, [batch, token, pair].
  int64_t headSize = 0;
  int64_t rotated = 0;        ///< The first elements of a head, an even number of them.
  bool isInterleaved = false; ///< Pairs are neighbors, not half of `rotated` apart.
  std::function<Index(const Index &batch, const Index &token)> positionOf;
};

/// What becomes of the rotation's `x`.
ValueId rotated(Builder &b, std::string name, const Rotation &rotation);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_ROTATION_H
