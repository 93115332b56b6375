//===- block_memory.h - Shared memory of a block of threads ----------------===//
//
// What of the memory that its threads share a block takes: scratch for what passes from nest to
// nest, behind it the rings of products, and what threads exchange to join sums.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_BLOCK_MEMORY_H
#define KINTSUGI_LOOPS_BLOCK_MEMORY_H

#include "loops/schedule.h"
#include "machine/machine.h"

namespace kintsugi::loops {

/// Of a ring: one is worked on while another is brought.
inline constexpr unsigned fewestStages = 2;

/// What a block has.
struct BlockLimits {
  int64_t scratchBytes = 0;
  int64_t ringBytes = 0;   ///< With rings, where four warps multiply together; 0: they can't.
  bool bulk = false;       ///< Whether those may have boxes brought.
  unsigned blocks = 1;     ///< That may share a product's sums,
  int cores = 1;           ///< on so many cores,
  machine::BlockCore core; ///< of this kind.
};

/// What of the limits is left for rings if no two of a schedule's buffers share any scratch.
BlockLimits leftForRings(const BlockLimits &limits, const Schedule &schedule);

/// The rings of products stand behind all other scratch, one over the other: nests wait for each
/// other. `subgroup`: threads of each.
void placeRings(Schedule &schedule, int subgroup);

/// What of shared memory the blocks of a launch take.
struct BlockMemory {
  int64_t scratch = 0;   ///< On the machine that was scheduled for,
  int64_t elsewhere = 0; ///< and where no four warps multiply together, whose rings are shorter.
  int64_t exchanged = 0; ///< By threads, beside either.
  bool hasRings = false;

  /// With another kernel's blocks in the same launch: each has what any of them takes.
  void add(const BlockMemory &other);
  bool isWithin(const BlockLimits &limits) const;
};

/// Where rings have their places; on a core whose subgroups have so many threads.
BlockMemory memoryOf(const Schedule &schedule, int subgroup);

/// Of the running values of one result.
int64_t joinBytesOf(const LoopNest &nest);

/// Threads that are not of one subgroup join what they have summed through memory.
int64_t bytesOfJoin(const RegisterTile &tile, int threads, int subgroup, int64_t bytesOfResult);

/// Of the memory beside scratch through which a block's threads join sums in a nest.
int64_t exchangeBytesOf(const LoopNest &nest, int threads, int subgroup);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_BLOCK_MEMORY_H
