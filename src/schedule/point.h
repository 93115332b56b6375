//===- point.h - Which of a group's schedules -------------------------------===//
//
// The decisions that the scheduler's search makes, small enough to be kept and to be tried again: a
// point and a group give the same schedule each time. It says nothing of the program, so equal
// groups share points.
//
//   "01 16,64 -,2x16x2+0x6"
//
// Of each other way to move data that was on offer, whether it was taken ("-": none was); the sizes
// of the tiles; and for each nest its registers, where they are not those of the least estimate
// ("-"): vectors along iterator 2, 16 lanes in 2 vectors, and 6 rows of iterator 0; or "scalar".
// Iterators are numbered as they are before loops are put in order.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_POINT_H
#define KINTSUGI_SCHEDULE_POINT_H

#include "schedule/schedule.h"

#include <string_view>

namespace kintsugi::schedule {

struct Point {
  llvm::SmallVector<bool> ways; ///< What was on offer after these was not taken.
  llvm::SmallVector<int64_t, 4> sizes;
  /// By nest, the last one not empty; nests beyond it have those of the least estimate. How many
  /// reductions are unrolled follows from the rest.
  llvm::SmallVector<std::optional<RegisterTile>> registers;

  bool operator==(const Point &) const = default;

  std::string print() const;
  /// The inverse; nullopt for anything else. Whether a group has such a point is another question.
  static std::optional<Point> parse(std::string_view text);
};

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_POINT_H
