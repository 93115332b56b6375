//===- scratch.h - Where the buffers of a kernel lie in scratch memory ------===//
//
// Buffers whose contents are never needed at the same time share memory, so that what a tile works
// on stays in a near cache. What tiles share lives on from one to the next.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_SCRATCH_H
#define KINTSUGI_LOOPS_SCRATCH_H

#include "loops/schedule.h"

namespace kintsugi::loops {

/// Sets the offsets of scratch buffers (multiples of 64) and schedule.scratchBytes, but for those
/// that stand in for registers.
void assignScratch(Schedule &schedule);

/// Sets those of the buffers that stand in for registers, behind all others, and
/// schedule.standInBytes.
void placeStandIns(Schedule &schedule);

/// Bytes of an element in memory or scratch.
int64_t bytesOfElement(ElementType type);

/// The buffers that a nest reads, each once.
llvm::SmallVector<unsigned> buffersRead(const LoopNest &nest);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_SCRATCH_H
