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

/// The one of the fewest cycles.
ThreadTile bestThreadTile(const ThreadWork &work, int threads);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_THREAD_CHOICE_H
