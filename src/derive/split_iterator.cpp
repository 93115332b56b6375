#include "derive/split_iterator.h"

namespace kintsugi::derive {

using namespace te;

void splitIterator(Definition &definition, unsigned iterator, int64_t size) {
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < definition.numIterators(); ++k)
    replacements.push_back(Index::iterator(k < iterator ? k : k + 1));
  replacements[iterator] = Index::iterator(iterator) * size + Index::iterator(iterator + 1);
  for (Expr &body : definition.bodies)
    body = substitute(body, replacements);
  Iterator &place = definition.parallel[iterator];
  Iterator part{place.name + "p", Extent(place.extent.constant() / size)};
  place.extent = Extent(size);
  definition.parallel.insert(definition.parallel.begin() + iterator, std::move(part));
}

} // namespace kintsugi::derive
