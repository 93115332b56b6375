//===- parts.h - A nest that chooses by place, as a nest for each side ------===//
//
// A concatenation takes its elements from one tensor up to some place and from another past it, and
// a padded row has a border at either end. Nests that are each over their own side have no choice
// to make: they read whole vectors, and what they read is one run.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_PARTS_H
#define KINTSUGI_LOOPS_PARTS_H

#include "loops/schedule.h"

namespace kintsugi::loops {

/// The nest, or its parts: it has no reduction, and its bodies compare one of its iterators with
/// constants.
llvm::SmallVector<LoopNest, 2> splitAtPlaces(LoopNest nest, llvm::ArrayRef<TileDimension> space);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_PARTS_H
