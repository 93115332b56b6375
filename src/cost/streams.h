//===- streams.h - What moves past the caches, and what is asked for ahead ---===//
//
// A buffer larger than the last cache is met once: nothing of it is there from before, and nothing
// that is stored to it stays for whoever comes next. Stores to it bypass the caches, since a line
// is otherwise read before it is written; loads from it are asked for some way ahead, so that
// memory works while a tile's later nests compute (IntelliGen, moves with a pipeline depth). Of
// constants, which are not near when a kernel starts, the next panel is asked for while blocks
// compute with one over and over.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_STREAMS_H
#define KINTSUGI_COST_STREAMS_H

#include "loops/schedule.h"
#include "machine/machine.h"

namespace kintsugi::cost {

/// What the last caches hold together; without caches all bytes.
double cachedBytes(const machine::Machine &machine);

/// Bytes that cover the latency of memory at its bandwidth.
constexpr double bytesUnderWay = 4096;

/// Whether memory alone holds so many bytes.
bool isBeyondCaches(double bytes, const machine::Machine &machine);

/// Sets LoopNest::ahead and LoopNest::pastCaches of a schedule that is otherwise complete.
/// `constants`: of the values that it reads.
void chooseStreams(loops::Schedule &schedule, llvm::ArrayRef<te::ValueId> constants,
                   const machine::Machine &machine);

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_STREAMS_H
