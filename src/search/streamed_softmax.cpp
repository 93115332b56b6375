#include "search/streamed_softmax.h"

#include "loops/block_registers.h"
#include "loops/factor_move.h"
#include "loops/softmax_nests.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

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
        uniform(found.uniformColumns), keysMove(moveOf(scores, scoresProduct)),
        valuesMove(moveOf(weighted, weightedProduct)) {}

  std::optional<BlockCycles> choose() {
    std::optional<BlockCycles> best;
    unsigned warps = schedule.threads / limits.core.subgroup;
    for (unsigned across = 1; across <= warps; across *= 2)
      for (int64_t own : {32, 64, 128})
        for (unsigned stages : {2, 3}) {
          consider({warps / across, across, false}, own, stages, best);
          if (limits.ringBytes > 0 && warps / across % 4 == 0)
            consider({warps / across, across, true}, own, stages, best);
        }
    return best;
  }

  void mark(ThreadMemo &memo) {
    for (unsigned buffer : {scoresBuffer(), powersBuffer()})
      schedule.buffers[buffer].standsIn = true;
    scores.streamed = true;
    for (LoopNest *nest : {&stats, &powers})
      chooseThreads(*nest, schedule, limits.core, memo);
  }

private:
  unsigned scoresBuffer() const { return scores.destinations[0]; }
  unsigned powersBuffer() const { return powers.destinations[0]; }

  /// Of what the columns' factor needs beyond a copy, the instructions of a thread for a chunk.
  double moveOf(const LoopNest &nest, const MatrixProduct &product) const {
    const Expr &factor = nest.bodies[0].operand(product.columnsFactor);
    FactorMove move = factorMoveOf(factor, nest, product.element, product.columns, schedule);
    return std::max(0.0, move.instructions - FactorMove::border);
  }

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
    int64_t bytes = streamBytes(first, second, scoresProduct.depth, skips ? columns / own : 0,
                                limits.core.subgroup);
    if (!isShared(first) || !isShared(second) || bytes > limits.scratchBytes ||
        registers > mostRegisters || mostOfAny * schedule.threads > limits.core.registers ||
        !wish.allows(chosenOf(first)))
      return;
    BlockCycles cycles = estimate(first, second, skips);
    wish.tell(cycles.cost(), chosenOf(first));
    if (best && cycles.cost() >= best->cost() * 0.98)
      return;
    best = cycles;
    scores.matrix = first;
    weighted.matrix = second;
    scores.skipsBlocks = skips;
  }

  /// Of the units, of what comes through scratch and from far, and of instructions, which a warp
  /// alone issues at a quarter of a scheduler's rate.
  BlockCycles estimate(const MatrixTile &first, const MatrixTile &second, bool skips) const {
    const machine::BlockCore &core = limits.core;
    const double multiplyAdds = core.matrixMultiplyAdds, scratchBytes = core.scratchBytesACycle;
    const double schedulers = core.schedulers, exponentials = core.exponentials;
    constexpr double farBytes = 35, barrier = 150, latency = 400, fromFar = 700, start = 1100;
    double block = double(first.columns), own = block / first.across;
    double terms = double(llvm::alignTo(scoresProduct.depth, first.depth));
    constexpr double shown = 0.5; // Of blocks, about: constants are not at hand here.
    double values = double(second.columns);
    double steps = std::ceil(double(columns) / block * (skips ? shown : 1));
    double brought = block * (terms + values) * 2, rows = double(first.rows);
    double onUnits = rows * block * (terms + values) / multiplyAdds;
    double moved = brought + first.down * brought + rows * terms * 2 * first.across;
    double ofWarp = unitRows * own / core.subgroup * (operationsOf(stats.bodies[0]) + 12) +
                    (terms + values) / 16 * (own / 8) * 1.5;
    if (first.inFours) { // See MatrixCycles: each reads 16 terms of 64 rows, but powers.
      double products = rows / 64 * first.across;
      onUnits = products * (terms / 16 * std::max(own / 2, (64 + own) / 4) + own / 16 * values / 2);
      moved = brought + products * (terms * (64 + own) + own * values) * 2;
      ofWarp = unitRows * own / core.subgroup * (operationsOf(stats.bodies[0]) + 8) + 60;
    }
    double staging = block * (terms * keysMove + values * valuesMove) / (chunk * schedule.threads);
    double issued = (ofWarp + staging) * first.down * first.across / schedulers;
    double powers = std::max(rows * block / exponentials, issued);
    // Four warps that multiply do nothing else meanwhile.
    double computing = first.inFours ? onUnits + powers : std::max(onUnits, powers);
    double busy = std::max({computing, moved / scratchBytes, brought / farBytes});
    double apart = first.inFours ? 2.1 : schedulers; // From one instruction of a warp to the next.
    double waits = std::max(latency + barrier + apart * ofWarp + staging,
                            (fromFar + brought / farBytes) / (first.stages - 1));
    BlockCycles cycles;
    cycles.busy = steps * busy;
    cycles.alone = steps * std::max(busy, waits) + fromFar + start;
    constexpr double waitForOther = 550; // Of warps that share rows, for what each has found.
    constexpr double waitForRows = 700;  // Of groups that go on by themselves.
    if (first.across > 1)
      cycles.alone += first.across * (values * 2 + waitForOther) + first.inFours * waitForRows;
    // Two such blocks on a core took half as long again as one, measured on an H200.
    constexpr double inTheWay = 0.75;
    if (!first.inFours && schedule.tiles() > limits.cores)
      cycles.busy = std::max(cycles.busy, inTheWay * cycles.alone);
    return cycles;
  }

  LoopNest &scores, &stats, &powers, &weighted;
  Schedule &schedule;
  const BlockLimits &limits;
  Wish wish;
  const MatrixProduct &scoresProduct, &weightedProduct;
  const int64_t rows, columns, uniform;
  const double keysMove, valuesMove;
};

} // namespace

std::optional<BlockCycles> streamSoftmax(llvm::MutableArrayRef<LoopNest> nests, Schedule &schedule,
                                         const BlockLimits &limits, ThreadMemo &memo, Wish wish) {
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
