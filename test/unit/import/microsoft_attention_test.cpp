//===- microsoft_attention_test.cpp - What com.microsoft's attentions refuse -===//

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
using Operands = std::vector<Operand>;
using Attributes = std::vector<std::string>;

Operand integers(std::vector<std::string> dims) { return {i32, std::move(dims)}; }

std::string errorOf(const char *op, Operands operands, Attributes attributes,
                    std::vector<std::string> outputs = {"y"}) {
  return test::errorOf(op, operands, attributes, 20, "com.microsoft", outputs);
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention

/// Two samples of 3 tokens with 4 heads of queries and 2 of keys, of 8 elements.
Operands grouped(Operands more = {}) {
  Operands result{floats({"2", "3", "32"}), floats({"2", "3", "16"}), floats({"2", "3", "16"})};
  result.insert(result.end(), more.begin(), more.end());
  return result;
}
const Operand lastKeys = integers({"2"}), cache = floats({"2", "2", "8", "8"});

std::string groupedError(Operands operands, Attributes more = {},
                         std::vector<std::string> outputs = {"y"}) {
  more.push_back(intAttribute("num_heads", 4));
  more.push_back(intAttribute("kv_num_heads", 2));
  return errorOf("GroupQueryAttention", operands, more, outputs);
}

TEST(GroupQueryAttention, Shapes) {
  Operands rest{absent, absent, lastKeys, integers({"1"})};
  EXPECT_EQ(groupedError(grouped(rest)), "");
  EXPECT_EQ(groupedError({floats({"2", "3", "64"}), absent, absent, absent, absent, lastKeys,
                          integers({"1"})}),
            "");
  EXPECT_EQ(groupedError({floats({"2", "3", "60"}), absent, absent, absent, absent, lastKeys,
                          integers({"1"})}),
            "its rows of 60 elements are not 8 heads of one size");
  EXPECT_EQ(groupedError({floats({"2", "3", "32"}), floats({"2", "4", "16"}),
                          floats({"2", "4", "16"}), absent, absent, lastKeys, integers({"1"})}),
            "its query of shape [2, 3, 32] with 4 heads does not fit keys or values of shape "
            "[2, 4, 16] with 2");
  EXPECT_EQ(groupedError({floats({"2", "3", "32"}), floats({"2", "3", "16"}), absent, absent,
                          absent, lastKeys, integers({"1"})}),
            "its key and value go together; give both or none");
  EXPECT_EQ(groupedError({{f64, {"2", "3", "32"}},
                          floats({"2", "3", "16"}),
                          floats({"2", "3", "16"}),
                          absent,
                          absent,
                          lastKeys,
                          integers({"1"})}),
            "its inputs have different element types, f64 and f32");
  EXPECT_EQ(groupedError(grouped()), "its seqlens_k and total_sequence_length must be given");
  EXPECT_EQ(errorOf("GroupQueryAttention", grouped(rest),
                    {intAttribute("num_heads", 4), intAttribute("kv_num_heads", 3)}),
            "its 4 heads of queries (num_heads) can't share 3 heads of keys (kv_num_heads) evenly");
}

TEST(GroupQueryAttention, Lengths) {
  EXPECT_EQ(groupedError(grouped({absent, absent, integers({"3"}), integers({"1"})})),
            "its seqlens_k must be integers, one for each of 2 samples, but is i32 of shape [3]");
  EXPECT_EQ(groupedError(grouped({absent, absent, lastKeys, integers({"2"})})),
            "its total_sequence_length must be one integer, but is i32 of shape [2]");
  EXPECT_EQ(groupedError(grouped({absent, absent, lastKeys, known({4})})),
            "its total_sequence_length of 4 does not fit 3 tokens and a cache of 0; it must be "
            "that of both, or what the cache has room for");
  EXPECT_EQ(groupedError(grouped({cache, cache, lastKeys, known({9})})),
            "its total_sequence_length of 9 does not fit 3 tokens and a cache of 8; it must be "
            "that of both, or what the cache has room for");
  EXPECT_EQ(groupedError(grouped({cache, cache, lastKeys, known({11})})), "");
  EXPECT_EQ(groupedError(grouped({cache, cache, known({1, 9}), known({8})})),
            "its seqlens_k 9 is outside of 0 to 7");
  Operand shortCache = floats({"2", "2", "2", "8"});
  EXPECT_EQ(groupedError(grouped({shortCache, shortCache, lastKeys, integers({"1"})})),
            "its caches or tables hold 2 tokens, fewer than the 3 of its query");
  EXPECT_EQ(groupedError(grouped({cache, absent, lastKeys, integers({"1"})})),
            "past_key and past_value go together; give both or none");
  EXPECT_EQ(groupedError(grouped({floats({"2", "4", "8", "8"}), cache, lastKeys, integers({"1"})})),
            "its past_key of shape [2, 4, 8, 8] does not fit 2 heads of 8 elements of its input of "
            "shape [2, 3, 16]");
}

TEST(GroupQueryAttention, RotationAndMasks) {
  Attributes rotates{intAttribute("do_rotary", 1)};
  Operands first{absent, absent, lastKeys, known({3})};
  auto with = [&](Operands more) {
    Operands result = grouped(first);
    result.insert(result.end(), more.begin(), more.end());
    return result;
  };
  Operand table = floats({"9", "4"});
  EXPECT_EQ(groupedError(with({table, table}), rotates), "");
  EXPECT_EQ(groupedError(with({}), rotates),
            "its cos_cache and sin_cache must be given, since do_rotary is set");
  EXPECT_EQ(groupedError(with({floats({"2", "4"}), floats({"2", "4"})}), rotates),
            "its cos_cache and sin_cache of shapes [2, 4] and [2, 4] don't fit 3 positions and "
            "heads of 8 elements");
  EXPECT_EQ(groupedError(with({table, floats({"9", "5"})}), rotates),
            "its cos_cache and sin_cache of shapes [9, 4] and [9, 5] don't fit 3 positions and "
            "heads of 8 elements");
  EXPECT_EQ(groupedError(with({table, table, {i64, {"2", "4"}}}), rotates),
            "its position_ids must be integers of shape [2, 3], but are i64 of shape [2, 4]");
  EXPECT_EQ(groupedError(with({absent, absent, absent, floats({"2", "4", "3", "4"})})),
            "its attention_bias of shape [2, 4, 3, 4] does not fit scores of shape [2, 4, 3, 3]");
  EXPECT_EQ(groupedError(with({absent, absent, absent, absent, floats({"2"})})),
            "its head_sink of shape [2] needs a number for each of 4 heads");
  EXPECT_EQ(groupedError(with({}), {intAttribute("local_window_size", 0)}),
            "its local_window_size must be -1, or a number of keys where it is causal");
}

TEST(GroupQueryAttention, WhatIsNotSupported) {
  Operands first = grouped({absent, absent, lastKeys, known({3})});
  EXPECT_EQ(groupedError(first, {intAttribute("sliding_window_cache", 1)}),
            "its sliding_window_cache is not supported; export the model with caches of all "
            "tokens");
  EXPECT_EQ(groupedError(first, {intAttribute("qk_output", 1)}),
            "its output of scores (qk_output) is not supported; leave it out");
  EXPECT_EQ(groupedError(first, {intAttribute("new", 1)}),
            "attribute 'new' is not known; leave it out");
  first.resize(12, absent);
  first.push_back(floats({"1"}));
  EXPECT_EQ(groupedError(first), "its k_scale is not supported; export the model with a cache of "
                                 "floating-point numbers");
  Operand bytes{i32, {"2", "2", "8", "8"}};
  EXPECT_EQ(groupedError(grouped({bytes, bytes, lastKeys, known({8})})),
            "its inputs have different element types, f32 and i32");
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention

std::string headsError(Operands operands, Attributes more = {}) {
  more.push_back(intAttribute("num_heads", 4));
  return errorOf("MultiHeadAttention", operands, more);
}

/// Two samples of 3 queries and of 5 keys, 4 heads of 8 elements.
const Operand query = floats({"2", "3", "32"}), key = floats({"2", "5", "32"});

TEST(MultiHeadAttention, Shapes) {
  EXPECT_EQ(headsError({query, key, key}), "");
  EXPECT_EQ(headsError({query, key, floats({"2", "5", "24"})}), "");
  EXPECT_EQ(headsError({query, key, floats({"2", "4", "32"})}),
            "its query of shape [2, 3, 32] does not fit its key and value of shapes [2, 5, 32] and "
            "[2, 4, 32] with 4 heads");
  EXPECT_EQ(headsError({query}), "its query of shape [2, 3, 32] must have 3 dimensions and come "
                                 "with keys, or 5 and hold them");
  EXPECT_EQ(headsError({query, key}),
            "its key of shape [2, 5, 32] must have 3 or 4 dimensions, as many as its value, or 5 "
            "and hold values");
  EXPECT_EQ(headsError({floats({"2", "3", "4", "3", "8"})}), "");
  EXPECT_EQ(headsError({floats({"2", "3", "3", "4", "8"})}),
            "its query of shape [2, 3, 3, 4, 8] holds no queries, keys and values of 4 heads; it "
            "must have the shape [batch, tokens, heads, 3, elements]");
  EXPECT_EQ(headsError({query, floats({"2", "5", "4", "3", "8"})}),
            "its key of shape [2, 5, 4, 3, 8] holds no keys and values of 4 heads; it must have "
            "the shape [batch, tokens, heads, 2, elements]");
  EXPECT_EQ(headsError({query, key, key, floats({"32"})}),
            "its bias of shape [32] does not fit 4 heads of 8 and 8 elements, which take 96");
  EXPECT_EQ(errorOf("MultiHeadAttention", {query, key, key}, {}), "its num_heads must be given");
}

TEST(MultiHeadAttention, Masks) {
  auto masked = [&](Operand mask, Operand bias = absent, Attributes attributes = {}) {
    return headsError({query, key, key, absent, mask, bias}, attributes);
  };
  EXPECT_EQ(masked(integers({"2", "5"})), "");
  EXPECT_EQ(masked(integers({"2", "4"})),
            "its mask of shape [2, 4] does not fit scores of shape [2, 4, 3, 5]; it must have a "
            "number for each sample, key, or query and key");
  EXPECT_EQ(masked(integers({"3"})),
            "its mask of shape [3] does not fit scores of shape [2, 4, 3, 5]; it must have a "
            "number for each sample, key, or query and key");
  EXPECT_EQ(masked({boolean, {"2", "5"}}), "its mask must be integers, but is bool");
  EXPECT_EQ(masked(known({2, 6})), "");
  EXPECT_EQ(masked(absent, floats({"2", "4", "1", "5"})),
            "its attention_bias of shape [2, 4, 1, 5] does not fit scores of shape [2, 4, 3, 5]");
  EXPECT_EQ(masked(absent, absent, {intAttribute("unidirectional", 1)}),
            "it is unidirectional, and has 3 queries for 5 keys; it must have as many, or "
            "unidirectional be 0");
}

TEST(MultiHeadAttention, Past) {
  Operand past = floats({"2", "4", "6", "8"});
  Operands given{query, key, key, absent, absent, absent, past, past};
  EXPECT_EQ(headsError(given), "");
  given[7] = floats({"2", "4", "7", "8"});
  EXPECT_EQ(headsError(given), "its past_key and past_value of shapes [2, 4, 6, 8] and "
                               "[2, 4, 7, 8] must hold as many tokens");
  given[7] = absent;
  EXPECT_EQ(headsError(given), "past_key and past_value go together; give both or none");
  given[7] = past;
  given.push_back(known({2}));
  EXPECT_EQ(headsError(given), "its past_sequence_length 2 is outside of 0 to 1");
  given[8] = integers({"1"});
  EXPECT_EQ(headsError(given), "");
  given.push_back(integers({"2", "1", "6"}));
  EXPECT_EQ(headsError(given), "its cache_indirection is not supported; search for texts outside "
                               "of the model, and leave it out");
  EXPECT_EQ(headsError({query, key, key, absent, absent, absent, absent, absent, known({2})}),
            "its past_sequence_length is that of past_key and past_value; give them, or leave it "
            "out");
  Operand whole = floats({"2", "4", "5", "8"});
  EXPECT_EQ(headsError({query, whole, whole}), "");
  EXPECT_EQ(headsError({query, whole, whole, absent, absent, absent, past, past}),
            "its key of shape [2, 4, 5, 8] is all that there is; leave past_key and past_value "
            "out");
}

//===----------------------------------------------------------------------===//
// Attention

std::string projectedError(Operands operands, Attributes more = {}) {
  more.push_back(intAttribute("num_heads", 4));
  return errorOf("Attention", operands, more, {"y", "present"});
}

TEST(ProjectedAttention, Shapes) {
  Operand tokens = floats({"2", "3", "16"}), weights = floats({"16", "96"}), bias = floats({"96"});
  EXPECT_EQ(projectedError({tokens, weights, bias}), "");
  EXPECT_EQ(projectedError({tokens, floats({"15", "96"}), bias}),
            "its input of shape [2, 3, 16] does not fit weights of shape [15, 96]");
  EXPECT_EQ(projectedError({tokens, weights, floats({"95"})}),
            "its bias of shape [95] does not fit weights of shape [16, 96]");
  EXPECT_EQ(projectedError({tokens, floats({"16", "97"}), bias}),
            "its weights of shape [16, 97] don't fit queries, keys and values of [32, 32, 32] "
            "elements (qkv_hidden_sizes) in 4 heads (num_heads)");
  EXPECT_EQ(projectedError({tokens, weights, bias},
                           {test::intsAttribute("qkv_hidden_sizes", {24, 24, 48})}),
            "its keys of 6 and values of 12 elements don't fit in one tensor of the past; leave "
            "past and present out");
  EXPECT_EQ(projectedError({tokens, weights, bias, absent, floats({"2", "2", "4", "5", "8"})}), "");
  EXPECT_EQ(projectedError({tokens, weights, bias, absent, floats({"2", "4", "5", "8"})}),
            "its past of shape [2, 4, 5, 8] does not fit keys and values of shape [2, 2, 4, 0, 8]");
  EXPECT_EQ(projectedError({tokens, weights, bias}, {intAttribute("do_rotary", 1)}),
            "do_rotary is not supported; rotate by RotaryEmbedding nodes in front of a "
            "MultiHeadAttention");
  EXPECT_EQ(projectedError({tokens, weights, bias}, {intAttribute("past_present_share_buffer", 1)}),
            "past_present_share_buffer and past_sequence_length are not supported; export the "
            "model with caches that grow");
}

} // namespace
} // namespace kintsugi::import
