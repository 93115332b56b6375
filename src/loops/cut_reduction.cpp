#include "loops/cut_reduction.h"

#include "loops/visit.h"

namespace kintsugi::loops {

using namespace te;

void cutReduction(LoopNest &nest, unsigned iterator, int64_t slice, unsigned tileDimensions) {
  assert(nest.reduction->iterators[iterator].extent.constant() % slice == 0 && "slices are whole");
  unsigned cut = nest.parallel.size() + iterator;
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < nest.originIterator(tileDimensions); ++k)
    replacements.push_back(Index::iterator(k > cut ? k + 1 : k));
  replacements[cut] = Index::iterator(cut) * slice + Index::iterator(cut + 1);
  auto &iterators = nest.reduction->iterators;
  Iterator lower = iterators[iterator];
  iterators[iterator].extent = Extent(lower.extent.constant() / slice);
  lower.extent = Extent(slice);
  lower.name += ".slice";
  iterators.insert(iterators.begin() + iterator + 1, lower);
  replaceIterators(nest, replacements);
}

} // namespace kintsugi::loops
