//===- top_k_test.cpp - The greatest or least elements along an axis ------===//

#include "run_call.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace kintsugi;
using namespace kintsugi::calls;

TEST(TopK, AlongTheLastAxis) {
  Tensor x = tensorOf<float>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}); // ONNX's example.
  auto results = runCall("TopK", {&x}, {{"k", 3}});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].shape(), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(valuesOf<float>((*results)[0]), (std::vector<float>{3, 2, 1, 7, 6, 5, 11, 10, 9}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), (std::vector<int64_t>{3, 2, 1, 3, 2, 1, 3, 2, 1}));
}

TEST(TopK, LeastAlongAnInnerAxis) {
  Tensor x = tensorOf<int32_t>({2, 3, 2}, {5, -1, 3, -2, 4, -3, 1, 1, 1, 1, 0, 9});
  auto results = runCall("TopK", {&x}, {{"k", 2}, {"axis", 1}, {"largest", false}});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ(valuesOf<int32_t>((*results)[0]), (std::vector<int32_t>{3, -3, 4, -2, 0, 1, 1, 1}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), (std::vector<int64_t>{1, 2, 2, 1, 2, 0, 0, 1}));
}

TEST(TopK, TiesGoByIndexAndNanIsGreatest) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  Tensor x = tensorOf<float>({6}, {2, inf, 2, nan, -inf, nan});
  auto indices = [&](bool largest) {
    auto results = runCall("TopK", {&x}, {{"k", 6}, {"largest", largest}});
    return valuesOf<int64_t>((*results)[1]);
  };
  EXPECT_EQ(indices(true), (std::vector<int64_t>{3, 5, 1, 0, 2, 4}));
  EXPECT_EQ(indices(false), (std::vector<int64_t>{4, 0, 2, 1, 3, 5}));
}

TEST(TopK, OrdersAllOf64Bits) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  Tensor x = tensorOf<uint64_t>({3}, {most - 1, most, 1});
  auto results = runCall("TopK", {&x}, {{"k", 2}});
  EXPECT_EQ(valuesOf<uint64_t>((*results)[0]), (std::vector<uint64_t>{most, most - 1}));
  const int64_t least = std::numeric_limits<int64_t>::min();
  Tensor y = tensorOf<int64_t>({3}, {least + 1, least, 1});
  results = runCall("TopK", {&y}, {{"k", 2}, {"largest", false}});
  EXPECT_EQ(valuesOf<int64_t>((*results)[0]), (std::vector<int64_t>{least, least + 1}));
}

/// Random numbers, ties and both zeros among them, in rows as long as the kinds of selection are
/// for, of each type that has an order.
TEST(TopK, OrdersEachType) {
  std::mt19937 random(5);
  for (ElementType type : {ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64,
                           ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16,
                           ElementType::I32, ElementType::U32, ElementType::I64, ElementType::U64})
    for (int64_t k : {1, 5, 60, 100})
      for (bool largest : {true, false}) {
        SCOPED_TRACE(std::string(nameOf(type)) + " " + std::to_string(k));
        Tensor x = std::move(*Tensor::create(type, {100}));
        for (int64_t i = 0; i < 100; ++i) {
          double number = double(random() % 40) - (isSigned(type) ? 20 : 0);
          storeDouble(type, x.bytes(), i, number == 0 && random() % 2 ? -0.0 : number);
        }
        std::vector<int64_t> order(100);
        for (int64_t i = 0; i < 100; ++i)
          order[i] = i;
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          double left = loadDouble(x.view(), a), right = loadDouble(x.view(), b);
          if (left == right)
            return a < b;
          return largest ? left > right : left < right;
        });
        order.resize(k);
        auto results = runCall("TopK", {&x}, {{"k", k}, {"largest", largest}});
        ASSERT_TRUE(results.ok()) << results.error().message;
        EXPECT_EQ(valuesOf<int64_t>((*results)[1]), order);
        for (int64_t i = 0; i < k; ++i)
          EXPECT_EQ(loadBits((*results)[0].view(), i), loadBits(x.view(), order[i]));
      }
}

TEST(TopK, AgreesWithItsDefinitionOnRandomShapes) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<int64_t> shape;
    for (unsigned rank = 1 + random() % 3; rank != 0; --rank)
      shape.push_back(1 + random() % 5);
    auto axis = static_cast<int64_t>(random() % shape.size());
    int64_t extent = shape[axis], k = random() % (extent + 1), inner = 1;
    for (size_t d = axis + 1; d < shape.size(); ++d)
      inner *= shape[d];
    std::vector<float> values(*elementCount(shape));
    for (float &value : values)
      value = static_cast<float>(random() % 4); // Many ties.
    Tensor x = tensorOf<float>(shape, values);
    auto results = runCall("TopK", {&x}, {{"k", k}, {"axis", axis - int64_t(shape.size())}});
    ASSERT_TRUE(results.ok()) << results.error().message;
    auto best = valuesOf<float>((*results)[0]);
    auto where = valuesOf<int64_t>((*results)[1]);
    for (size_t i = 0; i < best.size(); ++i) {
      int64_t rank = static_cast<int64_t>(i) / inner % k;
      int64_t row = static_cast<int64_t>(i) / inner / k * extent * inner + i % inner;
      EXPECT_EQ(best[i], values[row + where[i] * inner]);
      int64_t before = 0; // Elements that come ahead of it: exactly `rank`.
      for (int64_t e = 0; e < extent; ++e) {
        float other = values[row + e * inner];
        before += other > best[i] || (other == best[i] && e < where[i]);
      }
      EXPECT_EQ(before, rank);
    }
  }
}

TEST(TopK, MistakesAreNamed) {
  Tensor x = tensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensorOf<uint8_t>({1}, {1});
  EXPECT_EQ(errorOf("TopK", {&x}, {{"k", 4}}), "k is 4, but there are 3 elements along the axis");
  EXPECT_EQ(errorOf("TopK", {&x}, {{"k", -1}}), "k is -1, but there are 3 elements along the axis");
  EXPECT_EQ(errorOf("TopK", {&x}, {{"k", 1}, {"axis", 2}}), "axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(errorOf("TopK", {&x}, Json::object()), "JSON member \"k\" is missing");
  EXPECT_EQ(errorOf("TopK", {&x, &x}, {{"k", 1}}), "has 2 operands, it takes 1");
  Tensor flags = std::move(*Tensor::create(ElementType::Bool, {2}));
  EXPECT_EQ(errorOf("TopK", {&flags}, {{"k", 1}}), "can't order elements of type bool");
}
