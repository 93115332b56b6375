#include "derive/ways_within.h"

#include "gtest/gtest.h"

using namespace kintsugi::derive;

TEST(WaysWithin, EachHasItsQuickestWhereThereIsRoom) {
  std::vector<std::vector<Way>> things = {{{5, 10}, {3, 20}, {2, 40}}, {{4, 10}, {6, 30}}};
  EXPECT_EQ(chooseWithin(things, 50), (std::vector<size_t>{2, 0}));
}

TEST(WaysWithin, WhatSavesBytesAtTheLeastCostGivesWay) {
  std::vector<std::vector<Way>> things = {{{5, 10}, {2, 40}}, {{8.8, 10}, {8, 20}, {7, 40}}};
  EXPECT_EQ(chooseWithin(things, 79), (std::vector<size_t>{1, 1}));
  EXPECT_EQ(chooseWithin(things, 59), (std::vector<size_t>{1, 0}));
  EXPECT_EQ(chooseWithin(things, 49), (std::vector<size_t>{0, 0}));
}

TEST(WaysWithin, NoRoomAtAllIsTheFewestBytes) {
  std::vector<std::vector<Way>> things = {{{5, 10}, {2, 40}}, {{9, 12}, {8, 5}}};
  EXPECT_EQ(chooseWithin(things, 0), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(chooseWithin({}, 0).empty());
}
