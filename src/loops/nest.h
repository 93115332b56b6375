//===- nest.h - A member restricted to a tile, over flat buffers ------------===//
//
// The second half of scheduling: from indices of whole tensors to positions in memory and scratch
// buffers, adjacent iterators joined where every position allows it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_NEST_H
#define KINTSUGI_LOOPS_NEST_H

#include "loops/region.h"

namespace kintsugi::loops {

/// Where a value lies for one kernel.
struct Placement {
  unsigned buffer;
  Home home;
  Box box;           ///< Scratch: the part of the value that the buffer holds.
  int64_t pitch = 0; ///< Scratch: from one of its rows to the next, if more than they have.
};

using PlacementOf = llvm::function_ref<const Placement &(te::ValueId)>;

/// The nest of `member` over `box`.
LoopNest makeNest(const GroupValues &values, const Member &member, const Box &box,
                  llvm::ArrayRef<TileDimension> space, PlacementOf placementOf);

/// Joins neighbouring iterators that every index treats as one, and drops those of extent 1.
void collapseIterators(LoopNest &nest, unsigned tileDimensions);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_NEST_H
