// The sizes of an open dimension are parted for plans of their own.

#include "pipeline/open_model.h"

#include "llvm/ADT/ArrayRef.h"

#include <gtest/gtest.h>

namespace kintsugi::pipeline {
namespace {

TEST(SmallerSizes, FollowEachOtherAndEndWithTheGreatest) {
  for (bool inBlocks : {false, true})
    for (int64_t low : {1, 2, 7, 385})
      for (int64_t above : {1, 2, 3, 15, 16, 127, 511}) {
        int64_t next = low, high = low + above;
        std::vector<OpenDimension> parts = smallerSizes({"N", low, high}, inBlocks);
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

TEST(SmallerSizes, AreNoneOfOneSize) { EXPECT_TRUE(smallerSizes({"N", 5, 5}, false).empty()); }

TEST(SmallerSizes, AreEachOfAShortRangeOnAProcessor) {
  std::vector<OpenDimension> parts = smallerSizes({"N", 1, 16}, false);
  EXPECT_EQ(parts.size(), 16u);
  for (const OpenDimension &part : parts)
    EXPECT_EQ(part.low, part.high);
}

TEST(SmallerSizes, AreFew) {
  for (bool inBlocks : {false, true})
    EXPECT_LE(smallerSizes({"N", 1, 1024}, inBlocks).size(), inBlocks ? 12u : 24u);
}

TEST(OrderOfPlanning, HasTheGreatestAndTheLeastAsLandmarksFirst) {
  for (auto [high, landmarks] : {std::pair{2, 2}, {16, 3}, {512, 5}}) {
    std::vector<OpenDimension> parts = smallerSizes({"N", 1, high}, false);
    std::vector<SizesToPlan> order = inOrderOfPlanning(parts);
    ASSERT_EQ(order.size(), parts.size());
    EXPECT_EQ(order.front().sizes.low, high);
    unsigned first = 0;
    while (first < order.size() && order[first].isLandmark)
      ++first;
    EXPECT_EQ(first, unsigned(landmarks)) << high;
    EXPECT_EQ(order[first - 1].sizes.low, 1);
    for (const SizesToPlan &other : llvm::ArrayRef(order).drop_front(first))
      EXPECT_FALSE(other.isLandmark);
  }
}

} // namespace
} // namespace kintsugi::pipeline
