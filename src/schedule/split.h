//===- split.h - Iterators that are used digit by digit ---------------------===//
//
// A read at [i // 4, i % 4], as reshapes leave behind, is irregular in i but affine in the two
// digits of i. A nest may iterate over the digits instead.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_SPLIT_H
#define KINTSUGI_SCHEDULE_SPLIT_H

#include "schedule/schedule.h"

namespace kintsugi::schedule {

/// Replaces iterators by two of smaller extents where that turns divisions and remainders of a
/// whole iterator into plain terms. Origins of tiles are never split.
void splitIterators(LoopNest &nest, llvm::ArrayRef<TileDimension> space);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_SPLIT_H
