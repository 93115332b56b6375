#include "search/streamed_softmax.h"

#include "cost/stream_cycles.h"
#include "loops/block_registers.h"
#include "loops/softmax_nests.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

constexpr int64_t unitRows = 16, chunk = 8;

class Streamed {
public:
  Streamed(llvm::MutableArrayRef<LoopNest> nests, const SoftmaxNests &found, Schedule &schedule,
           const BlockLimits &limits, Wish wish)
      : scores(nests[0]), stats(nests[1]), powers(nests[2]), weighted(nests[3]), schedule(schedule),
        limits(limits), wish(wish), scoresProduct(found.scores), weightedProduct(found.weighted),
        rows(scoresProduct.numRows), columns(scoresProduct.numColumns),
        uniform(found.uniformColumns), cycles(nests, found, schedule, limits) {}

  std::optional<BlockCycles> choose() {
    std::optional<BlockCycles> best;
    unsigned warps = schedule.threads / limits.core.subgroup;
    unsigned mostStages = isAlone() ? 6 : 3;
    for (unsigned across = 1; across <= warps; across *= 2)
      for (int64_t own : {32, 64, 128, 16})
        for (unsigned stages : {fewestStages, 3u, 4u, 6u}) {
          if (stages > mostStages)
            break;
          consider({warps / across, across, false}, own, stages, best);
          if (limits.ringBytes > 0 && warps / across % 4 == 0)
            consider({warps / across, across, true}, own, stages, best);
        }
    return best;
  }

  void mark(ChoiceMemo &memo) {
    for (unsigned buffer : {scoresBuffer(), powersBuffer()})
      schedule.buffers[buffer].standsIn = true;
    scores.streamed = true;
    for (LoopNest *nest : {&stats, &powers})
      chooseThreads(*nest, schedule, limits.core, memo);
  }

private:
  unsigned scoresBuffer() const { return scores.destinations[0]; }
  unsigned powersBuffer() const { return powers.destinations[0]; }

  static int64_t depthOf(int64_t terms) {
    for (int64_t depth : {64, 32})
      if (terms % depth == 0)
        return depth;
    return terms > 32 ? 64 : terms > 16 ? 32 : 16;
  }

  struct Warps {
    unsigned down, across;
    bool inFours;
  };

  /// `own`: columns of a block that a warp has.
  void consider(Warps warps, int64_t own, unsigned stages, std::optional<BlockCycles> &best) {
    auto [down, across, inFours] = warps;
    int64_t block = own * across, most = std::max<int64_t>(columns, 32);
    if (rows > unitRows * down || (down > 1 && unitRows * down >= 2 * rows) || block >= 2 * most)
      return;
    MatrixTile first, second;
    first.element = second.element = scoresProduct.element;
    first.columnsFactor = scoresProduct.columnsFactor;
    second.columnsFactor = weightedProduct.columnsFactor;
    first.inFours = second.inFours = inFours;
    first.down = second.down = down;
    first.across = second.warpsK = across;
    first.rows = second.rows = unitRows * down;
    first.columns = second.depth = block;
    first.depth = depthOf(scoresProduct.depth);
    second.columns = std::max<int64_t>(unitRows, llvm::PowerOf2Ceil(weightedProduct.numColumns));
    first.stages = second.stages = stages;
    int registers = registersOfStream(scores, stats, first, second);
    MatrixTile byWarps = first; // As other devices run it.
    byWarps.inFours = false;
    int mostOfAny = std::max(registers, registersOfStream(scores, stats, byWarps, second));
    constexpr int mostRegisters = 255;
    constexpr int64_t mostBlocks = 1024; // In a list.
    bool skips =
        uniform > 1 && uniform % own == 0 && columns % own == 0 && columns / own <= mostBlocks;
    auto isShared = [&](const MatrixTile &tile) {
      int64_t parts = skips ? across : 1; // Groups of warps have blocks of their own.
      return tile.columns * tile.depth % (chunk * schedule.threads * parts) == 0 &&
             tile.rows * tile.depth % (chunk * schedule.threads) == 0;
    };
    if (!isShared(first) || !isShared(second) || !fits(first, second, skips ? columns / own : 0) ||
        registers > mostRegisters || mostOfAny * schedule.threads > limits.core.registers ||
        !wish.allows(chosenOf(first)))
      return;
    BlockCycles found = cycles.of(first, second, skips);
    wish.tell(found.cost(), chosenOf(first));
    if (best && found.cost() >= best->cost() * 0.98)
      return;
    best = found;
    scores.matrix = first;
    weighted.matrix = second;
    scores.skipsBlocks = skips;
  }

  /// Whether no core has two blocks, so that one may take all of its memory.
  bool isAlone() const { return schedule.tiles() <= limits.cores; }

  /// Here, and elsewhere with as few stages as there can be.
  bool fits(MatrixTile first, const MatrixTile &second, int64_t listed) const {
    auto bytes = [&] {
      return streamBytes(first, second, scoresProduct.depth, listed, limits.core.subgroup);
    };
    bool isShort = bytes() <= limits.scratchBytes;
    if (!isShort && (!isAlone() || bytes() > limits.ringBytes))
      return false;
    first.stages = fewestStages;
    return isShort || bytes() <= limits.scratchBytes;
  }

  LoopNest &scores, &stats, &powers, &weighted;
  Schedule &schedule;
  const BlockLimits &limits;
  Wish wish;
  const MatrixProduct &scoresProduct, &weightedProduct;
  const int64_t rows, columns, uniform;
  const StreamCycles cycles;
};

} // namespace

std::optional<BlockCycles> streamSoftmax(llvm::MutableArrayRef<LoopNest> nests, Schedule &schedule,
                                         const BlockLimits &limits, ChoiceMemo &memo, Wish wish) {
  std::optional<SoftmaxNests> found = softmaxNestsOf(nests, schedule);
  if (!found)
    return std::nullopt;
  Streamed streamed(nests, *found, schedule, limits, wish);
  std::optional<BlockCycles> cycles = streamed.choose();
  if (cycles)
    streamed.mark(memo);
  return cycles;
}

} // namespace kintsugi::search
