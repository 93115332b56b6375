//===- threads.h - How a nest uses a block of threads -----------------------===//
//
// Where a machine's cores run blocks of threads, a tile is the work of one block: each nest's
// points are spread over the threads, a few of each in the registers of one, and where points are
// too few several threads share a sum. This chooses between those by the cycles that they take:
// instructions that a core issues, moves through its nearest memory, and the time that a thread
// waits.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_THREADS_H
#define KINTSUGI_SCHEDULE_THREADS_H

#include "machine/machine.h"
#include "schedule/choices.h"

namespace kintsugi::schedule {

class ThreadMemo;

/// What a block takes for a nest, or for all of them.
struct BlockCycles {
  double busy = 0;      ///< Of a core's units: blocks of one core add up.
  double alone = 0;     ///< From start to end for a block that has a core to itself.
  double scattered = 0; ///< Bytes that lie in lines with those that warps ask memory for together.

  BlockCycles &operator+=(const BlockCycles &other);

  /// What is to be small where it is not known how many blocks a core has.
  double cost() const { return alone + 0.5 * busy + scattered / 100; }
};

/// Sets the registers of a nest, whose iterators are in order (orderForThreads), for a block of the
/// schedule's threads on a core. nullopt: what is wished for is no choice of the nest.
std::optional<BlockCycles> chooseThreads(LoopNest &nest, const Schedule &schedule,
                                         const machine::BlockCore &core, ThreadMemo &memo,
                                         Wish wish = {});

/// Whether threads that share a sum have several terms in a row each, side by side: then constants
/// lie in the order of the nest's iterators (packInOrder).
bool readsPacked(const RegisterTile &tile);

/// Of the memory beside scratch through which a block's threads join sums in a nest.
int64_t exchangeBytesOf(const LoopNest &nest, int threads, int subgroup);

/// That a thread of the schedule's blocks is thought to need at most.
int registersOf(const Schedule &schedule);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_THREADS_H
