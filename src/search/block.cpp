#include "search/block.h"

#include "loops/loop_order.h"

namespace kintsugi::search {

using namespace cost;
using namespace loops;

/// That no choice of threads' registers costs less than: a multiply-add of each lane in a cycle.
static double leastOfThreads(const LoopNest &nest, double lanes) {
  double terms = 1;
  for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
    terms *= double(nest.extentOf(k));
  BlockCycles cycles{terms / lanes, terms / lanes};
  return cycles.cost();
}

std::optional<BlockCycles> chooseInBlock(LoopNest &nest, const Schedule &schedule,
                                         const BlockLimits &limits, ChoiceMemo &memo, Wish wish) {
  unsigned dimensions = schedule.space.size();
  orderForThreads(nest, dimensions, schedule.buffers);
  std::optional<MatrixProduct> product = matrixProductOf(nest);
  if (!product)
    return chooseThreads(nest, schedule, limits.core, memo, wish);
  BlockLimits left = leftForRings(limits, schedule);
  LoopNest onUnits = nest;
  std::optional<BlockCycles> matrix = chooseMatrix(onUnits, *product, schedule, left, wish);
  if (!matrix || matrix->cost() > leastOfThreads(nest, limits.core.multiplyAdds)) {
    std::optional<BlockCycles> cycles = chooseThreads(nest, schedule, limits.core, memo, wish);
    if (!matrix || (cycles && matrix->cost() > cycles->cost()))
      return cycles;
  }
  nest = std::move(onUnits);
  return *matrix;
}

} // namespace kintsugi::search
