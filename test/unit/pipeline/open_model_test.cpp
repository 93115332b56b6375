// The sizes of an open dimension are parted for plans of their own.

#include "pipeline/open_model.h"

#include <gtest/gtest.h>

namespace kintsugi::pipeline {
namespace {

TEST(SmallerSizes, CoverAllButTheGreatest) {
  for (bool inBlocks : {false, true})
    for (int64_t low : {1, 2, 7, 385})
      for (int64_t above : {0, 1, 2, 3, 15, 16, 127, 511}) {
        int64_t next = low;
        for (const OpenDimension &part : smallerSizes({"N", low, low + above}, inBlocks)) {
          EXPECT_EQ(part.name, "N");
          EXPECT_EQ(part.low, next);
          EXPECT_LE(part.low, part.high);
          next = part.high + 1;
        }
        EXPECT_EQ(next, low + above) << "the greatest is left, which has the plan of all";
      }
}

TEST(SmallerSizes, AreFew) {
  for (bool inBlocks : {false, true})
    EXPECT_LE(smallerSizes({"N", 1, 1024}, inBlocks).size(), 12u);
}

} // namespace
} // namespace kintsugi::pipeline
