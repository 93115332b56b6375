//===- threads.h - How a nest uses a block of threads -----------------------===//
//
// Where a machine's cores run blocks of threads, a tile is the work of one block: each nest's
// points are spread over the threads, a few of each in the registers of one, and where points are
// too few several threads share a sum. This chooses between those by the cycles that they take:
// instructions that a core issues, moves through its nearest memory, and the time that a thread
// waits.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_THREADS_H
#define KINTSUGI_SEARCH_THREADS_H

#include "cost/block_cycles.h"
#include "machine/machine.h"
#include "search/choices.h"

namespace kintsugi::search {

class ChoiceMemo;

/// Sets the registers of a nest, whose iterators are in order (orderForThreads), for a block of the
/// schedule's threads on a core. nullopt: what is wished for is no choice of the nest.
std::optional<cost::BlockCycles> chooseThreads(loops::LoopNest &nest,
                                               const loops::Schedule &schedule,
                                               const machine::BlockCore &core, ChoiceMemo &memo,
                                               Wish wish = {});

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_THREADS_H
