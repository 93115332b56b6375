//===- loop_order.h - In which order a nest's loops stand -------------------===//
//
// Once a nest's registers are chosen: unrolled iterators innermost, the others so that operands are
// brought from far as seldom as possible, and of a reduction the iterator innermost that moves
// least.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_LOOP_ORDER_H
#define KINTSUGI_LOOPS_LOOP_ORDER_H

#include "loops/schedule.h"

namespace kintsugi::loops {

constexpr int64_t irregular = INT64_MAX;

/// How a flat position moves with an iterator: a constant stride, or irregularly.
int64_t strideOf(const te::Index &position, unsigned iterator);

/// The iterator that moves farthest in what can't be packed comes first. Which of several greatest
/// keys is found first depends on the order, so the arg forms keep theirs.
llvm::SmallVector<unsigned> reductionOrder(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers);

/// Whether an arg form's payload grows from each point of the reduction to the next, in the order
/// of its iterators (1), or falls (-1); then it says which of two points came first. 0: neither.
int payloadOrder(const LoopNest &nest);

/// Puts the iterators in the order that nest.registers and `nearBytes`, of the cache that a core
/// has to itself, ask for.
void orderLoops(LoopNest &nest, unsigned tileDimensions, llvm::ArrayRef<Buffer> buffers,
                int64_t nearBytes);

/// Of the reduction's iterators, by number among them.
void moveReductionInnermost(LoopNest &nest, unsigned reduction, unsigned tileDimensions);

/// How often the parallel loops, in the order that they have, bring what `position` reads in all:
/// a loop that does not move it brings it again, unless all loops inside of it don't either.
double timesBrought(const LoopNest &nest, const te::Index &position);

/// The order for a block of threads, before registers are chosen: neighbours along the last
/// parallel iterator store side by side.
void orderForThreads(LoopNest &nest, unsigned tileDimensions, llvm::ArrayRef<Buffer> buffers);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_LOOP_ORDER_H
