//===- choice_memo.h - Choices of registers and threads made before ---------===//
//
// Groups that have definitions in common, and tilings of one group, have most of their nests in
// common. What registers or threads do best with one follows from its work, so that it is chosen
// once. For several threads.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_CHOICE_MEMO_H
#define KINTSUGI_SEARCH_CHOICE_MEMO_H

#include "base/hash.h"
#include "search/thread_choice.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <mutex>
#include <unordered_map>

namespace kintsugi::search {

/// A nest's registers on one core, and the cycles that one run over all of its points takes with
/// them in one pass.
struct RegisterChoice {
  loops::RegisterTile tile;
  double cycles = 0;
};

class ChoiceMemo {
public:
  /// bestThreadTile(work, threads).
  ThreadTile at(const cost::ThreadWork &work, int threads);

  /// choose(), which follows from what `key` is a hash of.
  RegisterChoice at(Hash128 key, llvm::function_ref<RegisterChoice()> choose);

private:
  std::mutex mutex; ///< Of what is known.
  std::unordered_map<Hash128, ThreadTile> ofThreads;
  std::unordered_map<Hash128, RegisterChoice> ofRegisters;
};

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_CHOICE_MEMO_H
