//===- random_weights_test.cpp - Bit for bit as zoo/materialize.py -----------===//

#include "import/random_weights.h"

#include <gtest/gtest.h>

#include <bit>

namespace kintsugi::import {
namespace {

template <typename T>
std::vector<T> weight(const std::string &name, ElementType type, std::vector<int64_t> shape) {
  Expected<Tensor> tensor = Tensor::create(type, shape);
  auto source = randomWeight(name, type, shape);
  EXPECT_TRUE(tensor.ok() && source.ok());
  EXPECT_TRUE((*source)->load(tensor->bytes().data()).ok());
  auto values = std::as_const(*tensor).as<T>();
  return {values.begin(), values.end()};
}

// The expected numbers are what zoo/materialize.py gives.

TEST(RandomWeights, FanOfEachRank) {
  auto conv = weight<float>("conv1.weight", ElementType::F32, {4, 3, 2});
  EXPECT_EQ(conv[0], 0x1.051a18p-4f);
  EXPECT_EQ(conv[1], 0x1.630836p-2f);
  EXPECT_EQ(conv[2], -0x1.59710cp-1f);
  auto matrix = weight<float>("w2", ElementType::F32, {3, 5});
  EXPECT_EQ(matrix[0], 0x1.c53256p-1f);
  EXPECT_EQ(matrix[14], -0x1.01804ap-1f);
  auto row = weight<float>("row", ElementType::F32, {1, 2, 6});
  EXPECT_EQ(row[0], -0x1.33ad8ep-2f);
  EXPECT_EQ(row[11], -0x1.a7324ep-3f);
  auto bias = weight<float>("bias", ElementType::F32, {3});
  EXPECT_EQ(bias, (std::vector<float>{0x1.009d9p+0f, 0x1.7d3dp+0f, 0x1.6f8d3cp+0f}));
}

TEST(RandomWeights, OtherTypesRoundOnce) {
  EXPECT_EQ(weight<uint16_t>("h", ElementType::F16, {2, 2}),
            (std::vector<uint16_t>{0x402e, 0xbbe9, 0xb6c0, 0x31bf}));
  EXPECT_EQ(weight<double>("d", ElementType::F64, {2, 2}),
            (std::vector<double>{0x1.461d28p+0, -0x1.9a78a6p+0, -0x1.44fb6p+0, -0x1.bd25ecp-1}));
  EXPECT_FALSE(randomWeight("i", ElementType::I64, {2, 2}).ok());
  EXPECT_TRUE(weight<float>("none", ElementType::F32, {0, 4, 4}).empty());
}

TEST(RandomFeeds, ByType) {
  auto ids = randomFeed("ids", ElementType::I64, {4});
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(std::vector<int64_t>(ids->as<int64_t>().begin(), ids->as<int64_t>().end()),
            (std::vector<int64_t>{55, 60, 56, 58}));
  auto mask = randomFeed("m", ElementType::Bool, {4});
  ASSERT_TRUE(mask.ok());
  EXPECT_EQ(std::vector<uint8_t>(mask->as<uint8_t>().begin(), mask->as<uint8_t>().end()),
            (std::vector<uint8_t>{0, 1, 1, 0}));
  auto x = randomFeed("x", ElementType::F32, {3});
  ASSERT_TRUE(x.ok());
  EXPECT_EQ(x->as<float>()[0], -0x1.08f8b6p+0f);
  EXPECT_EQ(x->as<float>()[1], 0x1.119ac8p+0f);
  EXPECT_EQ(x->as<float>()[2], 0x1.fc6738p-2f);
  EXPECT_FALSE(randomFeed("s", ElementType::Str, {1}).ok());
}

TEST(RandomFeeds, ByRule) {
  auto plain = randomFeed("x", ElementType::F32, {64}),
       twice = randomFeed("x", ElementType::F32, {64}, "", 2);
  auto other = randomFeed("x", ElementType::F32, {64}, " tried");
  ASSERT_TRUE(plain.ok() && twice.ok() && other.ok());
  int equal = 0;
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(twice->as<float>()[i], 2 * plain->as<float>()[i]);
    equal += other->as<float>()[i] == plain->as<float>()[i];
  }
  EXPECT_EQ(equal, 0);
}

} // namespace
} // namespace kintsugi::import
