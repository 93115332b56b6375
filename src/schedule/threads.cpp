#include "schedule/threads.h"

#include "schedule/matrix.h"
#include "schedule/scratch.h"
#include "schedule/streamed_softmax.h"
#include "schedule/thread_memo.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::schedule {

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

bool readsPacked(const RegisterTile &tile) { return tile.lanes > 1 && tile.vectors > 1; }

BlockCycles &BlockCycles::operator+=(const BlockCycles &other) {
  busy += other.busy;
  alone += other.alone;
  scattered += other.scattered;
  return *this;
}

std::optional<BlockCycles> chooseThreads(LoopNest &nest, const Schedule &schedule,
                                         const machine::BlockCore &core, ThreadMemo &memo,
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

int64_t exchangeBytesOf(const LoopNest &nest, int threads, int subgroup) {
  return nest.matrix ? 0 : bytesOfJoin(nest.registers, threads, subgroup, joinBytesOf(nest));
}

/// Of all that a point may be, the parts of a concatenation for one, something is asked for before
/// it is known which it is.
static int registersOfAlternatives(const LoopNest &nest) {
  constexpr int bytesOfRegister = 4;
  if (nest.reduction)
    return 0;
  llvm::SmallVector<te::Expr> reads;
  bool chooses = false;
  for (const te::Expr &body : nest.bodies)
    body.walk([&](const te::Expr &e) {
      chooses |= e.kind() == te::ExprKind::Select;
      if (e.kind() == te::ExprKind::Read && !llvm::is_contained(reads, e))
        reads.push_back(e);
    });
  if (!chooses || reads.empty())
    return 0;
  const RegisterTile &tile = nest.registers;
  int points = int(tile.rows * tile.columns * tile.vectors);
  int bytes = int(bytesOfElement(reads.front().type()));
  return int(reads.size() - 1) * points * bytes / bytesOfRegister;
}

int registersOf(const Schedule &schedule) {
  int most = 0;
  const std::vector<LoopNest> &nests = schedule.nests;
  for (auto [number, nest] : llvm::enumerate(nests)) {
    most = std::max(most, nest.matrix ? registersOf(nest, schedule)
                                      : registersOf(nest.registers, nest.reduction.has_value()) +
                                            registersOfAlternatives(nest));
    if (nest.streamed)
      most = std::max(most, registersOfStream(nest, nests[number + 1], nests[number + 3]));
  }
  return most;
}

} // namespace kintsugi::schedule
