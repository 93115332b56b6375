#include "schedule/warp_walk.h"

#include "schedule/loop_order.h"
#include "schedule/warp_moves.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::schedule {

void WarpWalk::add(unsigned iterator, int64_t step, int64_t count) {
  int64_t along = std::min(left, count);
  if (along <= 1)
    return;
  left = (left + along - 1) / along;
  stretches.push_back({iterator, step, along});
}

double WarpWalk::linesOf(llvm::ArrayRef<int64_t> strides, int64_t bytes) const {
  double lines = 1;
  for (const Stretch &along : stretches) {
    int64_t stride = strides[along.iterator];
    if (stride == 0)
      continue;
    double distance = stride == irregular
                          ? lineBytes
                          : std::abs(double(stride)) * double(along.step) * double(bytes);
    lines *= std::max(1.0, std::min(1.0, distance / lineBytes) * double(along.count));
  }
  return std::min<double>(lines, threads);
}

double WarpWalk::differing(llvm::ArrayRef<int64_t> strides) const {
  double product = 1;
  for (const Stretch &along : stretches)
    product *= strides[along.iterator] == 0 ? 1 : double(along.count);
  return product;
}

std::optional<double> WarpWalk::turnsOf(llvm::ArrayRef<int64_t> strides, int64_t bytes,
                                        int64_t moved) const {
  llvm::SmallVector<int64_t, threads> offsets{0};
  for (const Stretch &along : stretches) {
    int64_t stride = strides[along.iterator];
    if (stride == irregular)
      return std::nullopt;
    size_t inside = offsets.size(), all = std::min<size_t>(inside * along.count, threads);
    for (size_t thread = inside; thread < all; ++thread)
      offsets.push_back(offsets[thread - inside] + along.step * stride * bytes);
  }
  return bankTurns(offsets, moved);
}

} // namespace kintsugi::schedule
