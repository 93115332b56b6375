//===- element_range_test.cpp ---------------------------------------------===//

#include "base/element_range.h"

#include <gtest/gtest.h>

using namespace kintsugi;

template <typename T> static std::span<const std::byte> bytesOf(const std::vector<T> &values) {
  return std::as_bytes(std::span(values));
}

TEST(ElementRange, FindsTheFirstElementOutside) {
  std::vector<int64_t> values{0, 5, -3, 9, 4, -4};
  ElementRange all{-3, 6, 0, {{6, 1}}};
  EXPECT_EQ(all.findOutside(ElementType::I64, bytesOf(values)), 9);
  ElementRange second{-3, 6, 1, {{3, 2}}}; // 5, 9, -4
  EXPECT_EQ(second.findOutside(ElementType::I64, bytesOf(values)), 9);
  ElementRange columns{-4, 9, 2, {{2, 3}, {2, -2}}}; // -3, 0, -4, 9
  ASSERT_FALSE(columns.staysWithin(5));
  ElementRange rows{-3, 6, 0, {{2, 1}, {3, 2}}}; // 0, -3, 4; 5, 9, -4
  EXPECT_EQ(rows.findOutside(ElementType::I64, bytesOf(values)), 9);
  ElementRange one{-3, 6, 5, {}};
  EXPECT_EQ(one.findOutside(ElementType::I64, bytesOf(values)), -4);
  EXPECT_EQ((ElementRange{-4, 10, 0, {{6, 1}}}).findOutside(ElementType::I64, bytesOf(values)),
            std::nullopt);
  EXPECT_EQ((ElementRange{0, 1, 9, {{0, 1}}}).findOutside(ElementType::I64, bytesOf(values)),
            std::nullopt);
}

TEST(ElementRange, ReadsEveryWidth) {
  auto found = [](auto value, ElementType type) {
    std::vector<decltype(value)> values{1, value};
    return ElementRange{-2, 3, 0, {{2, 1}}}.findOutside(type, bytesOf(values));
  };
  EXPECT_EQ(found(int8_t(-5), ElementType::I8), -5);
  EXPECT_EQ(found(uint8_t(200), ElementType::U8), 200);
  EXPECT_EQ(found(int16_t(-500), ElementType::I16), -500);
  EXPECT_EQ(found(uint16_t(60000), ElementType::U16), 60000);
  EXPECT_EQ(found(int32_t(-70000), ElementType::I32), -70000);
  EXPECT_EQ(found(uint32_t(4000000000), ElementType::U32), 4000000000);
  EXPECT_EQ(found(uint64_t(2), ElementType::U64), std::nullopt);
}

TEST(ElementRange, NumbersMayBeAny) {
  EXPECT_TRUE((ElementRange{0, 1, 0, {{4, 1}, {2, 4}}}).staysWithin(8));
  EXPECT_FALSE((ElementRange{0, 1, 0, {{4, 1}, {2, 5}}}).staysWithin(8));
  EXPECT_FALSE((ElementRange{0, 1, -1, {}}).staysWithin(8));
  EXPECT_FALSE((ElementRange{0, 1, 2, {{2, -3}}}).staysWithin(8));
  EXPECT_FALSE((ElementRange{0, 1, 0, {{-1, 1}}}).staysWithin(8));
  EXPECT_FALSE((ElementRange{0, 1, 0, {{INT64_MAX, INT64_MAX}}}).staysWithin(8));
  EXPECT_FALSE((ElementRange{0, 1, 0, {{INT64_MAX, INT64_MAX}, {3, INT64_MIN}}}).staysWithin(8));
}
