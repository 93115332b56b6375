//===- tiling.h - The nests of a tiling -------------------------------------===//
//
// What tiles of given sizes make of a group's members: the buffers that a tile has in memory and in
// scratch, and a nest for each member, or several where it chooses by place or by condition. Who
// searches compares tilings; how their nests use registers is chosen later.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_TILING_H
#define KINTSUGI_LOOPS_TILING_H

#include "loops/region.h"
#include "loops/schedule.h"

#include <string>

namespace kintsugi::loops {

/// What is tiled.
struct TiledMembers {
  const GroupValues &values;
  llvm::ArrayRef<Member> members;
  llvm::ArrayRef<te::ValueId> constants;  ///< Known when the kernel is compiled.
  llvm::ArrayRef<te::ValueId> packable;   ///< Copies that may be packed.
  llvm::ArrayRef<te::ValueId> transposed; ///< Copies that are read across their rows.
};

struct TilingOptions {
  bool scalar = false;   ///< No vectors: a member is one nest, whatever it chooses by.
  bool inBlocks = false; ///< A tile is the work of a block of threads.
  bool packing = true;   ///< Constants may be packed.
};

struct Tiling {
  Schedule schedule; ///< Its buffers and its space.
  std::vector<LoopNest> parts;
};

/// nullopt where there are no such tiles; `reason` then says why, unless some output would not be
/// stored whole.
std::optional<Tiling> tilingOf(const TiledMembers &what, const TilingOptions &options,
                               const TileSizes &sizes, std::string &reason);

/// Sets LoopNest::sharedDimensions of nests that only fill scratch, from what does not change with
/// the last tile dimensions.
void shareAmongTiles(Schedule &schedule);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_TILING_H
