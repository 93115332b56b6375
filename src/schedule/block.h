//===- block.h - A tile as the work of a block of threads -------------------===//
//
// What the two ways in which a block computes a nest (threads.h, matrix.h) have in common: the
// choice between them, and the memory that they take together.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_BLOCK_H
#define KINTSUGI_SCHEDULE_BLOCK_H

#include "schedule/matrix.h"

namespace kintsugi::schedule {

/// Orders a nest's iterators and sets its registers or its matrix tile, whichever takes fewer
/// cycles of a block of schedule.threads. Rings may take what scratch leaves of the limits.
/// nullopt: what is wished for is no choice of the nest.
std::optional<BlockCycles> chooseInBlock(LoopNest &nest, const Schedule &schedule,
                                         const BlockLimits &limits, ThreadMemo &memo,
                                         Wish wish = {});

/// The rings of products stand behind all other scratch, one over the other: nests wait for each
/// other. `subgroup`: threads of each.
void placeRings(Schedule &schedule, int subgroup);

/// What of shared memory the blocks of a launch take.
struct BlockMemory {
  int64_t scratch = 0;   ///< On the machine that was scheduled for,
  int64_t elsewhere = 0; ///< and where no four warps multiply together, whose rings are shorter.
  int64_t exchanged = 0; ///< By threads, beside either.
  bool inFours = false;

  /// With another kernel's blocks in the same launch: each has what any of them takes.
  void add(const BlockMemory &other);
  bool isWithin(const BlockLimits &limits) const;
};

/// Where rings have their places; on a core whose subgroups have so many threads.
BlockMemory memoryOf(const Schedule &schedule, int subgroup);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_BLOCK_H
