#include "loops/footprint.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

namespace {

/// `extent` positions that lie `stride` apart.
struct Run {
  int64_t stride, extent;
};

/// Joins a run with one whose gaps it fills or continues.
bool join(Run &run, const Run &next) {
  if (next.stride % run.stride != 0 || next.stride / run.stride > run.extent)
    return false;
  run.extent += next.stride / run.stride * (next.extent - 1);
  return true;
}

} // namespace

double positionsOf(const te::Index &index, llvm::ArrayRef<int64_t> extents) {
  llvm::SmallVector<Run, 8> runs, joined;
  double irregular = 1;
  for (auto [k, extent] : llvm::enumerate(extents)) {
    int64_t stride = index.isAffine() ? std::abs(index.coefficientOf(k)) : 0;
    if (stride && extent > 1)
      runs.push_back({stride, extent});
    else if (!stride && index.uses(k))
      irregular *= static_cast<double>(extent);
  }
  llvm::sort(runs, [](const Run &a, const Run &b) { return a.stride < b.stride; });
  for (const Run &run : runs)
    if (llvm::none_of(joined, [&](Run &wider) { return join(wider, run); }))
      joined.push_back(run);
  for (const Run &run : joined)
    irregular *= static_cast<double>(run.extent);
  return irregular;
}

} // namespace kintsugi::loops
