//===- attention_test.cpp - What attention refuses ---------------------------===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::absent;
using test::boolean;
using test::f32;
using test::f64;
using test::floats;
using test::i32;
using test::i64;
using test::intAttribute;
using test::known;
using test::Operand;
using Attributes = std::vector<std::string>;

/// Two samples of 6 heads of 4 queries, and of 3 heads of 5 keys and values, of 8 elements.
const Operand query = floats({"2", "6", "4", "8"}), key = floats({"2", "3", "5", "8"});

std::string error(std::vector<Operand> operands, Attributes attributes = {}, int64_t opset = 25) {
  return test::errorOf("Attention", operands, attributes, opset);
}

TEST(Attention, Shapes) {
  EXPECT_EQ(error({query, key, key}), "");
  EXPECT_EQ(error({query, key, floats({"2", "3", "5", "9"})}), "");
  EXPECT_EQ(error({{i64, {"2", "6", "4", "8"}}, key, key}),
            "it needs floating-point numbers, but 'x0' is i64");
  EXPECT_EQ(error({query, {f64, {"2", "3", "5", "8"}}, key}),
            "its inputs have different element types, f32 and f64");
  EXPECT_EQ(error({floats({"6", "4"}), key, key}),
            "its input of shape [6, 4] must have 3 or 4 dimensions");
  EXPECT_EQ(error({query, floats({"1", "3", "5", "8"}), key}),
            "its queries, keys and values of shapes [2, 6, 4, 8], [1, 3, 5, 8] and [2, 3, 5, 8] "
            "must be of as many samples");
  EXPECT_EQ(error({query, key, floats({"2", "3", "4", "8"})}),
            "its queries, keys and values of shapes [2, 6, 4, 8], [2, 3, 5, 8] and [2, 3, 4, 8] "
            "must have a value for each key");
  EXPECT_EQ(error({query, floats({"2", "3", "5", "7"}), key}),
            "its heads have queries of 8 elements and keys of 7; they must have as many");
}

TEST(Attention, Heads) {
  auto heads = [](int64_t queries, int64_t keys) {
    return Attributes{intAttribute("q_num_heads", queries), intAttribute("kv_num_heads", keys)};
  };
  Operand flat = floats({"2", "4", "48"}), flatKey = floats({"2", "5", "24"});
  EXPECT_EQ(error({flat, flatKey, flatKey}, heads(6, 3)), "");
  EXPECT_EQ(error({flat, flatKey, flatKey}),
            "its q_num_heads must be given, since its input has 3 dimensions");
  EXPECT_EQ(error({flat, flatKey, flatKey}, heads(5, 3)),
            "its rows of 48 elements are not 5 heads of one size");
  EXPECT_EQ(error({flat, flatKey, flatKey}, heads(6, -3)),
            "its kv_num_heads must be given, since its input has 3 dimensions");
  EXPECT_EQ(error({flat, floats({"2", "5", "32"}), floats({"2", "5", "32"})}, heads(6, 4)),
            "its 6 heads of queries can't share 4 heads of keys evenly");
  EXPECT_EQ(error({query, key, key}, heads(6, 6)),
            "its kv_num_heads is 6, but its input of shape [2, 3, 5, 8] has 3 heads");
  EXPECT_EQ(error({query, flatKey, flatKey}, heads(6, 3)),
            "its queries, keys and values of shapes [2, 6, 4, 8], [2, 5, 24] and [2, 5, 24] must "
            "all have 3 or all have 4 dimensions");
  EXPECT_EQ(error({query, floats({"2", "0", "5", "8"}), floats({"2", "0", "5", "8"})}),
            "its 6 heads of queries can't share 0 heads of keys evenly");
}

TEST(Attention, Masks) {
  auto masked = [](int type, std::vector<std::string> dims, int64_t opset = 25) {
    return error({query, key, key, {type, std::move(dims)}}, {}, opset);
  };
  EXPECT_EQ(masked(boolean, {"4", "5"}), "");
  EXPECT_EQ(masked(f32, {"2", "1", "1", "5"}), "");
  EXPECT_EQ(masked(f64, {"4", "5"}),
            "its attn_mask must be booleans or of its query's type, but is f64");
  EXPECT_EQ(masked(f32, {"3", "4", "5"}),
            "its attn_mask of shape [3, 4, 5] does not broadcast to scores of shape [2, 6, 4, 5]");
  EXPECT_EQ(masked(f32, {"1", "2", "6", "4", "5"}),
            "its attn_mask of shape [1, 2, 6, 4, 5] does "
            "not broadcast to scores of shape [2, 6, 4, 5]");
  EXPECT_EQ(masked(f32, {"4", "6"}),
            "its attn_mask of shape [4, 6] does not broadcast to scores of shape [2, 6, 4, 5]");
  EXPECT_EQ(masked(f32, {"4", "3"}), "") << "keys that the mask says nothing of are hidden";
  EXPECT_EQ(masked(f32, {"4", "0"}), "");
  EXPECT_EQ(masked(f32, {"4", "3"}, 23),
            "its attn_mask of shape [4, 3] does not broadcast to scores of shape [2, 6, 4, 5]");
}

TEST(Attention, Past) {
  Operand past = floats({"2", "3", "7", "8"});
  EXPECT_EQ(error({query, key, key, absent, past, past}), "");
  EXPECT_EQ(error({query, key, key, floats({"4", "12"}), past, past}, {}, 23), "");
  EXPECT_EQ(error({query, key, key, absent, past}),
            "past_key and past_value go together; give both or none");
  EXPECT_EQ(error({query, key, key, absent, past, floats({"2", "3", "6", "8"})}),
            "its past_key and past_value hold 7 and 6 tokens; they must hold as many");
  EXPECT_EQ(error({query, key, key, absent, floats({"2", "6", "7", "8"}), past}),
            "its past of shape [2, 6, 7, 8] does not fit its input of shape [2, 3, 5, 8] with 3 "
            "heads");
  EXPECT_EQ(error({query, key, key, absent, floats({"2", "3", "56"}), past}),
            "its past of shape [2, 3, 56] does not fit its input of shape [2, 3, 5, 8] with 3 "
            "heads");
}

TEST(Attention, ValidKeys) {
  auto valid = [](Operand keys) { return error({query, key, key, absent, absent, absent, keys}); };
  EXPECT_EQ(valid({i64, {"2"}}), "");
  EXPECT_EQ(valid(known({0, 5})), "");
  EXPECT_EQ(valid(known({0, 6})), "its number of valid keys 6 is outside of 0 to 5");
  EXPECT_EQ(valid(known({-1, 5})), "its number of valid keys -1 is outside of 0 to 5");
  EXPECT_EQ(valid({i32, {"2"}}), "its nonpad_kv_seqlen must be i64, but is i32");
  EXPECT_EQ(valid({i64, {"3"}}),
            "its nonpad_kv_seqlen of shape [3] needs a number for each of 2 samples");
  EXPECT_EQ(error({query, key, key, absent, key, key, {i64, {"2"}}}),
            "its nonpad_kv_seqlen says how much of its keys is valid, so it takes no past_key; "
            "leave one out");
}

TEST(Attention, Attributes) {
  auto with = [](const char *name, int64_t value) {
    return error({query, key, key}, {intAttribute(name, value)});
  };
  EXPECT_EQ(with("qk_matmul_output_mode", 3), "");
  EXPECT_EQ(with("qk_matmul_output_mode", 4), "its qk_matmul_output_mode must be 0, 1, 2 or 3");
  EXPECT_EQ(with("softmax_precision", f64), "");
  EXPECT_EQ(with("softmax_precision", i64),
            "its softmax_precision must be a type of floating-point numbers");
  EXPECT_EQ(with("left_window_size", 3), "");
  EXPECT_EQ(with("left_window_size", -2),
            "left_window_size and right_window_size must be -1 or more");
}

} // namespace
} // namespace kintsugi::import
