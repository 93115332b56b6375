//===- region.h - What part of each member one tile needs -------------------===//
//
// Bounds inference: given the tiles of the last member, the box of every other member that a tile
// reads, as an origin that moves with the tile and constant extents. Boxes of neighbouring tiles
// may overlap (the halo of a convolution); what is in the overlap is computed again.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_REGION_H
#define KINTSUGI_LOOPS_REGION_H

#include "loops/fuse.h"
#include "loops/group_values.h"

namespace kintsugi::loops {

/// One dimension of a box: [origin, origin + extent). The origin speaks of tile dimensions by
/// number (iterator d is the origin of the tile in dimension d). It is any quasi-affine index of
/// them: parts of unlike lengths begin at quotients.
struct Side {
  te::Index origin;
  int64_t extent;
};
using Box = llvm::SmallVector<Side, 4>;

/// A tiling of the last member's parallel iterators: for each, the tile size (its extent: not cut).
using TileSizes = llvm::SmallVector<int64_t, 4>;

/// The tile space of a tiling: only the iterators that are cut, in order.
llvm::SmallVector<TileDimension> tileSpace(const Member &root, const TileSizes &sizes);

/// For each member the box of its parallel iterators that a tile computes. nullopt if an output
/// other than the last would not be stored completely, or not by each tile its own part.
std::optional<llvm::SmallVector<Box>>
inferBoxes(const GroupValues &values, llvm::ArrayRef<Member> members, const TileSizes &sizes);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_REGION_H
