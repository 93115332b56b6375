// The walk over sizes of tiles, with prices that are made up.

#include "search/tile_search.h"

#include "gtest/gtest.h"

#include <cmath>
#include <set>

namespace kintsugi::search {
namespace {

using loops::TileSizes;

/// A member of 64 x 64 points whose tiles cost the less, the nearer they are to 8 x 16.
class TileSearchTest : public testing::Test {
protected:
  TileSearchTest() {
    members.emplace_back();
    members[0].parallel = {{"i", 64}, {"j", 64}};
    options.machine.cores = 2;
    options.machine.vectorBits = 0;
    options.machine.threads = 0;
  }

  std::optional<Trial> run(double seconds) {
    auto attempt = [&](const TileSizes &sizes, double most) -> std::optional<Trial> {
      Trial trial;
      trial.schedule.nests.emplace_back();
      trial.point.sizes = sizes;
      trial.computeSeconds = seconds * (1 + slope * std::abs(std::log2(double(sizes[0]) / 8)) +
                                        slope * std::abs(std::log2(double(sizes[1]) / 16)));
      tried.emplace_back(sizes.begin(), sizes.end());
      least = std::min(least, trial.computeSeconds);
      if (stops && trial.computeSeconds >= most) {
        ++stopped;
        return std::nullopt;
      }
      return trial;
    };
    return TileSearch(options, members, copies, isOpen, attempt).run(worthCutting);
  }

  ScheduleOptions options;
  std::vector<loops::Member> members;
  std::optional<bool> worthCutting;
  bool isOpen = false;
  std::vector<std::vector<int64_t>> tried;
  double least = INFINITY;
  CopiesOnTheWay copies;
  double slope = 1;   ///< What twice or half of a size costs more than the best.
  bool stops = false; ///< What takes too long is no trial.
  int stopped = 0;
};

TEST_F(TileSearchTest, WholeTilesAreFirstAndHalvesLeadToTheBest) {
  std::optional<Trial> best = run(1);
  ASSERT_TRUE(best);
  EXPECT_EQ(tried[0], (std::vector<int64_t>{64, 64}));
  EXPECT_EQ(best->point.sizes, (TileSizes{8, 16}));
  EXPECT_EQ(worthCutting, true);
}

TEST_F(TileSearchTest, OneCoreCutsOneMemberWhereTilesMayBeLeftOut) {
  options.machine.cores = 1;
  run(1);
  EXPECT_EQ(tried.size(), 1u);
  isOpen = true;
  std::optional<Trial> best = run(1);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->point.sizes, (TileSizes{8, 16}));
}

TEST_F(TileSearchTest, WhatAStageOutweighsIsNotCut) {
  EXPECT_TRUE(run(options.machine.stageSeconds / 100));
  EXPECT_EQ(tried.size(), 1u);
  EXPECT_EQ(worthCutting, false);
  EXPECT_TRUE(run(1)); // The group's first search has said so.
  EXPECT_EQ(tried.size(), 2u);
}

TEST_F(TileSearchTest, WhatTakesTooLongNeedNotBeSeenThrough) {
  for (size_t count : {1, 2}) // Several have steps to either side after their sweeps.
    for (bool twice : {false, true})
      for (double each : {1.0, 0.1, 0.04, 0.03, 0.015, 0.004}) {
        members.resize(count, members[0]);
        copies.areMade = twice;
        slope = each;
        stops = false;
        std::optional<Trial> best = run(1);
        stops = true;
        std::optional<Trial> found = run(1);
        ASSERT_TRUE(best && found);
        EXPECT_EQ(found->point.sizes, best->point.sizes) << each << (twice ? " twice" : "");
      }
  EXPECT_GT(stopped, 0);
}

TEST_F(TileSearchTest, WhatWasNoBetterIsNotTriedAgain) {
  members.push_back(members[0]);
  ASSERT_TRUE(run(1));
  std::set<std::vector<int64_t>> distinct(tried.begin(), tried.end());
  EXPECT_EQ(distinct.size(), tried.size());
}

TEST_F(TileSearchTest, BlocksHaveEachTilingTriedOnce) {
  options.machine.threads = 2048;
  options.machine.cores = 1; // Whole tiles keep it busy, so they come up again.
  std::optional<Trial> best = run(1);
  ASSERT_TRUE(best);
  EXPECT_LE(0.98 * best->computeSeconds, least);
  std::set<std::vector<int64_t>> distinct(tried.begin(), tried.end());
  EXPECT_GT(distinct.size(), 5u);
  EXPECT_EQ(distinct.size(), tried.size());
}

} // namespace
} // namespace kintsugi::search
