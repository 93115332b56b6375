//===- block.h - A tile as the work of a block of threads -------------------===//
//
// What the two ways in which a block computes a nest (threads.h, matrix.h) have in common: the
// choice between them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_BLOCK_H
#define KINTSUGI_SEARCH_BLOCK_H

#include "search/matrix.h"

namespace kintsugi::search {

/// Orders a nest's iterators and sets its registers or its matrix tile, whichever takes fewer
/// cycles of a block of schedule.threads. Rings may take what scratch leaves of the limits.
/// nullopt: what is wished for is no choice of the nest.
std::optional<cost::BlockCycles> chooseInBlock(loops::LoopNest &nest,
                                               const loops::Schedule &schedule,
                                               const loops::BlockLimits &limits, ChoiceMemo &memo,
                                               Wish wish = {});

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_BLOCK_H
