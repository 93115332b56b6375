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
/// other.
void placeRings(Schedule &schedule);

/// Whether scratch and what the schedule's threads exchange beside it are within the limits.
bool fitsInBlock(const Schedule &schedule, const BlockLimits &limits);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_BLOCK_H
