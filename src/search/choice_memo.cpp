#include "search/thread_memo.h"

namespace kintsugi::search {

using namespace cost;
using namespace loops;

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

} // namespace kintsugi::search
