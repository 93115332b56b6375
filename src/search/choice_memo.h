//===- thread_memo.h - Choices of threads made before -----------------------===//
//
// Groups that have definitions in common, and tilings of one group, have most of their nests in
// common. What threads do best with one follows from its work and their number, so that it is
// chosen once. For several threads.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_THREAD_MEMO_H
#define KINTSUGI_SEARCH_THREAD_MEMO_H

#include "search/thread_choice.h"

#include <mutex>
#include <unordered_map>

namespace kintsugi::search {

class ThreadMemo {
public:
  /// bestThreadTile(work, threads).
  ThreadTile at(const cost::ThreadWork &work, int threads);

private:
  std::mutex mutex; ///< Of what is known.
  std::unordered_map<Hash128, ThreadTile> known;
};

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_THREAD_MEMO_H
