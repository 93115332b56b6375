//===- unique_test.cpp - The different elements of a tensor ---------------===//

#include "run_call.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace kintsugi;
using namespace kintsugi::calls;

TEST(Unique, SortedOrAsTheyOccur) {
  Tensor x = tensorOf<float>({6}, {2, 1, 1, 3, 4, 3}); // ONNX's example.
  auto results = runCall("Unique", {&x}, {});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ(valuesOf<float>((*results)[0]), (std::vector<float>{1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), (std::vector<int64_t>{1, 0, 3, 4, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[2]), (std::vector<int64_t>{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[3]), (std::vector<int64_t>{2, 1, 2, 1, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[4]), std::vector<int64_t>{4});
  results = runCall("Unique", {&x}, {{"sorted", false}});
  EXPECT_EQ(valuesOf<float>((*results)[0]), (std::vector<float>{2, 1, 3, 4, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), (std::vector<int64_t>{0, 1, 3, 4, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[2]), (std::vector<int64_t>{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[3]), (std::vector<int64_t>{1, 2, 2, 1, 0, 0}));
}

TEST(Unique, SlicesAlongAnAxis) {
  Tensor x = tensorOf<int32_t>({2, 3, 2}, {1, 2, 0, 9, 1, 2, 3, 4, 5, 6, 3, 4});
  auto results = runCall("Unique", {&x}, {{"axis", -2}});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].shape(), x.shape());
  EXPECT_EQ(valuesOf<int32_t>((*results)[0]),
            (std::vector<int32_t>{0, 9, 1, 2, 0, 0, 5, 6, 3, 4, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[1]), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[2]), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[3]), (std::vector<int64_t>{1, 2, 0}));
}

TEST(Unique, NanIsOneAndBehindAllAndZerosAreEqual) {
  Tensor x = tensorOf<double>({6}, {NAN, -0.0, INFINITY, -NAN, 0.0, -1});
  auto results = runCall("Unique", {&x}, {});
  EXPECT_EQ(valuesOf<int64_t>((*results)[2]), (std::vector<int64_t>{3, 1, 2, 3, 1, 0}));
  EXPECT_EQ(valuesOf<int64_t>((*results)[4]), std::vector<int64_t>{4});
  EXPECT_TRUE(std::signbit(valuesOf<double>((*results)[0])[1])) << "the first that occurs";
}

/// Small numbers of each type that has an order, by a map that knows nothing of bits.
TEST(Unique, OfEachType) {
  std::mt19937 random(3);
  for (ElementType type :
       {ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64, ElementType::I8,
        ElementType::U8, ElementType::I16, ElementType::U16, ElementType::I32, ElementType::U32,
        ElementType::I64, ElementType::U64}) {
    constexpr int64_t extent = 40;
    Tensor x = std::move(*Tensor::create(type, {extent}));
    bool isSignedType = isFloat(type) || isSigned(type);
    std::map<int64_t, int64_t> counts;
    for (int64_t e = 0; e < extent; ++e) {
      int64_t value = int64_t(random() % 20) - (isSignedType ? 10 : 0);
      ++counts[value];
      if (isFloat(type))
        storeDouble(type, x.bytes(), e, double(value));
      else
        storeInteger(type, x.bytes(), e, value);
    }
    auto results = runCall("Unique", {&x}, {});
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(valuesOf<int64_t>((*results)[4])[0], int64_t(counts.size()));
    int64_t place = 0;
    for (auto [value, count] : counts) {
      EXPECT_EQ(loadDouble((*results)[0].view(), place), double(value)) << nameOf(type);
      EXPECT_EQ(valuesOf<int64_t>((*results)[3])[place++], count);
    }
  }
}

TEST(Unique, OfNothing) {
  Tensor x = tensorOf<float>({0}, {});
  auto results = runCall("Unique", {&x}, {});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ(valuesOf<int64_t>((*results)[4]), std::vector<int64_t>{0});
  Tensor flat = tensorOf<float>({3, 0}, {}); // Slices of nothing are all the same.
  results = runCall("Unique", {&flat}, {{"axis", 0}});
  EXPECT_EQ(valuesOf<int64_t>((*results)[4]), std::vector<int64_t>{1});
}

TEST(Unique, Refuses) {
  Tensor x = tensorOf<float>({2}, {1, 2});
  EXPECT_EQ(errorOf("Unique", {&x}, {{"axis", 1}}), "axis 1 is outside a tensor of rank 1");
  EXPECT_EQ(errorOf("Unique", {&x, &x}, {}), "has 2 operands, it takes 1");
  Tensor complex = std::move(*Tensor::create(ElementType::C64, {2}));
  EXPECT_EQ(errorOf("Unique", {&complex}, {}), "can't order elements of type c64");
}
