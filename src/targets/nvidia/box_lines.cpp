#include "targets/nvidia/box_lines.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace kintsugi::targets {

static constexpr int64_t elementBytes = 2;

static int64_t pointsOf(llvm::ArrayRef<int64_t> extents) {
  int64_t points = 1;
  for (int64_t extent : extents)
    points *= extent;
  return points;
}

int64_t boxLineBytes(llvm::ArrayRef<int64_t> extents, int64_t bytes) {
  bool isAlone = pointsOf(extents) == extents.back();
  for (int64_t line : {128, 64, 32})
    if (line <= bytes && (isAlone || extents.back() * elementBytes % line == 0))
      return line;
  return 0;
}

std::optional<llvm::SmallVector<int64_t>> boxLines(llvm::ArrayRef<int64_t> extents, int64_t lines,
                                                   bool pastEnd) {
  llvm::SmallVector<int64_t> counts(extents.size(), 1);
  int64_t left = lines;
  for (size_t k = extents.size(); k-- > 0 && left > 1;) {
    int64_t extent = extents[k], outer = pointsOf(extents.take_front(k));
    if (extent == 1)
      continue;
    bool isLast = outer == 1;
    bool isWhole = extent <= left ? left % extent == 0 : extent % left == 0;
    bool areAll = !pastEnd && outer * extent <= left;
    if (!isLast && !isWhole && !areAll)
      return std::nullopt;
    counts[k] = isLast && pastEnd ? left : std::min(extent, left);
    left /= counts[k];
  }
  return counts;
}

} // namespace kintsugi::targets
