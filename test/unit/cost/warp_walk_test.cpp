//===- warp_walk_test.cpp - Where a warp's threads stand in a nest --------===//

#include "cost/warp_walk.h"
#include "loops/loop_order.h"
#include "loops/warp_moves.h"
#include "gtest/gtest.h"

using namespace kintsugi::cost;
using namespace kintsugi::loops;

TEST(WarpWalk, StandsAlongTheFirstIteratorFirst) {
  WarpWalk walk(32);
  walk.add(1, 2, 8);
  EXPECT_FALSE(walk.isFull());
  walk.add(0, 1, 100);
  EXPECT_TRUE(walk.isFull());
  EXPECT_EQ(walk.linesOf({64, 1}, 4), 4); // Eight along a line, four lines.
  EXPECT_EQ(walk.linesOf({1, 64}, 4), 8);
  EXPECT_EQ(walk.linesOf({0, 1}, 4), 1);
  EXPECT_EQ(walk.linesOf({32, 0}, 4), 4);
  EXPECT_EQ(walk.differing({64, 1}), 32);
  EXPECT_EQ(walk.differing({0, 1}), 8);
  EXPECT_EQ(walk.differing({0, 0.25}), 4); // Two points apart, every other is another element.
}

TEST(WarpWalk, CountsTurnsWhereItsThreadsStand) {
  KnownTurns known;
  for (int64_t inner : {1, 3, 6, 8, 32, 50})
    for (int64_t outer : {1, 2, 5, 64})
      for (int64_t step : {1, 4})
        for (int64_t stride : {1, 2, 33, 64})
          for (int64_t moved : {4, 16}) {
            WarpWalk walk(32);
            walk.add(1, step, inner);
            walk.add(0, 1, outer);
            llvm::SmallVector<int64_t> offsets;
            for (int64_t thread = 0; thread < 32; ++thread)
              offsets.push_back(4 *
                                (thread % inner * step * stride + thread / inner % outer * 100));
            for (int time = 0; time < 2; ++time)
              EXPECT_EQ(walk.turnsOf({100, stride}, 4, moved, known), bankTurns(offsets, moved))
                  << inner << " " << outer << " " << step << " " << stride << " " << moved;
          }
}

TEST(WarpWalk, SaysWhereItDoesNotKnow) {
  KnownTurns known;
  WarpWalk walk(32);
  walk.add(1, 1, 4);
  walk.add(0, 1, 1);
  EXPECT_TRUE(walk.turnsOf({irregular, 1}, 4, 4, known));
  EXPECT_FALSE(walk.turnsOf({1, irregular}, 4, 4, known));
}
