//===- thread_choice.h - Which registers a block's threads use --------------===//
//
// Compares the ways in which a nest may use a block of threads by the cycles that they take.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_THREAD_CHOICE_H
#define KINTSUGI_SEARCH_THREAD_CHOICE_H

#include "cost/thread_work.h"
#include "search/threads.h"

namespace kintsugi::search {

struct ThreadTile {
  loops::RegisterTile registers;
  cost::BlockCycles cycles;
};

/// The one of the fewest cycles, or that which is wished for: they are infinite where it is none.
ThreadTile bestThreadTile(const cost::ThreadWork &work, int threads, Wish wish = {});

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_THREAD_CHOICE_H
