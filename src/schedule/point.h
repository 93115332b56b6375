//===- point.h - Which of a group's schedules -------------------------------===//
//
// The decisions that the scheduler's search makes, small enough to be kept and to be tried again: a
// point and a group give the same schedule each time. It says nothing of the program, so equal
// groups share points.
//
//   "stage-operand#1 16,64 -,2x16x2+0x6"
//   "- 128,64 u128x64x32x4x2x1x1x4,3x8x4+0x2|1x4@32 256"
//
// The transforms whose offers were taken ("-": none), by name, a later offer with its number from 0
// on; the sizes of the tiles; and for each nest its registers, where they are not those of the
// least estimate ("-"): vectors along iterator 2, 16 lanes in 2 vectors, and 6 rows of iterator 0;
// or "scalar". Iterators are numbered as they are before loops are put in order. In blocks of
// threads, whose number comes last, lanes may be 32 threads apart, beside rows there may be columns
// (4 of iterator 1), and a product may be on matrix units ("U" where four warps multiply together):
// rows, columns and depth of what is staged, warps down, across and along the terms, blocks, and
// stages.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_POINT_H
#define KINTSUGI_SCHEDULE_POINT_H

#include "schedule/schedule.h"

#include <string_view>
#include <variant>

namespace kintsugi::schedule {

/// How a nest runs.
using NestChoice = std::variant<RegisterTile, MatrixTile>;

/// What is chosen of a matrix tile, without what follows from its nest.
MatrixTile chosenOf(const MatrixTile &tile);

/// One of the members that a transform offered (schedule/transforms.h).
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

  std::string print() const;
  /// The inverse; nullopt for anything else. Whether a group has such a point is another question.
  static std::optional<Point> parse(std::string_view text);
};

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_POINT_H
