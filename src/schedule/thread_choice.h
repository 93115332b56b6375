//===- thread_choice.h - Which registers a block's threads use --------------===//
//
// Compares the ways in which a nest may use a block of threads by the cycles that they take.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_THREAD_CHOICE_H
#define KINTSUGI_SCHEDULE_THREAD_CHOICE_H

#include "schedule/thread_work.h"
#include "schedule/threads.h"

namespace kintsugi::schedule {

struct ThreadTile {
  RegisterTile registers;
  BlockCycles cycles;
};

/// The one of the fewest cycles, or that which is wished for: they are infinite where it is none.
ThreadTile bestThreadTile(const ThreadWork &work, int threads, Wish wish = {});

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_THREAD_CHOICE_H
