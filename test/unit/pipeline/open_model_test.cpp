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

TEST(SmallerSizes, AreFew) {
  for (bool inBlocks : {false, true})
    EXPECT_LE(smallerSizes({"N", 1, 1024}, inBlocks).size(), inBlocks ? 12u : 24u);
}

} // namespace
} // namespace kintsugi::pipeline
