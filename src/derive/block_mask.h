//===- block_mask.h - A mask cut into blocks --------------------------------===//
//
// What a constant mask says of each block of rows and columns: all of it hidden, all of it open, or
// a part of each. Blocks that are hidden are left out of the tables; equal parts are stored once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_BLOCK_MASK_H
#define KINTSUGI_DERIVE_BLOCK_MASK_H

#include <cstdint>
#include <vector>

namespace kintsugi::derive {

/// A mask element by element, row-major.
struct Mask {
  int64_t rows = 0, columns = 0;
  bool isAdded = true; ///< To the score; otherwise it chooses.
  /// What stands in the expression: what is added to a score, or 1 and 0 for seen and not.
  std::vector<double> values;
  /// By element: it adds nothing to what its row sums up.
  std::vector<bool> hidden;
  /// By element: the score stands as it is.
  std::vector<bool> open;
  /// By row: although hidden as a whole, its elements count (all the same lowest number: they then
  /// have equal weights).
  std::vector<bool> counts;

  int64_t at(int64_t row, int64_t column) const { return row * columns + column; }
};

/// The blocks that have to be computed.
struct BlockMask {
  int64_t rowSize = 0, columnSize = 0;
  int64_t rowBlocks = 0, width = 0;    ///< Extents of the tables: all row blocks, most columns'.
  std::vector<int32_t> count, partial; ///< By row block; the partial ones come first.
  std::vector<int32_t> column;         ///< [rowBlocks, width]: which block of columns.
  std::vector<int32_t> tile;           ///< [rowBlocks, width]: which of the tiles, where partial.
  std::vector<std::vector<double>> tiles; ///< Different contents of partial blocks, row-major.
  int64_t hiddenBlocks = 0, partialBlocks = 0, openBlocks = 0;

  /// Of all blocks, the share that is computed.
  double share() const;
};

/// `rowSize` and `columnSize` divide the mask's sizes.
BlockMask cutIntoBlocks(const Mask &mask, int64_t rowSize, int64_t columnSize);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_BLOCK_MASK_H
