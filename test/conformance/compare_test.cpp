#include "compare.h"

#include <cmath>
#include <gtest/gtest.h>

namespace kintsugi::conformance {
namespace {

template <typename T> Tensor tensor(std::vector<int64_t> shape, std::vector<T> values) {
  auto made = Tensor::from<T>(std::move(shape), values);
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

std::optional<std::string> floats(std::vector<float> actual, std::vector<float> expected) {
  auto size = static_cast<int64_t>(actual.size());
  return difference(tensor<float>({size}, actual), tensor<float>({size}, expected), 1e-3, 1e-7);
}

TEST(Difference, floatsWithinTolerance) {
  EXPECT_FALSE(floats({1.0009f, -200.1f, 0}, {1, -200, 5e-8f}));
  EXPECT_FALSE(floats({}, {}));
  auto wrong = floats({1, 1.01f, 7}, {1, 1, 8});
  ASSERT_TRUE(wrong);
  EXPECT_EQ(*wrong, "2 of 3 elements differ, first [1]: 1.00999999 instead of 1");
  EXPECT_TRUE(floats({1e-6f}, {0}));
}

TEST(Difference, specialValues) {
  float nan = NAN, infinity = INFINITY;
  EXPECT_FALSE(floats({nan, infinity, -infinity}, {nan, infinity, -infinity}));
  EXPECT_TRUE(floats({nan}, {1}));
  EXPECT_TRUE(floats({1}, {nan}));
  EXPECT_TRUE(floats({infinity}, {-infinity}));
  EXPECT_TRUE(floats({3e38f}, {infinity}));
  EXPECT_TRUE(floats({infinity}, {3e38f}));
}

TEST(Difference, integersAreExact) {
  auto expected = tensor<int64_t>({2}, {1000000, -3});
  EXPECT_FALSE(difference(tensor<int64_t>({2}, {1000000, -3}), expected, 1e-3, 1e-7));
  auto wrong = difference(tensor<int64_t>({2}, {1000001, -3}), expected, 1e-3, 1e-7);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(*wrong, "1 of 2 elements differ, first [0]: 1000001 instead of 1000000");
}

TEST(Difference, shapesAndTypes) {
  auto expected = tensor<float>({2, 1}, {1, 2});
  EXPECT_EQ(*difference(tensor<float>({1, 2}, {1, 2}), expected, 1, 1),
            "is f32[1, 2] instead of f32[2, 1]");
  EXPECT_EQ(*difference(tensor<double>({2, 1}, {1, 2}), expected, 1, 1),
            "is f64[2, 1] instead of f32[2, 1]");
}

TEST(Difference, strings) {
  auto a = Tensor::fromStrings({2}, {"a", "b"}), b = Tensor::fromStrings({2}, {"a", "c"});
  EXPECT_FALSE(difference(*a, *a, 0, 0));
  EXPECT_EQ(*difference(*a, *b, 0, 0), "1 of 2 elements differ, first [1]: 'b' instead of 'c'");
}

TEST(Difference, bfloat16HasTwoUnits) {
  auto make = [](float value) {
    auto made = Tensor::create(ElementType::BF16, {1});
    storeDouble(ElementType::BF16, made->bytes(), 0, value);
    return std::move(*made);
  };
  EXPECT_FALSE(difference(make(1.0078125f), make(1), 1e-3, 1e-7));
  EXPECT_TRUE(difference(make(1.03125f), make(1), 1e-3, 1e-7));
}

} // namespace
} // namespace kintsugi::conformance
