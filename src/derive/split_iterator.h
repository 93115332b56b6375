//===- split_iterator.h - An iterator as the part and the place in it -------===//
#ifndef KINTSUGI_DERIVE_SPLIT_ITERATOR_H
#define KINTSUGI_DERIVE_SPLIT_ITERATOR_H

#include "te/program.h"

namespace kintsugi::derive {

/// Makes two of a parallel iterator, whose extent is a multiple of `size`: the part, and behind it
/// the place in a part of that size. Bodies read what they read before; whoever reads the results
/// has to follow.
void splitIterator(te::Definition &definition, unsigned iterator, int64_t size);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SPLIT_ITERATOR_H
