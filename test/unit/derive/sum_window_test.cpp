// Which terms of a sum a pattern of nonzeros leaves.

#include "derive/sum_window.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

namespace kintsugi::derive {
namespace {

using namespace te;

using Pattern = llvm::function_ref<bool(llvm::ArrayRef<int64_t> row, int64_t k)>;

/// The window of a pattern, of which each nonzero has to be a step of it.
SumWindow windowOf(llvm::ArrayRef<int64_t> rows, int64_t extent, Pattern isNonzero) {
  int64_t count = 1;
  for (int64_t each : rows)
    count *= each;
  auto place = [&](int64_t number) {
    llvm::SmallVector<int64_t> row(rows.size());
    for (unsigned d = rows.size(); d-- > 0; number /= rows[d])
      row[d] = number % rows[d];
    return row;
  };
  Support support(count, extent);
  for (int64_t number = 0; number < count; ++number)
    for (int64_t k = 0; k < extent; ++k)
      if (isNonzero(place(number), k))
        support.add(number, k);
  SumWindow window = windowOf(support, rows);
  for (int64_t number = 0; number < count; ++number) {
    std::vector<bool> reached(extent, false);
    for (int64_t j = 0; j < window.count; ++j) {
      int64_t k = window.listsAll ? window.table[number * window.count + j]
                                  : window.startAt(place(number), number) + window.step * j;
      bool isInside = k >= 0 && k < extent;
      EXPECT_TRUE(isInside || window.leaves) << k;
      EXPECT_FALSE(isInside && reached[k]) << k << " counts twice";
      if (isInside)
        reached[k] = true;
    }
    support.forEach(number, [&](int64_t k) { EXPECT_TRUE(reached[k]) << number << " " << k; });
  }
  return window;
}

SumWindow windowOf(int64_t rows, int64_t extent,
                   llvm::function_ref<bool(int64_t m, int64_t k)> isNonzero) {
  return windowOf(llvm::ArrayRef(rows), extent,
                  [&](llvm::ArrayRef<int64_t> row, int64_t k) { return isNonzero(row[0], k); });
}

const Index m = Index::iterator(0);

} // namespace

TEST(SumWindow, ZerosAtTheEndsOfAllRowsAreLeftOut) {
  SumWindow window = windowOf(4, 16, [](int64_t, int64_t k) { return k >= 3 && k < 8; });
  EXPECT_TRUE(window.start == Index(3) && window.table.empty());
  EXPECT_EQ(window.count, 5);
  window = windowOf(4, 16, [](int64_t, int64_t k) { return k % 4 == 1; });
  EXPECT_TRUE(window.start == Index(1));
  EXPECT_EQ(window.step, 4);
  EXPECT_EQ(window.count, 4);
}

TEST(SumWindow, AConstantOfZerosHasATermAsAny) {
  EXPECT_EQ(windowOf(4, 16, [](int64_t, int64_t) { return false; }).count, 1);
}

TEST(SumWindow, DiagonalsAreAffine) {
  auto check = [](int64_t factor, int64_t offset) {
    SumWindow window =
        windowOf(8, 40, [&](int64_t row, int64_t k) { return k == factor * row + offset; });
    EXPECT_EQ(window.count, 1);
    EXPECT_TRUE(window.start == m * factor + offset && !window.split && window.table.empty());
  };
  check(1, 0);
  check(1, 5);
  check(3, 2);
  check(-2, 20);
}

TEST(SumWindow, RowsOfZerosAreAsTheOthers) {
  SumWindow window =
      windowOf(8, 8, [](int64_t row, int64_t k) { return k == row && row % 3 != 1; });
  EXPECT_TRUE(window.start == m);
  EXPECT_EQ(window.count, 1);
}

TEST(SumWindow, BlocksAreTheFinestThatFit) {
  auto blocks = [](int64_t row, int64_t k) { return row / 3 == k / 4; };
  SumWindow window = windowOf(12, 16, blocks);
  EXPECT_EQ(window.count, 4);
  EXPECT_TRUE(window.start == m.floorDiv(3) * 4);
  ASSERT_TRUE(window.split);
  EXPECT_EQ(window.split->size, 3);
  // One nonzero outside joins two blocks, and with them all others.
  window =
      windowOf(12, 16, [&](int64_t r, int64_t k) { return blocks(r, k) || (r == 0 && k == 4); });
  EXPECT_EQ(window.count, 8);
  window =
      windowOf(12, 16, [&](int64_t r, int64_t k) { return blocks(r, k) || (r == 0 && k == 9); });
  EXPECT_EQ(window.count, 16);
}

TEST(SumWindow, InterleavedBlocksHaveSteps) {
  auto places = [](int64_t row, int64_t k) { return row % 4 == k % 4; };
  SumWindow window = windowOf(12, 20, places);
  EXPECT_EQ(window.count, 5);
  EXPECT_EQ(window.step, 4);
  ASSERT_TRUE(window.split);
  EXPECT_EQ(window.split->size, 4);
  window =
      windowOf(12, 20, [&](int64_t r, int64_t k) { return places(r, k) || (r == 0 && k == 2); });
  EXPECT_EQ(window.step, 2);
  EXPECT_EQ(window.count, 10);
  window =
      windowOf(12, 20, [&](int64_t r, int64_t k) { return places(r, k) || (r == 0 && k == 1); });
  EXPECT_EQ(window.count, 20);
}

TEST(SumWindow, RepeatedRowsAreBlocksOfOneTerm) {
  SumWindow window = windowOf(12, 4, [](int64_t row, int64_t k) { return k == row / 3; });
  EXPECT_EQ(window.count, 1);
  EXPECT_TRUE(window.start == m.floorDiv(3));
}

TEST(SumWindow, OneTermFollowsFromADigit) {
  auto digit = [](int64_t row, int64_t k) { return k == row / 4 % 3; };
  SumWindow window = windowOf(24, 3, digit);
  EXPECT_EQ(window.count, 1);
  EXPECT_TRUE(window.start == m.floorDiv(4).mod(3));
  EXPECT_EQ(windowOf(24, 3, [&](int64_t r, int64_t k) { return digit(r, k) != (r == 9); }).count,
            3);
}

TEST(SumWindow, BandsLeaveTheRange) {
  auto band = [](int64_t row, int64_t k) { return std::abs(row - k) <= 1; };
  SumWindow window = windowOf(16, 16, band);
  EXPECT_TRUE(window.start == m - 1 && window.leaves);
  EXPECT_EQ(window.count, 3);
  window = windowOf(8, 16, [](int64_t row, int64_t k) { return k >= 2 * row && k < 2 * row + 2; });
  EXPECT_FALSE(window.leaves);
  EXPECT_EQ(window.count, 2);
}

TEST(SumWindow, PermutationsAreTables) {
  SumWindow window = windowOf(16, 17, [](int64_t row, int64_t k) { return k == row * row % 17; });
  EXPECT_EQ(window.count, 1);
  ASSERT_EQ(window.table.size(), 16u);
  EXPECT_EQ(window.table[5], 8);
}

TEST(SumWindow, TablesOfStartsEndWhereTheRangeDoes) {
  SumWindow window = windowOf(16, 32, [](int64_t row, int64_t k) {
    int64_t start = row * row % 31;
    return row == 8 ? k == 31 : k == start || k == start + 1;
  });
  EXPECT_EQ(window.count, 2);
  EXPECT_FALSE(window.listsAll);
  EXPECT_EQ(window.table[8], 30);
}

TEST(SumWindow, NonzerosThatLieApartAreListed) {
  auto few = [](int64_t row, int64_t k) { return k == row * row % 31 || k == row * 7 % 31; };
  SumWindow window = windowOf(16, 31, few);
  EXPECT_TRUE(window.listsAll);
  EXPECT_EQ(window.count, 2);
  // A quarter of the terms or more is not worth a table.
  window =
      windowOf(16, 31, [&](int64_t r, int64_t k) { return few(r, k) || (r == 3 && k % 5 == 0); });
  EXPECT_EQ(window.count, 31);
}

TEST(SumWindow, RowsHaveSeveralIterators) {
  SumWindow window = windowOf({2, 5}, 16, [](llvm::ArrayRef<int64_t> row, int64_t k) {
    return k == 8 * row[0] + row[1] + 1;
  });
  EXPECT_TRUE(window.start == m * 8 + Index::iterator(1) + 1);
  window = windowOf({2, 8}, 16, [](llvm::ArrayRef<int64_t> row, int64_t k) {
    return k == (row[0] * 5 + row[1] * row[1]) % 16;
  });
  EXPECT_EQ(window.count, 1);
  EXPECT_EQ(window.table.size(), 16u);
}

TEST(SumWindow, WithoutRowsThereIsOne) {
  SumWindow window = windowOf(llvm::ArrayRef<int64_t>(), 8,
                              [](llvm::ArrayRef<int64_t>, int64_t k) { return k == 5; });
  EXPECT_TRUE(window.start == Index(5));
  EXPECT_EQ(window.count, 1);
}

} // namespace kintsugi::derive
