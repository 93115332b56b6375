//===- checked_test.cpp ---------------------------------------------------===//

#include "base/checked.h"

#include <gtest/gtest.h>
#include <vector>

using namespace kintsugi;
using Shape = std::vector<int64_t>;

TEST(Checked, OverflowIsAMissingValue) {
  EXPECT_EQ(checkedAdd(2, 3), 5);
  EXPECT_EQ(checkedAdd(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checkedSub(INT64_MIN, 1), std::nullopt);
  EXPECT_EQ(checkedSub(-5, -7), 2);
  EXPECT_EQ(checkedMul(-4, 5), -20);
  EXPECT_EQ(checkedMul(int64_t(1) << 32, int64_t(1) << 31), std::nullopt);
  EXPECT_EQ(checkedMul(INT64_MIN, -1), std::nullopt);
}

TEST(Checked, ElementCount) {
  EXPECT_EQ(elementCount(Shape{}), 1);
  EXPECT_EQ(elementCount(Shape{2, 3, 4}), 24);
  EXPECT_EQ(elementCount(Shape{2, -1}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{0, -1}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{int64_t(1) << 40, int64_t(1) << 40}), std::nullopt);
  EXPECT_EQ(elementCount(Shape{int64_t(1) << 40, int64_t(1) << 40, 0}), 0);
}

TEST(Checked, BytesOfPackedTypesRoundUp) {
  EXPECT_EQ(bytesOf(ElementType::F32, Shape{3}), 12);
  EXPECT_EQ(bytesOf(ElementType::I4, Shape{3}), 2);
  EXPECT_EQ(bytesOf(ElementType::U2, Shape{4}), 1);
  EXPECT_EQ(bytesOf(ElementType::U2, Shape{5}), 2);
  EXPECT_EQ(bytesOf(ElementType::F6E2M3, Shape{4}), 3);
  EXPECT_EQ(bytesOf(ElementType::F6E2M3, Shape{5}), 4);
  EXPECT_EQ(bytesOf(ElementType::C128, Shape{2, 2}), 64);
  EXPECT_EQ(bytesOf(ElementType::I4, Shape{0}), 0);
  EXPECT_EQ(bytesOf(ElementType::Str, Shape{1}), std::nullopt);
  EXPECT_EQ(bytesOf(ElementType::F32, int64_t(-1)), std::nullopt);
  EXPECT_EQ(bytesOf(ElementType::F32, INT64_MAX / 2), std::nullopt);
  EXPECT_EQ(bytesOf(ElementType::I4, INT64_MAX), std::nullopt);
}

TEST(Checked, RangesDoNotWrap) {
  EXPECT_TRUE(inRange(0, 0, 0));
  EXPECT_TRUE(inRange(4, 6, 10));
  EXPECT_FALSE(inRange(4, 7, 10));
  EXPECT_FALSE(inRange(11, 0, 10));
  EXPECT_FALSE(inRange(8, UINT64_MAX, 10));
  EXPECT_FALSE(inRange(UINT64_MAX, 2, 10));
}

TEST(Checked, AlignUp) {
  EXPECT_EQ(checkedAlignUp(0, 64), 0);
  EXPECT_EQ(checkedAlignUp(1, 64), 64);
  EXPECT_EQ(checkedAlignUp(64, 64), 64);
  EXPECT_EQ(checkedAlignUp(INT64_MAX - 10, 64), std::nullopt);
}
