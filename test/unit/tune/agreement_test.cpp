#include "tune/agreement.h"

#include "base/tensor.h"
#include "gtest/gtest.h"

#include <cmath>

namespace kintsugi::tune {
namespace {

Result of(std::vector<float> values, ElementType type = ElementType::F32) {
  Result result{type, std::vector<std::byte>(values.size() * (type == ElementType::F32 ? 4 : 2))};
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(type, result.bytes, int64_t(i), values[i]);
  return result;
}

bool agree(const Results &results, const Results &others) {
  return tune::agree(results, others, ElementType::F32);
}

TEST(Agreement, RoundingDiffersByLessThanMistakes) {
  Results right{{3, of({1, -100, 0.5f})}};
  EXPECT_TRUE(agree(right, right));
  EXPECT_TRUE(agree(right, {{3, of({1.001f, -100, 0.5f})}}));
  EXPECT_FALSE(agree(right, {{3, of({1.01f, -100, 0.5f})}}));
  EXPECT_FALSE(agree(right, {{4, of({1, -100, 0.5f})}}));
  EXPECT_FALSE(agree(right, {{3, of({1, -100})}}));
  EXPECT_FALSE(agree(right, {{3, of({1, -100, 0.5f}, ElementType::F16)}}));
  EXPECT_FALSE(agree(right, {}));
}

TEST(Agreement, FewerDigitsAreRoundedEarlier) {
  Results right{{3, of({1, -100})}}, other{{3, of({1.3f, -100})}}, wrong{{3, of({5, -100})}};
  EXPECT_FALSE(agree(right, other));
  EXPECT_TRUE(tune::agree(right, other, ElementType::F16));
  EXPECT_FALSE(tune::agree(right, wrong, ElementType::F16));
  EXPECT_FALSE(tune::agree(right, {{3, of({1.00001f, -100})}}, ElementType::F64));
}

TEST(Agreement, WhatIsNoNumberIsNone) {
  Results right{{0, of({1, NAN, INFINITY})}};
  EXPECT_TRUE(agree(right, {{0, of({1, NAN, INFINITY})}}));
  EXPECT_FALSE(agree(right, {{0, of({1, NAN, -INFINITY})}}));
  EXPECT_FALSE(agree(right, {{0, of({NAN, NAN, INFINITY})}}));
  EXPECT_FALSE(agree(right, {{0, of({1, 2, INFINITY})}}));
}

TEST(Agreement, PacksAsTheConstantProgramDoes) {
  // Panels of two columns of a 3 x 3 matrix, row by row: the last panel has one.
  loops::Packing packing{{{2, 2}, {3, 3}, {2, 1}}, 0, 3, 0};
  Result matrix = of({0, 1, 2, 10, 11, 12, 20, 21, 22});
  Result wanted = of({0, 1, 10, 11, 20, 21, 2, 0, 12, 0, 22, 0});
  EXPECT_EQ(packed(packing, ElementType::F32, matrix.bytes), wanted.bytes);
}

} // namespace
} // namespace kintsugi::tune
