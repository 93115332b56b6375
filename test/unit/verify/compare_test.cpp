//===- compare_test.cpp - Differences of tensors ----------------------------===//

#include "verify/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kintsugi::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Stored as `type`, rounded.
Tensor of(ElementType type, std::vector<double> values) {
  Expected<Tensor> tensor = Tensor::create(type, {static_cast<int64_t>(values.size())});
  EXPECT_TRUE(tensor.ok());
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(type, tensor->bytes(), static_cast<int64_t>(i), values[i]);
  return std::move(*tensor);
}

Difference between(ElementType type, std::vector<double> actual, std::vector<double> expected) {
  Tensor a = of(type, std::move(actual)), b = of(type, std::move(expected));
  return difference(a.view(), b.view());
}

TEST(Compare, EqualTensors) {
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
                           ElementType::F8E4M3FN, ElementType::I8, ElementType::U64,
                           ElementType::I4, ElementType::Bool}) {
    Difference found = between(type, {0, 1, 1, 0}, {0, 1, 1, 0});
    EXPECT_EQ(found.maxAbsolute, 0) << nameOf(type);
    EXPECT_EQ(found.relative, 0);
    EXPECT_EQ(found.ulps, 0);
    EXPECT_NEAR(found.cosine, 1, 1e-15);
  }
}

TEST(Compare, LargestOverTheLargestMagnitude) {
  Difference found = between(ElementType::F64, {1, -8, 3.5, 2}, {1, -8, 3, 2.25});
  EXPECT_EQ(found.maxAbsolute, 0.5);
  EXPECT_EQ(found.relative, 0.5 / 8);
  EXPECT_EQ(found.worst, 2);
  EXPECT_NEAR(found.cosine,
              (1 + 64 + 10.5 + 4.5) / std::sqrt((1 + 64 + 12.25 + 4) * (1 + 64 + 9 + 5.0625)),
              1e-15);
}

Tensor inShape(std::vector<int64_t> shape, std::vector<double> values) {
  Expected<Tensor> tensor = Tensor::create(ElementType::F32, std::move(shape));
  EXPECT_TRUE(tensor.ok());
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(ElementType::F32, tensor->bytes(), static_cast<int64_t>(i), values[i]);
  return std::move(*tensor);
}

/// Boxes of thousands beside scores of about 1, as a detector has them.
std::vector<double> detections(int64_t rows, double score) {
  std::vector<double> values;
  for (int64_t row = 0; row < rows; ++row)
    for (double value : {4096.0, 1024.0, score})
      values.push_back(value);
  return values;
}

TEST(Compare, LargeSlicesHideNoSmallOnes) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1, 16, 3}, {16, 3}, {2, 8, 3}}) {
    Tensor right = inShape(shape, detections(16, 1)), wrong = inShape(shape, detections(16, 0.5));
    Difference found = difference(wrong.view(), right.view());
    EXPECT_LT(found.relative, 2e-4);
    EXPECT_DOUBLE_EQ(found.inSlices, 0.5 / (shareOfSlice * 4096))
        << "scores are scaled by the floor";
    EXPECT_EQ(found.axis, shape.size() - 1);
    EXPECT_EQ(found.slice, 2);
  }
}

TEST(Compare, SlicesOfAxis1) {
  std::vector<double> values(2 * 3 * 8, 1);
  Tensor right = inShape({2, 3, 8}, values);
  for (int64_t i = 0; i < 8; ++i)
    values[(1 * 3 + 2) * 8 + i] = 1.5;
  Tensor wrong = inShape({2, 3, 8}, values);
  Difference found = difference(wrong.view(), right.view());
  EXPECT_EQ(found.inSlices, 0.5);
  EXPECT_EQ(found.axis, 1u);
  EXPECT_EQ(found.slice, 2);
}

TEST(Compare, WhatIsTooSmallIsNoSlice) {
  Tensor right = inShape({7, 2}, std::vector<double>(14, 1));
  Tensor wrong = inShape({7, 2}, std::vector<double>(14, 2));
  EXPECT_EQ(difference(wrong.view(), right.view()).inSlices, 0) << "seven elements";
  Tensor row = inShape({64}, std::vector<double>(64, 1));
  Tensor other = inShape({64}, std::vector<double>(64, 2));
  EXPECT_EQ(difference(other.view(), row.view()).inSlices, 0) << "rank 1";
}

TEST(Compare, NanThroughout) {
  EXPECT_TRUE(between(ElementType::F32, {nan, nan}, {nan, nan}).isNan);
  EXPECT_FALSE(between(ElementType::F32, {nan, 1}, {nan, 1}).isNan);
  EXPECT_FALSE(between(ElementType::F32, {}, {}).isNan);
}

TEST(Compare, UnitsInTheLastPlace) {
  double next = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(between(ElementType::F32, {next}, {1}).ulps, 1);
  EXPECT_EQ(between(ElementType::F32, {1}, {next}).ulps, 1);
  // Half of the numbers below 2 are that close to 1; across zero they add up.
  EXPECT_EQ(between(ElementType::F32, {2}, {1}).ulps, 1 << 23);
  double least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(between(ElementType::F32, {least}, {-least}).ulps, 2);
  EXPECT_EQ(between(ElementType::F32, {0.0}, {-0.0}).ulps, 0);
  EXPECT_EQ(between(ElementType::F16, {1 + 1.0 / 1024}, {1}).ulps, 1);
  EXPECT_EQ(between(ElementType::BF16, {1 + 3.0 / 128}, {1}).ulps, 3);
  EXPECT_EQ(between(ElementType::I32, {7}, {3}).ulps, 0);
}

TEST(Compare, NaNsAndInfinitiesMustStandInTheSamePlaces) {
  EXPECT_EQ(between(ElementType::F32, {nan, infinity, -infinity, 1}, {nan, infinity, -infinity, 1})
                .maxAbsolute,
            0);
  for (auto [a, b] : {std::pair(nan, 1.0), {1.0, nan}, {infinity, -infinity}, {infinity, 1.0}}) {
    Difference found = between(ElementType::F32, {1, a}, {1, b});
    EXPECT_EQ(found.maxAbsolute, infinity);
    EXPECT_EQ(found.relative, infinity);
    EXPECT_EQ(found.ulps, infinity);
    EXPECT_EQ(found.worst, 1);
    EXPECT_EQ(found.cosine, 1);
    EXPECT_EQ(between(ElementType::F32, {a, a}, {b, b}).cosine, 0); // Of nothing.
  }
  EXPECT_EQ(between(ElementType::F32, {nan, infinity}, {nan, infinity}).cosine, 1);
}

TEST(Compare, AgainstZeros) {
  Difference found = between(ElementType::F32, {0, 1e-30}, {0, 0});
  EXPECT_EQ(found.relative, infinity);
  EXPECT_EQ(found.cosine, 0);
  EXPECT_EQ(between(ElementType::F32, {0, 0}, {0, 0}).cosine, 1);
}

TEST(Compare, WideIntegersAreExact) {
  int64_t big = int64_t(1) << 62;
  std::vector<int64_t> a{big, 5}, b{big + 1, 5};
  Tensor x = std::move(*Tensor::from<int64_t>({2}, std::span<const int64_t>(a)));
  Tensor y = std::move(*Tensor::from<int64_t>({2}, std::span<const int64_t>(b)));
  EXPECT_EQ(difference(x.view(), y.view()).maxAbsolute, 1);
  EXPECT_EQ(difference(y.view(), x.view()).maxAbsolute, 1);
  std::vector<int64_t> low{std::numeric_limits<int64_t>::min()}, high{1};
  Tensor l = std::move(*Tensor::from<int64_t>({1}, std::span<const int64_t>(low)));
  Tensor h = std::move(*Tensor::from<int64_t>({1}, std::span<const int64_t>(high)));
  EXPECT_EQ(difference(l.view(), h.view()).maxAbsolute, std::ldexp(1, 63));
}

TEST(Compare, ComplexAsPairs) {
  std::vector<float> a{1, 2, 3, 4}, b{1, 2, 3, 2};
  std::vector<int64_t> shape{2};
  TensorView x{ElementType::C64, shape, std::as_bytes(std::span(a))};
  TensorView y{ElementType::C64, shape, std::as_bytes(std::span(b))};
  EXPECT_EQ(difference(x, y).maxAbsolute, 2);
  EXPECT_EQ(difference(x, y).worst, 3);
}

TEST(Compare, EmptyTensors) { EXPECT_EQ(between(ElementType::F32, {}, {}).relative, 0); }

} // namespace
} // namespace kintsugi::verify
