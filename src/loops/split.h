//===- split.h - Iterators that are used digit by digit ---------------------===//
//
// A read at [i // 4, i % 4], as reshapes leave behind, is irregular in i but affine in the two
// digits of i. A nest may iterate over the digits instead.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_SPLIT_H
#define KINTSUGI_LOOPS_SPLIT_H

#include "loops/schedule.h"

namespace kintsugi::loops {

/// Replaces iterators by two of smaller extents where that turns divisions and remainders of a
/// whole iterator into plain terms. Origins of tiles are never split, nor is, `inVectors`, what
/// lanes are picked along.
void splitIterators(LoopNest &nest, llvm::ArrayRef<TileDimension> space, bool inVectors);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_SPLIT_H
