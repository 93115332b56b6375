//===- rearranging_test.cpp - What operators that rearrange and choose refuse -===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::errorOf;
using test::intAttribute;
using test::intsAttribute;
using test::known;
using test::Operand;

const Operand image{test::f32, {"2", "3"}};

TEST(OneHot, Refuses) {
  Operand indices{test::i64, {"2"}}, values{test::f32, {"2"}};
  EXPECT_EQ(errorOf("OneHot", {indices, known({4}), values}), "");
  EXPECT_EQ(errorOf("OneHot", {{test::boolean, {"2"}}, known({4}), values}),
            "its indices must be numbers, but are booleans");
  EXPECT_EQ(errorOf("OneHot", {indices, known({4}), {test::f32, {"3"}}}),
            "its values have shape [3], but must be two, for off and on");
  EXPECT_EQ(errorOf("OneHot", {indices, known({4, 4}), values}), "its depth must be one number");
  EXPECT_EQ(errorOf("OneHot", {indices, known({-1}), values}),
            "its result would have the shape [2, -1], which is negative or too large");
  EXPECT_EQ(errorOf("OneHot", {indices, {test::i64, {"1"}}, values}),
            "its depth 'x1' must be known when compiling; bind it with --bind x1=FILE.npz");
  EXPECT_EQ(errorOf("OneHot", {indices, known({4}), values}, {intAttribute("axis", 2)}),
            "axis 2 is outside of a tensor with 2 dimensions");
}

TEST(Compress, Refuses) {
  auto condition = [](std::vector<int64_t> values) {
    return Operand{test::boolean, {std::to_string(values.size())}, values};
  };
  std::string axis = intAttribute("axis", 1);
  EXPECT_EQ(errorOf("Compress", {image, condition({1, 0, 1})}, {axis}), "");
  EXPECT_EQ(errorOf("Compress", {image, condition({0})}, {axis}), "");
  EXPECT_EQ(errorOf("Compress", {image, condition({0, 0, 0, 1})}, {axis}),
            "its condition has 4 elements, but there are 3 to choose from");
  EXPECT_EQ(errorOf("Compress", {image, condition({0, 0, 0, 1})}), "");
  EXPECT_EQ(errorOf("Compress", {image, known({1})}), "its condition must be booleans");
  EXPECT_EQ(errorOf("Compress", {image, {test::boolean, {"1", "1"}}}),
            "its condition has shape [1, 1], but must have 1 dimensions");
  EXPECT_EQ(errorOf("Compress", {image, {test::boolean, {"2"}}}, {axis}), "");
  EXPECT_EQ(errorOf("Compress", {image, {test::boolean, {"4"}}}, {axis}),
            "its condition has 4 elements, but there are 3 to choose from");
}

TEST(ReverseSequence, Refuses) {
  auto axes = [](int64_t batch, int64_t time) {
    return std::vector{intAttribute("batch_axis", batch), intAttribute("time_axis", time)};
  };
  EXPECT_EQ(errorOf("ReverseSequence", {image, known({0, 3})}, axes(0, 1)), "");
  EXPECT_EQ(errorOf("ReverseSequence", {image, known({0, 4})}, axes(0, 1)),
            "its sequence length 4 is outside of 0 to 3");
  EXPECT_EQ(errorOf("ReverseSequence", {image, known({0, -1})}, axes(0, 1)),
            "its sequence length -1 is outside of 0 to 3");
  EXPECT_EQ(errorOf("ReverseSequence", {image, known({0, 3})}),
            "its lengths are i64 of shape [2], but must be integers, one for each of 3 sequences");
  EXPECT_EQ(errorOf("ReverseSequence", {image, known({0, 3})}, axes(1, 1)),
            "its batch_axis is 1 and its time_axis 1; one must be 0 and the other 1");
  EXPECT_EQ(errorOf("ReverseSequence", {image, known({0, 3})}, axes(2, -1)),
            "its batch_axis is 2 and its time_axis -1; one must be 0 and the other 1");
  EXPECT_EQ(errorOf("ReverseSequence", {{test::f32, {"2"}}, known({0, 3})}, axes(0, 1)),
            "its input has shape [2], but needs a dimension of sequences and one of time");
}

TEST(TensorScatter, Refuses) {
  Operand cache{test::f32, {"2", "5", "3"}}, update{test::f32, {"2", "2", "3"}};
  auto circular = test::textAttribute("mode", "circular");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update}), "");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update, known({3, 0})}), "");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update, known({4, 0})}),
            "its write index 4 is outside of 0 to 3");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update, known({4, -7})}, {circular}), "");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update, known({4})}),
            "its write indices are i64 of shape [1], but must be integers, one for each of 2 "
            "sequences");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update}, {intAttribute("axis", -3)}),
            "axis -3 is that of the batch, which it can't write along");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update}, {intAttribute("axis", 2)}),
            "its update of shape [2, 2, 3] does not fit its cache of shape [2, 5, 3] along axis 2");
  EXPECT_EQ(errorOf("TensorScatter", {cache, {test::f32, {"2", "6", "3"}}}),
            "its update of shape [2, 6, 3] does not fit its cache of shape [2, 5, 3] along axis 1");
  EXPECT_EQ(errorOf("TensorScatter", {cache, update}, {test::textAttribute("mode", "spiral")}),
            "its mode 'spiral' is not known; it must be linear or circular");
}

TEST(CenterCropPad, Refuses) {
  EXPECT_EQ(errorOf("CenterCropPad", {image, known({5, 0})}), "");
  EXPECT_EQ(errorOf("CenterCropPad", {image, known({5})}), "its shape has 1 extents for 2 axes");
  EXPECT_EQ(errorOf("CenterCropPad", {image, known({5, -1})}),
            "its result would have the shape [5, -1], which is negative or too large");
  EXPECT_EQ(errorOf("CenterCropPad", {image, known({5, 4})}, {intsAttribute("axes", {1, -1})}),
            "axis -1 is named twice");
}

TEST(Col2Im, Refuses) {
  Operand columns{test::f32, {"1", "8", "4"}};
  auto error = [&](std::vector<int64_t> extents, std::vector<int64_t> block,
                   std::vector<std::string> attributes = {}) {
    return errorOf("Col2Im", {columns, known(std::move(extents)), known(std::move(block))},
                   attributes);
  };
  EXPECT_EQ(error({3, 3}, {2, 2}), "");
  EXPECT_EQ(error({3, 4}, {2, 2}),
            "its input of shape [1, 8, 4] does not hold [2, 3] blocks of [2, 2] elements");
  EXPECT_EQ(error({4, 4}, {3, 3}),
            "its input of shape [1, 8, 4] does not hold [2, 2] blocks of [3, 3] elements");
  EXPECT_EQ(error({3, 3}, {2}), "its image has 2 dimensions and its blocks have 1");
  EXPECT_EQ(error({3, 3}, {0, 2}),
            "its image [3, 3] or its block [0, 2] has an extent out of range");
  EXPECT_EQ(error({3, 3}, {4, 2}), "its block of extent 4 does not fit an image of extent 3");
  EXPECT_EQ(error({3, 3}, {2, 2}, {intsAttribute("strides", {0, 1})}),
            "strides has the number 0, which is out of range");
  EXPECT_EQ(error({3, 3}, {2, 2}, {intsAttribute("pads", {0, 1})}),
            "pads has 2 numbers instead of 4");
}

TEST(CumProd, Refuses) {
  EXPECT_EQ(errorOf("CumProd", {{test::boolean, {"2"}}, known({0})}),
            "booleans have no arithmetic");
  EXPECT_EQ(errorOf("CumProd", {image, known({2})}),
            "axis 2 is outside of a tensor with 2 dimensions");
}

TEST(WindowFunctions, Refuse) {
  for (const char *op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    EXPECT_EQ(errorOf(op, {known({8})}), "");
    EXPECT_EQ(errorOf(op, {known({-8})}),
              "its result would have the shape [-8], which is negative or too large");
    EXPECT_EQ(errorOf(op, {known({8, 8})}), "its size must be one number");
    EXPECT_EQ(errorOf(op, {{test::i64, {"1"}}}),
              "its size 'x0' must be known when compiling; bind it with --bind x0=FILE.npz");
    EXPECT_EQ(errorOf(op, {known({8})}, {intAttribute("periodic", 2)}),
              "its attribute 'periodic' is 2, but must be 0 or 1");
    EXPECT_EQ(errorOf(op, {known({8})}, {intAttribute("output_datatype", test::boolean)}),
              "elements of type bool are not supported, and it makes some");
    EXPECT_EQ(errorOf(op, {known({8})}, {intAttribute("output_datatype", (1ll << 32) + 1)}),
              "attribute 'output_datatype' is no element type");
  }
}

} // namespace
} // namespace kintsugi::import
