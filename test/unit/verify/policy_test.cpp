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

TEST(Policy, Tolerances) {
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F32, {1, ElementType::F32}), 2e-6);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F32, {100, ElementType::F32}), 2e-5);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F32, {1e12, ElementType::F32}), 1e-3);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F64, {100, ElementType::F64}), 2e-5);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F16, {8, ElementType::F16}), 4e-3);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F16, {1e300, ElementType::F16}), 2e-2);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::BF16, {8, ElementType::BF16}), 3.2e-2);
  EXPECT_EQ(tolerance(ElementType::I64, {100, ElementType::F16}), 0);
  EXPECT_EQ(tolerance(ElementType::Bool, {100, ElementType::F32}), 0);
}

TEST(Policy, TheCoarsestTypeOnTheWayDecides) {
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F32, {1, ElementType::F16}), 2e-3);
  EXPECT_DOUBLE_EQ(tolerance(ElementType::F16, {1, ElementType::F32}), 2e-3);
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

TEST(Policy, WhatTheUserAllowsIsRemembered) {
  Expected<te::Program> program = te::parseProgram("input x[4] f32\ninput d[4] f64\n"
                                                   "y[i:4] f32 = x[i] * 2\n"
                                                   "z[i:4] f64 = d[i] * 2\n"
                                                   "output y\noutput z\n",
                                                   "test.te");
  ASSERT_TRUE(program.ok());
  const std::pair<Precision, ElementType> all[] = {{Precision::F32, ElementType::F32},
                                                   {Precision::TF32, ElementType::F16},
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

} // namespace
} // namespace kintsugi::verify
