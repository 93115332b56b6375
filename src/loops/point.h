//===- point.h - Which of a group's schedules -------------------------------===//
//
// The decisions that the scheduler's search makes, small enough to be kept and to be tried again: a
// point and a group give the same schedule each time. It says nothing of the program, so equal
// groups share points. search/point_text.h writes them as text.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_POINT_H
#define KINTSUGI_LOOPS_POINT_H

#include "loops/schedule.h"

#include <variant>

namespace kintsugi::loops {

/// How a nest runs.
using NestChoice = std::variant<RegisterTile, MatrixTile>;

/// What is chosen of a matrix tile, without what follows from its nest.
MatrixTile chosenOf(const MatrixTile &tile);

/// One of the members that a transform offered (search/transforms.h).
struct TransformOffer {
  unsigned transform; ///< Its number in the table.
  unsigned offer;     ///< Of those of the transform, from 0 on.

  bool operator==(const TransformOffer &) const = default;
};

struct Point {
  llvm::SmallVector<TransformOffer, 4> transforms; ///< Taken, in their order.
  llvm::SmallVector<int64_t, 4> sizes;
  /// By nest, the last one not empty; nests beyond it have those of the least estimate. How many
  /// reductions are unrolled follows from the rest.
  llvm::SmallVector<std::optional<NestChoice>> registers;
  int threads = 0; ///< Of a block; 0: as many as the least estimate has, or a worker of its own.

  bool operator==(const Point &) const = default;
};

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_POINT_H
