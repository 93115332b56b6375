//===- footprint.h - How much of a buffer a read touches --------------------===//
#ifndef KINTSUGI_LOOPS_FOOTPRINT_H
#define KINTSUGI_LOOPS_FOOTPRINT_H

#include "te/index.h"

namespace kintsugi::loops {

/// About how many positions `index` takes while iterator k runs over extents[k] points; windows
/// that overlap, as a convolution's, count what they share once.
double positionsOf(const te::Index &index, llvm::ArrayRef<int64_t> extents);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_FOOTPRINT_H
