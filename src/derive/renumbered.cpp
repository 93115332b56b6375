#include "derive/renumbered.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

Renumbered::Renumbered(const Definition &definition, llvm::function_ref<bool(unsigned)> isUsed)
    : numbers(definition.numIterators(), Index(0)) {
  unsigned numParallel = definition.parallel.size();
  for (unsigned k = 0; k < definition.numIterators(); ++k) {
    if (!isUsed(k))
      continue;
    numbers[k] = Index::iterator(iterators.size());
    old.push_back(Index::iterator(k));
    const Iterator &its =
        k < numParallel ? definition.parallel[k] : definition.reduction->iterators[k - numParallel];
    iterators.push_back({"i" + std::to_string(iterators.size()), its.extent});
  }
}

} // namespace kintsugi::derive
