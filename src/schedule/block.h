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
/// scratch leaves of `scratchLimit` bytes. `inFours`: see chooseMatrix.
BlockCycles chooseInBlock(LoopNest &nest, const Schedule &schedule,
                          std::optional<ElementType> rounded, int64_t scratchLimit, bool inFours);

/// The rings of products stand behind all other scratch, one over the other: nests wait for each
/// other.
void placeRings(Schedule &schedule);

/// Scratch, and what the schedule's threads exchange beside it.
int64_t bytesOfBlock(const Schedule &schedule);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_BLOCK_H
