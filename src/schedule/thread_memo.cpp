#include "schedule/thread_memo.h"

namespace kintsugi::schedule {

ThreadTile ThreadMemo::at(const ThreadWork &work, int threads) {
  Hash128 key = work.hash(threads);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  ThreadTile tile = bestThreadTile(work, threads);
  std::lock_guard<std::mutex> lock(mutex);
  known.try_emplace(key, tile);
  return tile;
}

} // namespace kintsugi::schedule
