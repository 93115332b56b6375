//===- walk_blocks.h - A masked region over the blocks that count -----------===//
//
// Rewrites a region so that its columns are walked block by block through a table:
//
//     column = column[j, b] * C + c,  row = j * R + r,  b < count[j]
//
// Reductions over columns keep the condition b < count[j]; the first partial[j] blocks have the
// mask applied, from a tile of it, and the others don't look at it. Loops then end where the table
// says (loops/bounds.h). What the program reads of rows afterwards is put back in order.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_WALK_BLOCKS_H
#define KINTSUGI_DERIVE_WALK_BLOCKS_H

#include "derive/block_mask.h"
#include "derive/masked_region.h"

namespace kintsugi::derive {

/// A region and the blocks of its mask.
struct BlockedRegion {
  const MaskedRegion *region;
  std::shared_ptr<const BlockMask> mask; ///< Equal masks are shared, and so are their tables.
};

struct WalkedProgram {
  te::Program program;
  /// For each region, the nodes that stand for it.
  std::vector<llvm::SmallVector<uint32_t>> nodes;
};

/// An equal program, by the rule of masked_region.h. A machine error where there is no memory for a
/// table.
Expected<WalkedProgram> walkBlocks(const te::Program &program,
                                   llvm::ArrayRef<BlockedRegion> regions);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_WALK_BLOCKS_H
