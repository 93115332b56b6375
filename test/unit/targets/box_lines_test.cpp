//===- box_lines_test.cpp - Which lines of a factor are a box -------------===//

#include "targets/nvidia/box_lines.h"
#include "gtest/gtest.h"

using namespace kintsugi::targets;
using Counts = llvm::SmallVector<int64_t>;

TEST(BoxLines, LinesEndWithTheirLastIterator) {
  EXPECT_EQ(boxLineBytes({72}, 128), 128); // What is past the end is nobody's.
  EXPECT_EQ(boxLineBytes({72}, 64), 64);
  EXPECT_EQ(boxLineBytes({1, 72}, 128), 128);
  EXPECT_EQ(boxLineBytes({3, 3, 64}, 128), 128);
  EXPECT_EQ(boxLineBytes({3, 3, 96}, 128), 64);
  EXPECT_EQ(boxLineBytes({3, 3, 48}, 128), 32);
  EXPECT_EQ(boxLineBytes({3, 3, 24}, 128), 0);
  EXPECT_EQ(boxLineBytes({64}, 16), 0);
}

TEST(BoxLines, AreAllOfATileOrWholeStages) {
  EXPECT_EQ(boxLines({40}, 128, false), Counts{40});
  EXPECT_EQ(boxLines({1000}, 128, false), Counts{128});
  EXPECT_EQ(boxLines({4, 24}, 128, false), (Counts{4, 24}));
  EXPECT_EQ(boxLines({4, 24}, 64, false), std::nullopt); // Two rows and two thirds of one.
  EXPECT_EQ(boxLines({4, 1, 32}, 64, false), (Counts{2, 1, 32}));
  EXPECT_EQ(boxLines({4, 128}, 64, false), (Counts{1, 64}));
  EXPECT_EQ(boxLines({4, 100}, 64, false), std::nullopt);
  EXPECT_EQ(boxLines({2, 4, 16}, 128, false), (Counts{2, 4, 16}));
}

TEST(BoxLines, TermsPastTheEndAreThere) {
  EXPECT_EQ(boxLines({40}, 64, true), Counts{64});
  EXPECT_EQ(boxLines({4, 32}, 64, true), (Counts{2, 32}));
  EXPECT_EQ(boxLines({3, 32}, 128, true), (Counts{4, 32}));
  EXPECT_EQ(boxLines({3, 24}, 128, true), std::nullopt);
}
