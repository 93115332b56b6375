//===- policy_test.cpp - The error policy ------------------------------------===//

#include "verify/policy.h"

#include "te/parser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kintsugi::verify {
namespace {

std::vector<Exactness> of(const std::string &text) {
  Expected<te::Program> program = te::parseProgram(text, "test.te");
  EXPECT_TRUE(program.ok()) << program.error().message;
  return program.ok() ? exactnessOf(*program) : std::vector<Exactness>{};
}

double limit(ElementType output, double depth, ElementType coarsest) {
  return limitsOf(output, {depth, coarsest}).whole;
}

TEST(Policy, Limits) {
  EXPECT_DOUBLE_EQ(limit(ElementType::F32, 1, ElementType::F32), 6e-7);
  EXPECT_DOUBLE_EQ(limit(ElementType::F32, 1e4, ElementType::F32), 6e-6);
  EXPECT_DOUBLE_EQ(limit(ElementType::F64, 100, ElementType::F64), 1e-13);
  EXPECT_DOUBLE_EQ(limit(ElementType::F64, 1e12, ElementType::F64), 1e-11);
  EXPECT_DOUBLE_EQ(limit(ElementType::F16, 8, ElementType::F16), 4e-3);
  EXPECT_DOUBLE_EQ(limit(ElementType::F16, 1e300, ElementType::F16), 2e-2);
  EXPECT_DOUBLE_EQ(limit(ElementType::BF16, 8, ElementType::BF16), 3.2e-2);
  EXPECT_EQ(limit(ElementType::I64, 100, ElementType::F16), 0);
  EXPECT_EQ(limit(ElementType::Bool, 100, ElementType::F32), 0);
  EXPECT_DOUBLE_EQ(limitsOf(ElementType::F32, {16, ElementType::F32}).inSlices, 2.4e-6);
}

TEST(Policy, TheCoarsestTypeOnTheWayDecides) {
  EXPECT_DOUBLE_EQ(limit(ElementType::F32, 1, ElementType::F16), 2e-3);
  EXPECT_DOUBLE_EQ(limit(ElementType::F16, 1, ElementType::F32), 2e-3);
  EXPECT_DOUBLE_EQ(limit(ElementType::F32, 1, ElementType::F64), 6e-7);
  EXPECT_DOUBLE_EQ(limit(ElementType::C64, 1, ElementType::F64), 6e-7);
}

Difference off(double relative, double inSlices) {
  Difference difference;
  difference.relative = relative;
  difference.inSlices = inSlices;
  return difference;
}

Limits widenedBy(double rounding, double inSlices, ElementType type, double depth = 1e4) {
  Exactness exactness{depth, type};
  return widened(limitsOf(ElementType::F32, exactness), off(rounding, inSlices), ElementType::F32,
                 exactness);
}

TEST(Policy, RoundingWidensF32) {
  Limits limits = widenedBy(1e-6, 1e-6, ElementType::F32);
  EXPECT_DOUBLE_EQ(limits.whole, 1.5e-5);
  EXPECT_DOUBLE_EQ(limits.inSlices, 6e-5);
}

TEST(Policy, RoundingNeverNarrowsAndHasAnEnd) {
  EXPECT_DOUBLE_EQ(widenedBy(1e-9, 1e-9, ElementType::F32).whole, 6e-6);
  EXPECT_DOUBLE_EQ(widenedBy(1, 1, ElementType::F32).whole, 2e-4);
  EXPECT_DOUBLE_EQ(widenedBy(1, 1, ElementType::F32).inSlices, 8e-4);
  EXPECT_DOUBLE_EQ(widenedBy(1, 1, ElementType::F32, 1e8).whole, 1e-3);
  EXPECT_DOUBLE_EQ(widenedBy(INFINITY, NAN, ElementType::F32).whole, 6e-6);
}

TEST(Policy, RoundingToF16ExcusesAtMostATenth) {
  Limits limits = widenedBy(0.04, 0.02, ElementType::F16);
  EXPECT_DOUBLE_EQ(limits.whole, 0.06);
  EXPECT_DOUBLE_EQ(limits.inSlices, limitsOf(ElementType::F32, {1e4, ElementType::F16}).inSlices);
  EXPECT_DOUBLE_EQ(widenedBy(0.4, 0.4, ElementType::F16).whole, 0.1);
  EXPECT_DOUBLE_EQ(widenedBy(0.4, 0.4, ElementType::F16).inSlices, 0.1);
}

TEST(Policy, BothLimitsCount) {
  Limits limits{1, 4};
  EXPECT_TRUE(limits.allow(off(1, 4)));
  EXPECT_FALSE(limits.allow(off(1.1, 0)));
  EXPECT_FALSE(limits.allow(off(0, 4.1)));
}

TEST(Policy, ReductionsAddUpAlongTheLongestPath) {
  auto found = of("input x[4, 6] f32\n"
                  "a[i:4] f32 = sum<f32>[k:6] x[i, k]\n"
                  "b[i:4] f32 = max<f32>[k:6] x[i, k]\n"
                  "c[] f32 = sum<f32>[i:4] a[i] + b[i]\n"
                  "output a\noutput b\noutput c\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (Exactness{6, ElementType::F32}));
  EXPECT_EQ(found[1], (Exactness{1, ElementType::F32})) << "a maximum rounds nothing";
  EXPECT_EQ(found[2], (Exactness{10, ElementType::F32}));
}

TEST(Policy, CastsToFewerBitsAreRemembered) {
  auto found = of("input x[4] f64\n"
                  "h[i:4] f16 = f16(x[i])\n"
                  "y[i:4] f64 = f64(h[i])\n"
                  "z[i:4] f64 = x[i] * 2\n"
                  "output y\noutput z\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].coarsest, ElementType::F16);
  EXPECT_EQ(found[1].coarsest, ElementType::F64);
}

TEST(Policy, WhatIsReadRoundsNothing) {
  auto found = of("input h[4, 8] f16\ninput b[8] bf16\n"
                  "y[i:4] f32 = sum<f32>[k:8] f32(h[i, k]) * f32(b[k])\n"
                  "z[i:4] f16 = h[i, 0]\n"
                  "output y\noutput z\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (Exactness{8, ElementType::F32}));
  EXPECT_EQ(found[1].coarsest, ElementType::F16);
}

TEST(Policy, WhatTheUserAllowsIsRemembered) {
  Expected<te::Program> program = te::parseProgram("input x[4] f32\ninput d[4] f64\n"
                                                   "y[i:4] f32 = x[i] * 2\n"
                                                   "z[i:4] f64 = d[i] * 2\n"
                                                   "output y\noutput z\n",
                                                   "test.te");
  ASSERT_TRUE(program.ok());
  const std::pair<Precision, ElementType> all[] = {{Precision::F32, ElementType::F32},
                                                   {Precision::F16, ElementType::F16},
                                                   {Precision::BF16, ElementType::BF16}};
  for (auto [precision, type] : all) {
    auto found = exactnessOf(*program, precision);
    EXPECT_EQ(found[0].coarsest, type);
    EXPECT_EQ(found[1].coarsest, ElementType::F64) << "f64 is never rounded";
  }
}

TEST(Policy, LoopsMultiply) {
  auto found = of("input h0[8] f32\n"
                  "(last[8] f32) = scan[5] carry(h0) capture() {\n"
                  "  input step[] i64\n"
                  "  input h[8] f32\n"
                  "  s[] f32 = sum<f32>[k:8] h[k]\n"
                  "  next[c:8] f32 = h[c] + s[]\n"
                  "  output next\n"
                  "}\n"
                  "output last\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].depth, 40);
}

TEST(Policy, WhatALoopReadsIsAddedUpOnce) {
  std::string text = "input x[8, 8] f32\ninput h0[8] f32\n"
                     "a[i:8, j:8] f32 = sum<f32>[k:8] x[i, k] * x[k, j]\n";
  for (int layer = 0; layer < 10; ++layer) {
    std::string in = layer ? "all" + std::to_string(layer) : "a", own = std::to_string(layer + 1);
    text +=
        "(last" + own + "[8] f32, all" + own + "[8, 8] f32) = scan[8] carry(h0) capture(" + in +
        ") {\n  input step[] i64\n  input h[8] f32\n  input s[8, 8] f32\n"
        "  n[c:8] f32 = sum<f32>[k:8] h[k] * s[step[], k]\n  output n\n  output n as shown\n}\n";
  }
  auto found = of(text + "output all10\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].depth, 8 + 10 * 8 * 8);
}

} // namespace
} // namespace kintsugi::verify
