// What the rule leaves alone, and what it says of what it changes; test/rules has what it makes.

#include "changes.h"

namespace kintsugi::derive {
namespace {

class CommuteSums : public Changes {
protected:
  CommuteSums() : Changes(commuteSumsRule) {}
};

const std::string weight = "input w[32, 300] f32\n";
const std::string sum = "y[i:512, o:32] f32 = sum<f32>[r:300] v[i, r] * w[o, r]\noutput y\n";

std::string joined(const std::string &condition) {
  return "input x[8, 300] f32\ninput z[8, 300] f32\n" + weight + "v[i:512, c:300] f32 = cases { " +
         condition + ": x[i//64, c]; else: z[i//64, c] }\n" + sum;
}

/// One row of the sum for each of `repeats` rows of what it reads.
std::string repeated(int64_t rows, int64_t repeats) {
  std::string all = std::to_string(rows * repeats);
  return "input x[" + std::to_string(rows) + ", 256] f32\ninput w[256, 256] f32\n" + "v[i:" + all +
         ", c:256] f32 = 2 * x[i//" + std::to_string(repeats) + ", c]\n" + "y[i:" + all +
         ", o:256] f32 = sum<f32>[r:256] v[i, r] * w[o, r]\noutput y\n";
}

} // namespace

TEST_F(CommuteSums, PartsAreThoseOfPositionsThatDontWrapAround) {
  EXPECT_TRUE(changes(joined("c < 4")));
  EXPECT_FALSE(changes(joined("c < i8(4)")));
  EXPECT_FALSE(changes(joined("c < f32(4)")));
}

TEST_F(CommuteSums, ATableOfAllSumsIsNoGain) {
  auto embedded = [](const std::string &words) {
    return "const e[" + words + ", 64] f32 = weights(\"t:1\")\n" +
           "const w[64, 64] f32 = weights(\"t:2\")\ninput t[128] i64\n"
           "v[i:128, c:64] f32 = e[{t[i]}, c]\n"
           "y[i:128, o:64] f32 = sum<f32>[r:64] v[i, r] * w[o, r]\noutput y\n";
  };
  EXPECT_TRUE(changes(embedded("64")));
  EXPECT_FALSE(changes(embedded("100000")));
}

TEST_F(CommuteSums, WhatIsReadElsewhereIsNotSaved) {
  // (x a) w takes 64 * 64 more multiply-adds than x (a w), if x a is not needed any more.
  auto products = [](const std::string &also) {
    return "input x[64, 64] f32\ninput a[64, 64] f32\ninput w[64, 32] f32\n"
           "p[i:64, c:64] f32 = sum<f32>[k:64] x[i, k] * a[k, c]\n"
           "y[i:64, o:32] f32 = sum<f32>[r:64] p[i, r] * w[r, o]\noutput y\n" +
           also;
  };
  EXPECT_TRUE(changes(products("")));
  EXPECT_FALSE(changes(products("output p\n")));
}

TEST_F(CommuteSums, WhatIsAConstantSavesNothing) {
  EXPECT_FALSE(changes("const a[64, 512] f32 = weights(\"t:1\")\n"
                       "const b[512, 64] f32 = weights(\"t:2\")\ninput x[64, 8] f32\n"
                       "p[i:64, c:64] f32 = sum<f32>[k:512] a[i, k] * b[k, c]\n"
                       "y[i:64, o:8] f32 = sum<f32>[r:64] p[i, r] * x[r, o]\noutput y\n"));
}

TEST_F(CommuteSums, ZerosAreTakenForFiniteMultiples) {
  const std::string padded =
      "input x[8, 300] f32\n" + weight + "v[i:512, c:300] f32 = (x[i//64-1, c] | 0)\n" + sum;
  EXPECT_TRUE(changes(padded));
  EXPECT_EQ(assumed.of("commute-sums"), 1u);
  EXPECT_TRUE(
      changes("input x[8, 300] f32\n" + weight + "v[i:512, c:300] f32 = x[i//64, c]\n" + sum));
  EXPECT_EQ(assumed.of("commute-sums"), 1u);
}

TEST_F(CommuteSums, WindowsMoveAlongADimensionByThemselves) {
  // A product, of which windows of two rows are summed.
  auto pooled = [](const std::string &sum) {
    return "input x[64, 256] f32\ninput w[256, 64] f32\ninput g[32] f32\n"
           "p[i:64, o:64] f32 = sum<f32>[k:256] x[i, k] * w[k, o]\n"
           "y[h:32, o:64] f32 = sum<f32>" +
           sum + "\noutput y\n";
  };
  EXPECT_TRUE(changes(pooled("[t:2] p[2*h+t, o]")));
  EXPECT_TRUE(changes(pooled("[t:2] p[h+32*t, o]")));
  EXPECT_FALSE(changes(pooled("[t:2] (p[2*h+t-1, o] | 0)"))); // Outside of the tensor.
  EXPECT_FALSE(changes(pooled("[t:2] (p[2*h+t+1, o] | 0)")));
  EXPECT_FALSE(changes(pooled("[t:2] p[2*h+t, o] * g[h]")));
  EXPECT_FALSE(changes(pooled("[t:2] p[63-h-t, o]")));
}

TEST_F(CommuteSums, WhatIsTheSameForAllTermsIsTakenTimesTheirWeights) {
  const std::string centered = "input x[8, 300] f32\ninput m[512] f32\n" + weight +
                               "v[i:512, c:300] f32 = x[i//64, c] - m[i]\n" + sum;
  EXPECT_TRUE(changes(centered));
  EXPECT_EQ(assumed.of("commute-sums"), 0u);
}

TEST_F(CommuteSums, OnlyWhatArithmeticAloneDecidesIsDominant) {
  ASSERT_TRUE(commuteSumsRule.applyDominant);
  EXPECT_TRUE(changes(repeated(4096, 8)));
  EXPECT_TRUE(changesAlways(repeated(4096, 8)));
  EXPECT_TRUE(changes(repeated(1, 4)));
  EXPECT_FALSE(changesAlways(repeated(1, 4)));
}

} // namespace kintsugi::derive
