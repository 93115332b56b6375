//===- conversions_test.cpp - What conversions of element types refuse -------===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::absent;
using test::errorOf;
using test::f32;
using test::i32;
using test::i64;
using test::intAttribute;
using test::Operand;
using Attributes = std::vector<std::string>;

constexpr int u8 = 2, i8 = 3, text = 8, f16 = 10, complex64 = 14, bf16 = 16, f8e4m3fn = 17, i4 = 22;

Operand of(int type, std::vector<std::string> dims = {"4", "6"}) { return {type, std::move(dims)}; }

TEST(Conversions, CastTakesAllTypesOfNumbers) {
  for (int type = 1; type <= 26; ++type) {
    bool isNumber = type != text && type != complex64 && type != complex64 + 1;
    std::string error = errorOf("Cast", {of(f32)}, {intAttribute("to", type)});
    EXPECT_EQ(error.empty(), isNumber) << type << ": " << error;
  }
  EXPECT_EQ(errorOf("Cast", {of(f32)}, {intAttribute("to", 99)}),
            "attribute 'to' is no element type");
  EXPECT_EQ(errorOf("Cast", {of(f32)},
                    {intAttribute("to", 24), test::textAttribute("round_mode", "away")}),
            "its attribute 'round_mode' must be up, down or nearest");
}

TEST(Conversions, BitsAreOfOneSize) {
  EXPECT_EQ(errorOf("BitCast", {of(f32)}, {intAttribute("to", i32)}), "");
  EXPECT_EQ(errorOf("BitCast", {of(f32)}, {intAttribute("to", i64)}),
            "elements of type f32 and i64 have different sizes");
  EXPECT_EQ(errorOf("BitCast", {of(f16)}, {intAttribute("to", bf16)}),
            "the bits of f16 as bf16 are not supported; those of f32, f64, integers and booleans "
            "are");
}

TEST(Conversions, WhatNothingComputesInIsMoved) {
  EXPECT_EQ(errorOf("Transpose", {of(i4)}), "");
  EXPECT_EQ(errorOf("Neg", {of(f8e4m3fn)}),
            "elements of type f8e4m3fn are not computed with; have a Cast or DequantizeLinear "
            "before it convert 'x0'");
}

TEST(Conversions, ScalesFitTheTensor) {
  Operand x = of(f32), one = of(f32, {"1"}), columns = of(f32, {"6"}), point = of(i8, {"6"});
  EXPECT_EQ(errorOf("QuantizeLinear", {x, one}), "");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, columns, point}), "");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, columns}, {intAttribute("axis", 0)}),
            "its scale has shape [6], which fits neither the tensor, of shape [4, 6], nor its "
            "axis, nor blocks along that");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, of(f32, {"2", "6"})},
                    {intAttribute("axis", 0), intAttribute("block_size", 2)}),
            "");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, of(f32, {"2", "6"})}, {intAttribute("block_size", -1)}),
            "its attribute 'block_size' is -1, which is below 0");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, columns, of(i8, {"1"})}),
            "its zero point has shape [1], but its scale [6]");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, one, of(i8, {"1"})}, {intAttribute("output_dtype", u8)}),
            "its attribute 'output_dtype' is not its zero point's type");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, one}, {intAttribute("output_dtype", i32)}),
            "nothing is quantized to i32");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, one}, {intAttribute("precision", i32)}),
            "its attribute 'precision' is no type that is divided in");
  EXPECT_EQ(errorOf("QuantizeLinear", {x, of(i32, {"1"})}),
            "it needs floating-point numbers, but 'x1' is i32");
  EXPECT_EQ(errorOf("DequantizeLinear", {of(u8), one, of(i8, {"1"})}),
            "its zero point is i8, but what is quantized is u8");
  EXPECT_EQ(errorOf("DequantizeLinear", {of(u8), one, absent}, {intAttribute("output_dtype", i64)}),
            "nothing is dequantized to i64");
}

} // namespace
} // namespace kintsugi::import
