//===- byte_products_test.cpp - What products of bytes refuse ----------------===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::absent;
using test::errorOf;
using test::f32;
using test::f64;
using test::i32;
using test::Operand;

constexpr int u8 = 2, i8 = 3, f16 = 10;
const Operand one{f32, {"1"}}, zero{u8, {"1"}};

TEST(ByteProducts, MatMulInteger) {
  auto error = [](Operand a, Operand b, Operand aZero = absent, Operand bZero = absent) {
    return errorOf("MatMulInteger", {a, b, aZero, bZero});
  };
  Operand a{u8, {"2", "3", "4"}}, b{i8, {"4", "5"}};
  EXPECT_EQ(error(a, b), "");
  EXPECT_EQ(error(a, b, {u8, {"3"}}, {i8, {"5"}}), "");
  EXPECT_EQ(error(a, b, {u8, {"2", "3", "1"}}, {i8, {"1", "5"}}), "");
  EXPECT_EQ(error({i32, {"2", "3", "4"}}, b), "it multiplies integers of 8 bits, not i32");
  EXPECT_EQ(error(a, b, {i8, {"1"}}), "its inputs have different element types, u8 and i8");
  EXPECT_EQ(error(a, b, {u8, {"4"}}),
            "a scale or zero point of shape [4] does not fit a factor of shape [2, 3, 4]");
  EXPECT_EQ(error(a, b, absent, {i8, {"4"}}),
            "a scale or zero point of shape [4] does not fit a factor of shape [4, 5]");
  EXPECT_EQ(error({u8, {"4"}}, b, {u8, {"4"}}),
            "a scale or zero point of shape [4] does not fit a factor of shape [4]");
  EXPECT_EQ(error(a, {i8, {"3", "5"}}),
            "matrices of shapes [2, 3, 4] and [3, 5] can't be multiplied");
}

TEST(ByteProducts, QLinearMatMul) {
  Operand a{u8, {"3", "4"}}, b{u8, {"4", "5"}};
  auto error = [&](Operand scale, Operand yScale = one, Operand yZero = zero) {
    return errorOf("QLinearMatMul", {a, one, zero, b, scale, zero, yScale, yZero});
  };
  EXPECT_EQ(error(one), "");
  EXPECT_EQ(error({f32, {"5"}}), "");
  EXPECT_EQ(error({f16, {"1"}}), "its inputs have different element types, f32 and f16");
  EXPECT_EQ(error({f32, {"3"}}),
            "a scale or zero point of shape [3] does not fit a factor of shape [4, 5]");
  EXPECT_EQ(error(one, {f32, {"5"}}),
            "a scale or zero point of shape [5] does not fit a factor of shape [3, 5]");
  EXPECT_EQ(error(one, one, {i32, {"1"}}), "it multiplies integers of 8 bits, not i32");
}

TEST(ByteProducts, Convolutions) {
  Operand x{u8, {"1", "2", "5", "5"}}, w{i8, {"4", "2", "3", "3"}};
  auto integers = [&](Operand xZero, Operand wZero) {
    return errorOf("ConvInteger", {x, w, xZero, wZero});
  };
  EXPECT_EQ(integers(absent, absent), "");
  EXPECT_EQ(integers(zero, {i8, {"4"}}), "");
  EXPECT_EQ(integers({u8, {"2"}}, absent),
            "a scale or zero point of shape [2] does not fit a factor of shape [1, 2, 5, 5]");
  EXPECT_EQ(integers(zero, {i8, {"2"}}),
            "a scale or zero point of shape [2] does not fit a factor of shape [4, 2, 3, 3]");
  auto linear = [&](Operand bias) {
    Operand wZero{i8, {"1"}};
    return errorOf("QLinearConv", {x, one, zero, w, {f32, {"4"}}, wZero, one, zero, bias});
  };
  EXPECT_EQ(linear(absent), "");
  EXPECT_EQ(linear({i32, {"4"}}), "");
  EXPECT_EQ(linear({i32, {"2"}}), "B has 2 elements for 4 output channels");
  EXPECT_EQ(linear({f32, {"4"}}), "its inputs have different element types, i32 and f32");
}

TEST(ByteProducts, ZeroPointsOfOneNumber) {
  Operand x{u8, {"3", "4"}};
  auto error = [&](std::vector<std::string> scale, std::vector<std::string> zeroPoint) {
    return errorOf("DequantizeLinear", {x, {f32, scale}, {u8, zeroPoint}});
  };
  EXPECT_EQ(error({"1"}, {"1"}), "");
  EXPECT_EQ(error({"4"}, {"1"}), "its zero point has shape [1], but its scale [4]");
}

} // namespace
} // namespace kintsugi::import
