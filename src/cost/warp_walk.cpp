#include "cost/warp_walk.h"

#include "loops/loop_order.h"
#include "loops/warp_moves.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::cost {

using namespace loops;

void WarpWalk::add(unsigned iterator, int64_t step, int64_t count) {
  int64_t along = std::min(left, count);
  if (along <= 1)
    return;
  left = (left + along - 1) / along;
  stretches.push_back({iterator, step, along});
}

double WarpWalk::linesOf(llvm::ArrayRef<double> slopes, int64_t bytes) const {
  double lines = 1;
  for (const Stretch &along : stretches) {
    double distance = slopes[along.iterator] * double(along.step) * double(bytes);
    lines *= std::max(1.0, std::min(1.0, distance / lineBytes) * double(along.count));
  }
  return std::min<double>(lines, threads);
}

double WarpWalk::differing(llvm::ArrayRef<double> slopes) const {
  double product = 1;
  for (const Stretch &along : stretches) {
    double moved = std::min(1.0, slopes[along.iterator] * double(along.step));
    product *= std::max(1.0, moved * double(along.count));
  }
  return product;
}

std::optional<double> WarpWalk::turnsOf(llvm::ArrayRef<int64_t> strides, int64_t bytes,
                                        int64_t moved, KnownTurns &known) const {
  llvm::SmallVector<KnownTurns::Row, 5> rows;
  for (const Stretch &along : stretches) {
    int64_t stride = strides[along.iterator];
    if (stride == irregular)
      return std::nullopt;
    rows.push_back({along.step * stride * bytes, along.count});
  }
  return known.of(rows, moved, threads);
}

size_t KnownTurns::Hash::operator()(const Key &key) const {
  size_t hash = 0;
  for (int64_t part : key)
    hash = (hash ^ size_t(part)) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

double KnownTurns::of(llvm::ArrayRef<Row> rows, int64_t moved, int64_t threads) {
  Key key{moved, threads};
  assert(2 * rows.size() + 2 <= key.size() && "each row has two threads and more");
  for (auto [number, row] : llvm::enumerate(rows)) {
    key[2 + 2 * number] = row.apart;
    key[3 + 2 * number] = row.count;
  }
  auto [entry, isNew] = known.try_emplace(key);
  if (!isNew)
    return entry->second;
  llvm::SmallVector<int64_t, 32> offsets{0};
  for (const Row &row : rows) {
    size_t inside = offsets.size(), all = std::min<size_t>(inside * row.count, threads);
    for (size_t thread = inside; thread < all; ++thread)
      offsets.push_back(offsets[thread - inside] + row.apart);
  }
  return entry->second = bankTurns(offsets, moved);
}

} // namespace kintsugi::cost
