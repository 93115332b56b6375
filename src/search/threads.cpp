#include "search/threads.h"

#include "search/choice_memo.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::search {

using namespace cost;
using namespace loops;

/// Small inner sums are unrolled wholly.
static unsigned unrolledInThread(const LoopNest &nest) {
  constexpr int64_t mostExtent = 8, mostCopies = 128;
  int64_t size = int64_t(nest.registers.rows) * nest.registers.vectors * nest.registers.columns;
  unsigned count = 0;
  for (unsigned k = nest.numReductions(); k-- > 0; ++count) {
    unsigned iterator = nest.parallel.size() + k;
    int64_t extent = nest.extentOf(iterator);
    if (int(iterator) == nest.registers.vectorIterator || extent > mostExtent ||
        size * extent > mostCopies || nest.spanOf(iterator))
      break;
    size *= extent;
  }
  return count;
}

std::optional<BlockCycles> chooseThreads(LoopNest &nest, const Schedule &schedule,
                                         const machine::BlockCore &core, ChoiceMemo &memo,
                                         Wish wish) {
  ThreadWork work(nest, schedule, core);
  ThreadTile best = wish.isNone() ? memo.at(work, schedule.threads)
                                  : bestThreadTile(work, schedule.threads, wish);
  if (std::isinf(best.cycles.busy))
    return std::nullopt;
  nest.registers = best.registers;
  nest.registers.unrolledReductions = unrolledInThread(nest);
  return best.cycles;
}

} // namespace kintsugi::search
