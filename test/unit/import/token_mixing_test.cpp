//===- token_mixing_test.cpp - What steps along tokens refuse -----------------===//
//
// Attention by a state, convolutions that look back, attention that graphs change.
//
//===----------------------------------------------------------------------===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::absent;
using test::errorOf;
using test::f32;
using test::f64;
using test::floats;
using test::i64;
using test::intAttribute;
using test::Operand;
using test::textAttribute;

using Attributes = std::vector<std::string>;

/// Of operators that have a state as their second output.
std::string stateful(const std::string &op, const std::vector<Operand> &operands,
                     const Attributes &attributes) {
  return errorOf(op, operands, attributes, 27, "", {"y", "state"});
}

Attributes heads(int64_t queries, int64_t keys, const std::string &rule) {
  return {intAttribute("q_num_heads", queries), intAttribute("kv_num_heads", keys),
          textAttribute("update_rule", rule)};
}

/// Queries of 4 heads of 3 elements, keys and values of 2 heads of 3 and 5 elements.
const Operand query = floats({"2", "7", "12"}), key = floats({"2", "7", "6"}),
              value = floats({"2", "7", "10"});

std::string linear(std::vector<Operand> more, const std::string &rule,
                   std::pair<int64_t, int64_t> counts = {4, 2}) {
  std::vector<Operand> operands{query, key, value};
  operands.insert(operands.end(), more.begin(), more.end());
  return stateful("LinearAttention", operands, heads(counts.first, counts.second, rule));
}

TEST(TokenMixing, LinearAttentionShapes) {
  EXPECT_EQ(linear({}, "linear"), "");
  EXPECT_EQ(linear({floats({"2", "2", "3", "5"})}, "linear"), "");
  EXPECT_EQ(linear({floats({"2", "2", "5", "3"})}, "linear"),
            "its past_state has shape [2, 2, 5, 3] instead of [2, 2, 3, 5]");
  EXPECT_EQ(linear({}, "linear", {5, 2}), "its rows of 12 elements are not 5 heads of one size");
  EXPECT_EQ(linear({}, "linear", {4, -2}),
            "its kv_num_heads must be given, since its input has 3 dimensions");
  EXPECT_EQ(linear({}, "linear", {3, 2}), "its 3 heads of queries can't share 2 heads of keys");
  EXPECT_EQ(linear({}, "linear", {2, 2}), "its key has shape [2, 7, 6] instead of [2, 7, 12]");
  EXPECT_EQ(
      stateful("LinearAttention", {query, {f64, {"2", "7", "6"}}, value}, heads(4, 2, "linear")),
      "its inputs have different element types, f32 and f64");
  EXPECT_EQ(
      stateful("LinearAttention", {{i64, {"2", "7", "12"}}, key, value}, heads(4, 2, "linear")),
      "it needs floating-point numbers, but 'x0' is i64");
}

TEST(TokenMixing, HeadsOfNothing) {
  Operand nothing = floats({"2", "7", "0"});
  std::string said = stateful("LinearAttention", {nothing, nothing, nothing},
                              heads(int64_t(1) << 62, int64_t(1) << 61, "linear"));
  EXPECT_NE(said, "");
}

TEST(TokenMixing, LinearAttentionRules) {
  Operand perHead = floats({"2", "7", "2"}), perElement = key, forAll = floats({"2", "7", "1"});
  EXPECT_EQ(linear({absent, perHead}, "gated"), "");
  EXPECT_EQ(linear({absent, perElement}, "gated"), "");
  EXPECT_EQ(linear({absent, absent, perHead}, "delta"), "");
  EXPECT_EQ(linear({absent, perHead, forAll}, "gated_delta"), "");
  EXPECT_EQ(linear({absent, forAll}, "gated"),
            "its decay has shape [2, 7, 1] instead of [2, 7, 2]");
  EXPECT_EQ(linear({absent, absent, perElement}, "delta"),
            "its beta has shape [2, 7, 6] instead of [2, 7, 2]");
  EXPECT_EQ(linear({}, "gated"), "its update rule needs a decay");
  EXPECT_EQ(linear({absent, perHead}, "gated_delta"), "its update rule needs a beta");
  EXPECT_EQ(linear({absent, perHead}, "linear"), "its update rule has no decay");
  EXPECT_EQ(linear({absent, absent, perHead}, "linear"), "its update rule has no beta");
  EXPECT_EQ(linear({}, "softmax"), "its update_rule 'softmax' is not known; it must be linear, "
                                   "gated, delta or gated_delta");
}

TEST(TokenMixing, CausalConvolution) {
  auto error = [](std::vector<Operand> operands, Attributes attributes = {}) {
    return stateful("CausalConvWithState", operands, attributes);
  };
  Operand x = floats({"2", "3", "7"}), weight = floats({"3", "1", "4"});
  EXPECT_EQ(error({x, weight, floats({"3"}), floats({"2", "3", "3"})}), "");
  EXPECT_EQ(error({x, floats({"3", "1", "1"})}), "");
  EXPECT_EQ(error({x, floats({"3", "2", "4"})}),
            "its weight of shape [3, 2, 4] is not one kernel for each of 3 channels");
  EXPECT_EQ(error({x, floats({"3", "1", "0"})}),
            "its weight of shape [3, 1, 0] is not one kernel for each of 3 channels");
  EXPECT_EQ(error({x, weight, absent, floats({"2", "3", "4"})}),
            "its past_state has shape [2, 3, 4] instead of [2, 3, 3]");
  EXPECT_EQ(error({x, weight, floats({"4"})}), "B has 4 elements for 3 output channels");
  EXPECT_EQ(error({x, weight}, {textAttribute("activation", "relu")}),
            "its activation 'relu' is not known; it must be none, silu or swish");
}

TEST(TokenMixing, FlexAttention) {
  auto error = [](Operand q, Operand k, Operand v, Attributes attributes = {}) {
    return errorOf("FlexAttention", {q, k, v}, attributes, 26, "ai.onnx.preview");
  };
  Operand q = floats({"2", "6", "4", "8"}), k = floats({"2", "3", "5", "8"});
  EXPECT_EQ(error(q, k, k), "");
  EXPECT_EQ(error(q, k, floats({"2", "3", "5", "9"})), "");
  EXPECT_EQ(error(floats({"6", "4", "8"}), k, k),
            "its queries, keys and values of shapes [6, 4, 8], [2, 3, 5, 8] and [2, 3, 5, 8] must "
            "have 4 dimensions");
  EXPECT_EQ(error(q, floats({"2", "3", "5", "7"}), k),
            "its queries, keys and values of shapes [2, 6, 4, 8], [2, 3, 5, 7] and [2, 3, 5, 8] "
            "don't fit each other");
  EXPECT_EQ(error(q, floats({"2", "4", "5", "8"}), floats({"2", "4", "5", "8"})),
            "its 6 heads of queries can't share 4 heads of keys evenly");
  EXPECT_EQ(error(q, k, k, {intAttribute("softmax_precision", i64)}),
            "its softmax_precision is i64, but must be a type of floating-point numbers");
  EXPECT_EQ(error(q, k, k, {intAttribute("axis", 1)}),
            "attribute 'axis' is not known; leave it out");
}

} // namespace
} // namespace kintsugi::import
