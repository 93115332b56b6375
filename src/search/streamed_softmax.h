//===- streamed_softmax.h - How a block computes attention ------------------===//
//
// How much of attention in one loop (loops/streamed_softmax.h) a block has at once, by the cycles
// that it takes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_STREAMED_SOFTMAX_H
#define KINTSUGI_SEARCH_STREAMED_SOFTMAX_H

#include "loops/streamed_softmax.h"
#include "search/matrix.h"

namespace kintsugi::search {

/// Sets what the first four of `nests` need to run as one in blocks of schedule.threads, and marks
/// their buffers of scores and powers; nullopt where they are something else, or do not fit.
/// The limits are those of the block's scratch; ringBytes says no more than whether four warps
/// multiply together. A choice is the matrix tile of the first nest, from which the rest follows.
std::optional<cost::BlockCycles> streamSoftmax(llvm::MutableArrayRef<loops::LoopNest> nests,
                                               loops::Schedule &schedule,
                                               const loops::BlockLimits &limits, ChoiceMemo &memo,
                                               Wish wish = {});

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_STREAMED_SOFTMAX_H
