// The sizes of an open dimension are parted for plans of their own.

#include "pipeline/open_model.h"

#include "llvm/ADT/ArrayRef.h"

#include <gtest/gtest.h>

namespace kintsugi::pipeline {
namespace {

/// Of one open dimension.
std::vector<OpenDimension> partsOf(const OpenDimension &open, bool inBlocks) {
  std::vector<OpenDimension> parts;
  for (const SizeRanges &part : smallerSizes({open}, inBlocks)) {
    EXPECT_EQ(part.size(), 1u);
    parts.push_back(part[0]);
  }
  return parts;
}

TEST(SmallerSizes, FollowEachOtherAndEndWithTheGreatest) {
  for (bool inBlocks : {false, true})
    for (int64_t low : {1, 2, 7, 385})
      for (int64_t above : {1, 2, 3, 15, 16, 127, 511}) {
        int64_t next = low, high = low + above;
        std::vector<OpenDimension> parts = partsOf({"N", low, high}, inBlocks);
        for (const OpenDimension &part : llvm::ArrayRef(parts).drop_back()) {
          EXPECT_EQ(part.name, "N");
          EXPECT_EQ(part.low, next);
          EXPECT_LE(part.low, part.high);
          next = part.high + 1;
        }
        EXPECT_LE(next, high);
        EXPECT_EQ(parts.back().low, high);
        EXPECT_EQ(parts.back().high, high);
      }
}

TEST(SmallerSizes, AreNoneOfOneSize) { EXPECT_TRUE(partsOf({"N", 5, 5}, false).empty()); }

TEST(SmallerSizes, AreEachOfAShortRangeOnAProcessor) {
  std::vector<OpenDimension> parts = partsOf({"N", 1, 16}, false);
  EXPECT_EQ(parts.size(), 16u);
  for (const OpenDimension &part : parts)
    EXPECT_EQ(part.low, part.high);
}

TEST(SmallerSizes, AreFew) {
  for (bool inBlocks : {false, true})
    EXPECT_LE(partsOf({"N", 1, 1024}, inBlocks).size(), inBlocks ? 12u : 24u);
}

TEST(SmallerSizes, OfTwoAreEachPairOnce) {
  for (bool inBlocks : {false, true})
    for (int64_t batches : {2, 4, 16, 64}) {
      const SizeRanges all = {{"B", 1, batches}, {"S", 3, 512}};
      std::vector<SizeRanges> parts = smallerSizes(all, inBlocks);
      EXPECT_LE(parts.size(), inBlocks ? 20u : 48u);
      EXPECT_EQ(nameOf(parts.back()), std::to_string(batches) + "x512");
      auto takes = [](const SizeRanges &part, int64_t batch, int64_t length) {
        return part[0].takes(batch) && part[1].takes(length);
      };
      unsigned left = 0;
      for (int64_t batch = 1; batch <= batches; ++batch)
        for (int64_t length = 3; length <= 512; ++length) {
          bool isGreatest = batch == batches && length == 512;
          unsigned count = 0;
          for (const SizeRanges &part : parts)
            count += takes(part, batch, length);
          EXPECT_LE(count, 1u) << batch << " " << length;
          left += count == 0;
          EXPECT_TRUE(!isGreatest || count == 1);
        }
      EXPECT_LT(left, batches * 510 / 3); // Of the plan for all sizes.
    }
}

TEST(OrderOfPlanning, HasTheGreatestAndTheLeastAsLandmarksFirst) {
  for (auto [high, landmarks] : {std::pair{2, 2}, {16, 3}, {512, 5}}) {
    std::vector<SizeRanges> parts = smallerSizes({{"N", 1, high}}, false);
    std::vector<SizesToPlan> order = inOrderOfPlanning(parts);
    ASSERT_EQ(order.size(), parts.size());
    EXPECT_EQ(order.front().sizes[0].low, high);
    unsigned first = 0;
    while (first < order.size() && order[first].isLandmark)
      ++first;
    EXPECT_EQ(first, unsigned(landmarks)) << high;
    EXPECT_EQ(order[first - 1].sizes[0].low, 1);
    for (const SizesToPlan &other : llvm::ArrayRef(order).drop_front(first))
      EXPECT_FALSE(other.isLandmark);
  }
}

} // namespace
} // namespace kintsugi::pipeline
