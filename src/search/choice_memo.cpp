#include "search/choice_memo.h"

namespace kintsugi::search {

using namespace cost;

/// Threads that ask for one key at the same time choose alike.
template <typename Choice>
static Choice lookUp(std::mutex &mutex, std::unordered_map<Hash128, Choice> &known, Hash128 key,
                     llvm::function_ref<Choice()> choose) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  Choice choice = choose();
  std::lock_guard<std::mutex> lock(mutex);
  known.try_emplace(key, choice);
  return choice;
}

ThreadTile ChoiceMemo::at(const ThreadWork &work, int threads) {
  return lookUp<ThreadTile>(mutex, ofThreads, work.hash(threads),
                            [&] { return bestThreadTile(work, threads); });
}

RegisterChoice ChoiceMemo::at(Hash128 key, llvm::function_ref<RegisterChoice()> choose) {
  return lookUp<RegisterChoice>(mutex, ofRegisters, key, choose);
}

} // namespace kintsugi::search
