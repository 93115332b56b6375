// How masks are cut into blocks.

#include "derive/block_mask.h"

#include <gtest/gtest.h>

namespace kintsugi::derive {
namespace {

/// '.' is open, '#' hidden, 'b' neither: something is added.
Mask maskOf(const std::vector<std::string> &lines) {
  Mask mask;
  mask.rows = lines.size();
  mask.columns = lines[0].size();
  for (const std::string &line : lines)
    for (char c : line) {
      mask.values.push_back(c == '.' ? 0 : c == 'b' ? 0.5 : -1e38);
      mask.hidden.push_back(c == '#');
      mask.open.push_back(c == '.');
    }
  mask.counts.assign(mask.rows, false);
  return mask;
}

TEST(BlockMask, CausalBlocksAreHiddenPartialOrOpen) {
  BlockMask blocks = cutIntoBlocks(maskOf({".###", "..##", "...#", "...."}), 2, 2);
  EXPECT_EQ(blocks.hiddenBlocks, 1);
  EXPECT_EQ(blocks.partialBlocks, 2);
  EXPECT_EQ(blocks.openBlocks, 1);
  EXPECT_EQ(blocks.width, 2);
  EXPECT_EQ(blocks.count, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(blocks.partial, (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(blocks.column, (std::vector<int32_t>{0, 0, 1, 0})) << "partial blocks come first";
  EXPECT_EQ(blocks.tiles.size(), 1u) << "equal tiles are stored once";
  EXPECT_DOUBLE_EQ(blocks.share(), 0.75);
}

TEST(BlockMask, WhatIsAddedIsNoHiding) {
  BlockMask blocks = cutIntoBlocks(maskOf({"bb##", "bb##"}), 2, 2);
  EXPECT_EQ(blocks.hiddenBlocks, 1);
  EXPECT_EQ(blocks.partialBlocks, 1);
  EXPECT_EQ(blocks.tiles[0], (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
}

TEST(BlockMask, ARowBlockKeepsABlockEvenIfAllOfItIsHidden) {
  BlockMask blocks = cutIntoBlocks(maskOf({"####", "####", "....", "...."}), 2, 2);
  EXPECT_EQ(blocks.count, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(blocks.partial, (std::vector<int32_t>{1, 0}));
}

TEST(BlockMask, ARowOfLowestNumbersKeepsAllItsBlocks) {
  Mask mask = maskOf({"####", "..##"});
  mask.counts[0] = true;
  BlockMask blocks = cutIntoBlocks(mask, 2, 1);
  EXPECT_EQ(blocks.hiddenBlocks, 0);
  EXPECT_EQ(blocks.count, (std::vector<int32_t>{4}));
  EXPECT_EQ(cutIntoBlocks(mask, 1, 1).hiddenBlocks, 2);
}

} // namespace
} // namespace kintsugi::derive
