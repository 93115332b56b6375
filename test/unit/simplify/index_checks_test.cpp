// Which checks the expressions prove, which a run looks at ahead, and which it computes.

#include "simplify/index_checks.h"

#include "../te/testing.h"
#include "simplify/integer_ranges.h"
#include "simplify/simplify.h"
#include "te/interpreter.h"
#include "te/printer.h"

namespace kintsugi::simplify {
namespace {

using namespace te;

/// The values' last one is checked to lie in [-4, 4).
LoweredChecks lowered(const std::string &text) {
  Program program = parsed(text + "output y\n");
  addCheck(program, program.outputs[0].value, {-4, 4, "index", "gather"});
  program.outputs.erase(program.outputs.begin());
  LoweredChecks result = lowerChecks(simplify(program));
  Status status = result.program.verify();
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return result;
}

bool isProved(const std::string &text) {
  LoweredChecks result = lowered(text);
  return result.inputs.empty() && result.program.outputs.empty();
}

TEST(IndexChecks, WhatTheExpressionsProveCostsNothing) {
  EXPECT_TRUE(isProved("input x[k:3] i64\ny[k:3] i64 = min(max(x[k], -4), 3)\n"));
  EXPECT_FALSE(isProved("input x[k:3] i64\ny[k:3] i64 = min(max(x[k], -4), 4)\n"));
  EXPECT_TRUE(isProved("input x[k:3] i64\ny[k:3] i64 = mod(x[k], 4)\n"));
  EXPECT_TRUE(isProved("input x[k:3] bool\ny[k:3] i64 = i64(x[k]) * 3\n"));
  EXPECT_TRUE(isProved("input x[j:2, k:4] f32\ny[j:2] i64 = argmax<f32>[k:4] (x[j, k], k)\n"));
  EXPECT_FALSE(isProved("input x[j:2, k:5] f32\ny[j:2] i64 = argmax<f32>[k:5] (x[j, k], k)\n"));
  // A number that is wrapped by the model itself.
  EXPECT_FALSE(
      isProved("input x[k:3] i64\ny[k:3] i64 = cases { x[k] < 0: x[k] + 4; else: x[k] }\n"));
  EXPECT_TRUE(isProved("input x[k:3] i64\n"
                       "c[k:3] i64 = min(max(x[k], -4), 3)\n"
                       "y[k:3] i64 = cases { c[k] < 0: c[k] + 4; else: c[k] }\n"));
  // Arithmetic that wraps around proves nothing.
  EXPECT_FALSE(isProved("input x[k:3] i8\ny[k:3] i8 = x[k] * 64\n"));
}

TEST(IndexChecks, SumsAreAsLargeAsTheirTerms) {
  auto sum = [](const std::string &terms, const std::string &type, const std::string &body) {
    return isProved("input x[j:2, k:9] bool\n"
                    "y[j:2] " +
                    type + " = sum<" + type + ">[k:" + terms + "] " + body + "\n");
  };
  EXPECT_TRUE(sum("3", "i64", "i64(x[j, k])"));
  EXPECT_FALSE(sum("4", "i64", "i64(x[j, k])"));
  EXPECT_TRUE(sum("4", "i64", "-1 * i64(x[j, k])"));
  EXPECT_FALSE(sum("5", "i64", "-1 * i64(x[j, k])"));
  EXPECT_TRUE(sum("2", "i64", "1 - i64(x[j, k]) * 3"));
  EXPECT_FALSE(sum("2", "i8", "i8(x[j, k]) * 64")); // It wraps.
  // A running sum's condition leaves some: the last of two places sees three of nine, or four.
  EXPECT_TRUE(sum("9", "i64", "cases { k < j + 2: i64(x[j, k]); else: 0 }"));
  EXPECT_FALSE(sum("9", "i64", "cases { k < j + 3: i64(x[j, k]); else: 0 }"));
  EXPECT_TRUE(sum("9", "i64", "cases { k <= j + 1: i64(x[j, k]); else: 0 }"));
  EXPECT_FALSE(sum("9", "i64", "cases { k <= j + 2: i64(x[j, k]); else: 0 }"));
  EXPECT_FALSE(sum("9", "i64", "cases { k <= j: i64(x[j, k]); else: 1 }"));
  // What is not of integers has no range.
  EXPECT_FALSE(isProved("input x[j:2, k:9] f32\n"
                        "y[j:2] i64 = sum<f32>[k:9] cases { k <= j: x[j, k]; else: 0 }\n"));
}

TEST(IndexChecks, CallsSayWhereTheirResultsLie) {
  auto ofCall = [](const std::string &heads, const std::string &call, int64_t extent) {
    return isProved("input x[" + std::to_string(extent) + "] f32\n(" + heads + ") = call " + call);
  };
  std::string topK = "TopK(x) {\"k\":2}\n", nonZero = "NonZero(x)\n", unique = "Unique(x)\n";
  EXPECT_TRUE(ofCall("v[2] f32, y[2] i64", topK, 4));
  EXPECT_FALSE(ofCall("v[2] f32, y[2] i64", topK, 5));
  EXPECT_TRUE(ofCall("y[1, 4] i64, n[] i64", nonZero, 4));
  EXPECT_FALSE(ofCall("y[1, 5] i64, n[] i64", nonZero, 5));
  EXPECT_TRUE(ofCall("v[1, 3] i64, y[] i64", nonZero, 3));
  EXPECT_FALSE(ofCall("v[1, 4] i64, y[] i64", nonZero, 4)) << "there may be four";
  for (const char *heads : {"v[4] f32, y[4] i64, b[4] i64, c[4] i64, n[] i64",
                            "v[4] f32, a[4] i64, y[4] i64, c[4] i64, n[] i64"})
    EXPECT_TRUE(ofCall(heads, unique, 4));
  EXPECT_TRUE(ofCall("v[3] f32, a[3] i64, b[3] i64, y[3] i64, n[] i64", unique, 3));
  EXPECT_FALSE(ofCall("v[4] f32, a[4] i64, b[4] i64, y[4] i64, n[] i64", unique, 4));
}

TEST(IndexChecks, ElementsOfInputsAreLookedAtAhead) {
  auto range = [](const std::string &text) {
    LoweredChecks result = lowered(text);
    EXPECT_TRUE(result.program.nodes.empty()) << printProgram(result.program);
    EXPECT_EQ(result.inputs.size(), 1u);
    return result.inputs.empty() ? ElementRange{} : result.inputs[0].range;
  };
  EXPECT_EQ(range("input x[k:3] i64\ny[k:3] i64 = x[k]\n"), (ElementRange{-4, 4, 0, {{3, 1}}}));
  EXPECT_EQ(range("input x[j:2, k:5] i32\ny[k:5] i64 = i64(x[1, k])\n"),
            (ElementRange{-4, 4, 5, {{5, 1}}}));
  EXPECT_EQ(range("input x[j:2, k:5] i32\ny[k:2, j:2] i64 = i64(x[j, 2 * k + 1])\n"),
            (ElementRange{-4, 4, 1, {{2, 2}, {2, 5}}}));
  EXPECT_EQ(range("input x[j:2, k:5] u8\n"
                  "c[j:2, k:5] i32 = i32(x[j, k])\n"
                  "y[k:10] i32 = c[k//5, k%5]\n"),
            (ElementRange{-4, 4, 0, {{10, 1}}}));
}

/// What a cast wraps is an index only behind it.
TEST(IndexChecks, NumbersThatACastChangesAreLookedAtBehindIt) {
  for (const char *text : {"input x[k:3] i64\ny[k:3] i32 = i32(x[k])\n",
                           "input x[k:3] i64\ny[k:3] i64 = i64(u8(x[k]))\n",
                           "input x[k:3] u32\ny[k:3] i32 = i32(x[k])\n",
                           "input x[k:3] i8\ny[k:3] u32 = u32(x[k])\n"}) {
    LoweredChecks result = lowered(text);
    EXPECT_TRUE(result.inputs.empty()) << text;
    EXPECT_EQ(result.program.outputs.size(), 1u) << text;
  }
}

TEST(IndexChecks, TheRestIsOneNumberThatIsComputed) {
  LoweredChecks result = lowered("input x[j:2, k:5] i32\ny[j:2, k:5] i32 = x[j, k] + 1\n");
  EXPECT_TRUE(result.inputs.empty());
  ASSERT_EQ(result.program.outputs.size(), 1u);
  ValueId report = result.program.outputs[0].value;
  EXPECT_TRUE(result.program.shape(report).empty());
  EXPECT_EQ(result.program.value(report).type, ElementType::I64);
  EXPECT_EQ(result.program.origins[result.program.value(report).node],
            std::vector<std::string>{"gather"});
  auto run = [&](int64_t value) {
    ExactTensor input{ElementType::I32, {2, 5}, {}, std::vector<int64_t>(10, -2)};
    input.integers[7] = value;
    Expected<std::vector<ExactTensor>> outputs = evaluate(result.program, input);
    return outputs.ok() ? "" : outputs.error().message;
  };
  EXPECT_EQ(run(2), "");
  EXPECT_EQ(run(-5), "");
  EXPECT_EQ(run(3), "node 'gather': its index 4 is outside of -4 to 3");
  EXPECT_EQ(run(-6), "node 'gather': its index -5 is outside of -4 to 3");
}

TEST(IndexChecks, ScalarsToo) {
  EXPECT_EQ(lowered("input x[] i64\ny[] i64 = x[] + 1\n").program.outputs.size(), 1u);
  LoweredChecks ahead = lowered("input x[] i64\ny[] i64 = x[]\n");
  ASSERT_EQ(ahead.inputs.size(), 1u);
  EXPECT_EQ(ahead.inputs[0].range, (ElementRange{-4, 4, 0, {}}));
}

} // namespace
} // namespace kintsugi::simplify
