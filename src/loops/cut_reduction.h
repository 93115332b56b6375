//===- cut_reduction.h - One loop of a reduction becomes two ----------------===//
//
// What a nest does between two slices of a long reduction (leave its running values for another
// block to take its turn, ask memory for a little of what comes next) needs a loop that has a body.
// The order of the reduction stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_CUT_REDUCTION_H
#define KINTSUGI_LOOPS_CUT_REDUCTION_H

#include "loops/schedule.h"

namespace kintsugi::loops {

/// Replaces a reduction iterator, counted from the outermost one, by two: slices, and the `slice`
/// points of each, which divide its extent.
void cutReduction(LoopNest &nest, unsigned iterator, int64_t slice, unsigned tileDimensions);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_CUT_REDUCTION_H
