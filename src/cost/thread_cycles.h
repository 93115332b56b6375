//===- thread_cycles.h - The cycles of a block for a nest -------------------===//
//
// What a block of threads takes for a nest when each thread has the points of a register tile:
// instructions that a core issues, moves through its nearest memory, and the time that a thread
// waits.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_THREAD_CYCLES_H
#define KINTSUGI_COST_THREAD_CYCLES_H

#include "cost/block_cycles.h"
#include "cost/thread_work.h"
#include "cost/warp_walk.h"

namespace kintsugi::cost {

class ThreadCycles {
public:
  /// Of work that outlives this.
  ThreadCycles(const ThreadWork &work, int threads)
      : work(work), nest(work.nest), threads(threads), numParallel(work.numParallel),
        numIterators(work.numIterators), walk(work.core.subgroup) {}

  /// With a tile, if they cost less than `enough`.
  std::optional<BlockCycles> below(double enough, const loops::RegisterTile &tile);

private:
  using Walk = ThreadWork::Walk;
  using Access = ThreadWork::Access;
  using Read = ThreadWork::Read;

  struct Moves {
    double instructions = 0;
    double lines = 0;
    double bytes = 0; ///< Of a thread.
    double wait = 0;  ///< From asking to having.
  };
  /// What a block does besides moving.
  struct Arithmetic {
    double rounds, warps; ///< Of blocks of points, and in each of them.
    double steps = 1;
    double each;    ///< Of a step.
    double results; ///< Of a thread.
    double join = 0, joining = 0;
  };

  void countBlocks(const loops::RegisterTile &tile);
  /// How it moves with the iterators under a choice.
  static const Walk &walkOf(const Read &read, const loops::RegisterTile &tile);
  /// Lines or turns of banks for `inMove` elements of each thread of a warp, which lie so.
  double turnsOf(const Access &access, const Walk &its, double inMove) const;
  /// How many elements a thread has in one move, of so many in a row along an iterator.
  static double together(const Access &access, unsigned along, int64_t inRow);
  /// Of all reads in one step.
  Moves movesOf(llvm::ArrayRef<Read> reads, const loops::RegisterTile &tile) const;
  /// Elements that all threads ask for, one in each of their copies.
  double timesRead(llvm::ArrayRef<int64_t> strides, const loops::RegisterTile &tile,
                   double copies) const;
  /// How many threads want an element at the same time, and wait for it together.
  double sharedBy(llvm::ArrayRef<int64_t> strides, const loops::RegisterTile &tile) const;
  /// Whether steps of the innermost sum that are taken together read side by side.
  bool movesWithSteps(llvm::ArrayRef<int64_t> strides) const;
  double arithmeticOf(const loops::RegisterTile &tile) const;
  Arithmetic workOf(const loops::RegisterTile &tile) const;
  /// If moves took no time: each term is one of the estimate's, so that it is never more.
  BlockCycles leastCycles(const Arithmetic &block) const;
  /// All but what is scattered.
  BlockCycles estimate(const loops::RegisterTile &tile, const Arithmetic &block) const;
  double scatteredBytes(const loops::RegisterTile &tile) const;
  /// Of lines that a warp touches at once, what its threads do not want; each wants `most` bytes.
  double scatteredBytes(const Access &access, const Walk &its, double elements, int64_t most,
                        const loops::RegisterTile &tile) const;
  /// Results that a thread stores in one move.
  double elementsStored(const loops::RegisterTile &tile) const;
  double linesStored(const loops::RegisterTile &tile, double results) const;
  double stepsAtOnce(const loops::RegisterTile &tile) const;
  int64_t blocksAtOnce(const loops::RegisterTile &tile) const;
  static double halvesOf(const loops::RegisterTile &tile);
  double joinInstructions(const loops::RegisterTile &tile) const;
  /// Neighbours take turns by halves; rows of them meet in memory once, others once a half.
  double joinCycles(const loops::RegisterTile &tile) const;

  const ThreadWork &work;
  const loops::LoopNest &nest;
  const int threads;
  const unsigned numParallel, numIterators;
  llvm::SmallVector<double, 8> blocks; ///< Along each iterator, of the tile that is considered.
  WarpWalk walk;                       ///< Likewise.
  mutable KnownTurns knownTurns;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_THREAD_CYCLES_H
