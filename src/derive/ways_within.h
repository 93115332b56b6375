//===- ways_within.h - The quickest ways that a memory has room for ---------===//
//
// Several things may each be done in one of several ways, which take time and memory. Each gets its
// quickest; where all together take too much memory, those give way that save bytes at the least
// cost in time.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_WAYS_WITHIN_H
#define KINTSUGI_DERIVE_WAYS_WITHIN_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace kintsugi::derive {

struct Way {
  double seconds, bytes;
};

/// The number of the way that each thing, which has at least one, gets. Where no choice takes at
/// most `limit` bytes, the one of the fewest bytes.
std::vector<size_t> chooseWithin(llvm::ArrayRef<std::vector<Way>> things, double limit);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_WAYS_WITHIN_H
