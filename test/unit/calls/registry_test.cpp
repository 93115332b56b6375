//===- registry_test.cpp - Finding calls ----------------------------------===//

#include "run_call.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::calls;

TEST(Registry, IsSortedAndEveryNameIsFound) {
  auto calls = all();
  EXPECT_TRUE(std::is_sorted(calls.begin(), calls.end(),
                             [](const Call *a, const Call *b) { return a->name < b->name; }));
  for (const Call *call : calls) {
    EXPECT_EQ(find(call->name), call);
    EXPECT_TRUE(call->infer && call->body);
  }
  EXPECT_GE(calls.size(), 2u);
  EXPECT_EQ(find(""), nullptr);
  EXPECT_EQ(find("TopKK"), nullptr);
  EXPECT_EQ(find("zzz"), nullptr);
}

TEST(Registry, RunChecksWhatItIsGiven) {
  Tensor x = tensorOf<float>({4}, {1, 2, 3, 4});
  Tensor values = tensorOf<float>({2}, {0, 0}), indices = tensorOf<int64_t>({2}, {0, 0});
  TensorView operands[] = {x.view()};
  ResultView good[] = {{values.type(), values.shape(), values.bytes()},
                       {indices.type(), indices.shape(), indices.bytes()}};
  EXPECT_TRUE(run("TopK", operands, {{"k", 2}}, good).ok());
  std::string mismatch =
      "TopK: the operands or results have another type, shape or size than it needs";
  EXPECT_EQ(run("TopK", operands, {{"k", 3}}, good).error().message, mismatch);
  EXPECT_EQ(run("TopK", operands, {{"k", 2}}, std::span(good).first(1)).error().message, mismatch);
  ResultView swapped[] = {good[1], good[0]};
  EXPECT_EQ(run("TopK", operands, {{"k", 2}}, swapped).error().message, mismatch);
  ResultView shortened[] = {good[0], {indices.type(), indices.shape(), indices.bytes().first(8)}};
  EXPECT_EQ(run("TopK", operands, {{"k", 2}}, shortened).error().message, mismatch);
  TensorView cut[] = {{x.type(), x.shape(), x.bytes().first(12)}};
  EXPECT_EQ(run("TopK", cut, {{"k", 2}}, good).error().message, mismatch);
  EXPECT_EQ(run("Bottom", operands, {}, good).error().message, "there is no call 'Bottom'");
}
