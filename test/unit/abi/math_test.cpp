//===- math_test.cpp - exp, erf and tanh against longer arithmetic --------===//

#include "abi/imports.h"
#include "abi/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

/// How far a result is from the true one, in units of its last place.
double ulps(double result, long double truth, int digits, int leastExponent) {
  if (result == static_cast<double>(truth))
    return 0;
  int exponent;
  std::frexp(static_cast<double>(truth), &exponent);
  double unit = std::ldexp(1.0, std::max(exponent - digits, leastExponent));
  return static_cast<double>(fabsl(static_cast<long double>(result) - truth) / unit);
}

struct Range {
  double low, high;
};

/// The worst error of `function` against the x87's 64-bit arithmetic on random points of a range.
double worst(double (*function)(double), long double (*truth)(long double), Range range) {
  std::mt19937_64 random(1);
  double most = 0;
  for (int i = 0; i < 200000; ++i) {
    double x =
        range.low + (range.high - range.low) * (static_cast<double>(random() >> 11) * 0x1p-53);
    most = std::max(most, ulps(function(x), truth(x), 53, -1074));
  }
  return most;
}

/// The same over every `step`-th float there is.
double worstFloat(float (*function)(float), long double (*truth)(long double), uint32_t step) {
  double most = 0;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += step) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(x))
      continue;
    auto expected = static_cast<float>(truth(x)); // Rounded once, and right but for rare ties.
    float result = function(x);
    if (result != expected)
      most = std::max(most, std::isinf(expected) ? infinity : ulps(result, truth(x), 24, -149));
  }
  return most;
}

} // namespace

TEST(Math, ExpIsWithinOneUlp) {
  EXPECT_LT(worst(kinExp, expl, {-708, 709.78}), 1);
  EXPECT_LT(worst(kinExp, expl, {-1, 1}), 1);
  EXPECT_LT(worst(kinExp, expl, {-745.2, -708}), 1); // Denormal results.
}

TEST(Math, ErfIsWithinTwoUlps) {
  EXPECT_LT(worst(kinErf, erfl, {-1, 1}), 1.5);
  EXPECT_LT(worst(kinErf, erfl, {1, 6.5}), 1.5);
  EXPECT_LT(worst(kinErf, erfl, {-1e-300, 1e-300}), 1.5);
  EXPECT_LT(worst(kinErf, erfl, {-1e-310, 1e-310}), 1.5);
}

TEST(Math, TanhIsWithinTwoUlps) {
  EXPECT_LT(worst(kinTanh, tanhl, {-0.7, 0.7}), 1.5);
  EXPECT_LT(worst(kinTanh, tanhl, {0.6, 23}), 1.5);
  EXPECT_LT(worst(kinTanh, tanhl, {-1e-310, 1e-310}), 1.5);
}

TEST(Math, FloatsAreRoundedCorrectly) {
  EXPECT_LT(worstFloat(kinExpf, expl, 9973), 0.5001);
  EXPECT_LT(worstFloat(kinErff, erfl, 9973), 0.5001);
  EXPECT_LT(worstFloat(kinTanhf, tanhl, 9973), 0.5001);
}

TEST(Math, SpecialValues) {
  EXPECT_EQ(kinExp(infinity), infinity);
  EXPECT_EQ(kinExp(-infinity), 0);
  EXPECT_EQ(kinExp(0.0), 1);
  EXPECT_EQ(kinExp(710), infinity);
  EXPECT_EQ(kinExp(-746), 0);
  EXPECT_EQ(kinExp(-745.13), std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::isnan(kinExp(quietNan)));
  EXPECT_EQ(kinErf(infinity), 1);
  EXPECT_EQ(kinErf(-infinity), -1);
  EXPECT_TRUE(std::signbit(kinErf(-0.0)));
  EXPECT_TRUE(std::isnan(kinErf(quietNan)));
  EXPECT_EQ(kinTanh(infinity), 1);
  EXPECT_EQ(kinTanh(-infinity), -1);
  EXPECT_TRUE(std::signbit(kinTanh(-0.0)));
  EXPECT_TRUE(std::isnan(kinTanh(quietNan)));
}

TEST(Math, BitsAreThoseOfEveryMachine) {
  // Sums over a grid, so that a change of any bit shows.
  uint64_t exp = 0, erf = 0, tanh = 0;
  for (int i = -6000; i <= 6000; ++i) {
    exp = exp * 31 + std::bit_cast<uint64_t>(kinExp(i * 0.11));
    erf = erf * 31 + std::bit_cast<uint64_t>(kinErf(i * 0.001));
    tanh = tanh * 31 + std::bit_cast<uint64_t>(kinTanh(i * 0.004));
  }
  EXPECT_EQ(exp, 0x5b0a877a1e3920f4);
  EXPECT_EQ(erf, 0x97c255f489c6be7c);
  EXPECT_EQ(tanh, 0x92b39948661938b4);
}

TEST(Imports, EverySlotHoldsItsFunction) {
  EXPECT_EQ(kinImports.count, static_cast<uint64_t>(KIN_SLOT_COUNT));
  struct Check {
    static void one(const char *name, double result, double expected) {
      EXPECT_NEAR(result, expected, 1e-6 * std::max(1.0, std::fabs(expected))) << name;
    }
    static void F64(const char *name, KinFunctionF64 f, double (*truth)(double), double x) {
      one(name, f(x), truth(x));
    }
  };
  const double x = 0.3, large = 1.7, y = 0.9;
  Check::F64("exp", kinImports.exp_, std::exp, x);
  Check::F64("exp2", kinImports.exp2_, std::exp2, x);
  Check::F64("expm1", kinImports.expm1_, std::expm1, x);
  Check::F64("log", kinImports.log_, std::log, x);
  Check::F64("log2", kinImports.log2_, std::log2, x);
  Check::F64("log10", kinImports.log10_, std::log10, x);
  Check::F64("log1p", kinImports.log1p_, std::log1p, x);
  Check::F64("erf", kinImports.erf_, std::erf, x);
  Check::F64("sin", kinImports.sin_, std::sin, x);
  Check::F64("cos", kinImports.cos_, std::cos, x);
  Check::F64("tan", kinImports.tan_, std::tan, x);
  Check::F64("asin", kinImports.asin_, std::asin, x);
  Check::F64("acos", kinImports.acos_, std::acos, x);
  Check::F64("atan", kinImports.atan_, std::atan, x);
  Check::F64("sinh", kinImports.sinh_, std::sinh, x);
  Check::F64("cosh", kinImports.cosh_, std::cosh, x);
  Check::F64("tanh", kinImports.tanh_, std::tanh, x);
  Check::F64("asinh", kinImports.asinh_, std::asinh, x);
  Check::F64("acosh", kinImports.acosh_, std::acosh, large);
  Check::F64("atanh", kinImports.atanh_, std::atanh, x);
  Check::F64("cbrt", kinImports.cbrt_, std::cbrt, x);
  Check::one("pow", kinImports.pow_(x, y), std::pow(x, y));
  Check::one("fmod", kinImports.fmod_(large, y), std::fmod(large, y));
  Check::one("atan2", kinImports.atan2_(x, y), std::atan2(x, y));
}

TEST(Imports, FloatSlotsAreTheDoubleOnesRoundedOnce) {
  const float x = 0.3f, y = 0.9f;
#define UNARY(name)                                                                                \
  EXPECT_EQ(kinImports.name##f_(x), static_cast<float>(kinImports.name##_(x))) << #name;
  UNARY(exp)
  UNARY(exp2)
  UNARY(expm1)
  UNARY(log)
  UNARY(log2)
  UNARY(log10)
  UNARY(log1p)
  UNARY(erf)
  UNARY(sin)
  UNARY(cos)
  UNARY(tan)
  UNARY(asin)
  UNARY(acos)
  UNARY(atan)
  UNARY(sinh)
  UNARY(cosh)
  UNARY(tanh)
  UNARY(asinh)
  UNARY(atanh)
  UNARY(cbrt)
#undef UNARY
  EXPECT_EQ(kinImports.acoshf_(1.7f), static_cast<float>(kinImports.acosh_(1.7f)));
  EXPECT_EQ(kinImports.powf_(x, y), static_cast<float>(kinImports.pow_(x, y)));
  EXPECT_EQ(kinImports.fmodf_(1.7f, y), static_cast<float>(kinImports.fmod_(1.7f, y)));
  EXPECT_EQ(kinImports.atan2f_(x, y), static_cast<float>(kinImports.atan2_(x, y)));
}
