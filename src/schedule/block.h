//===- block.h - A tile as the work of a block of threads -------------------===//
//
// What the two ways in which a block computes a nest (threads.h, matrix.h) have in common: the
// choice between them, and the memory that they take together.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_BLOCK_H
#define KINTSUGI_SCHEDULE_BLOCK_H

#include "schedule/threads.h"

namespace kintsugi::schedule {

/// Orders a nest's iterators and sets its registers or its matrix tile, whichever takes fewer
/// cycles of a block of schedule.threads. `rounded`: see matrixProductOf. Rings may take what
/// scratch leaves of `scratchLimit` bytes. `ringLimit`: see ScheduleOptions.
BlockCycles chooseInBlock(LoopNest &nest, const Schedule &schedule,
                          std::optional<ElementType> rounded, int64_t scratchLimit,
                          int64_t ringLimit);

/// The rings of products stand behind all other scratch, one over the other: nests wait for each
/// other.
void placeRings(Schedule &schedule);

/// Whether scratch and what the schedule's threads exchange beside it are within the limits.
bool fitsInBlock(const Schedule &schedule, int64_t scratchLimit, int64_t ringLimit);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_BLOCK_H
