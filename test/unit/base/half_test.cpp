//===- half_test.cpp ------------------------------------------------------===//
//
// Narrow formats are checked against their definition: every code's value is computed from the
// specification's formula, and every value between two codes must go to the nearer one, ties to the
// even one.
//
//===----------------------------------------------------------------------===//

#include "base/half.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

using namespace kintsugi;

namespace {
enum class Special { Ieee, NanOnes, NanNegativeZero, None };

struct Definition {
  ElementType type;
  int exponentBits, mantissaBits, bias;
  Special special;
};

constexpr Definition definitions[] = {
    {ElementType::F16, 5, 10, 15, Special::Ieee},
    {ElementType::BF16, 8, 7, 127, Special::Ieee},
    {ElementType::F8E4M3FN, 4, 3, 7, Special::NanOnes},
    {ElementType::F8E4M3FNUZ, 4, 3, 8, Special::NanNegativeZero},
    {ElementType::F8E5M2, 5, 2, 15, Special::Ieee},
    {ElementType::F8E5M2FNUZ, 5, 2, 16, Special::NanNegativeZero},
    {ElementType::F6E2M3, 2, 3, 1, Special::None},
    {ElementType::F6E3M2, 3, 2, 3, Special::None},
    {ElementType::F4E2M1, 2, 1, 1, Special::None},
};

class Narrow : public testing::TestWithParam<Definition> {
protected:
  /// The value of a code by the formula; NaN for NaNs.
  static double valueOf(uint32_t code) {
    auto [type, exponentBits, mantissaBits, bias, special] = GetParam();
    uint32_t mantissa = code % (1u << mantissaBits);
    uint32_t exponent = code >> mantissaBits & ((1u << exponentBits) - 1);
    bool negative = code >> (mantissaBits + exponentBits);
    bool top = exponent == (1u << exponentBits) - 1;
    bool nan = (special == Special::Ieee && top && mantissa != 0) ||
               (special == Special::NanOnes && top && mantissa == (1u << mantissaBits) - 1) ||
               (special == Special::NanNegativeZero && negative && exponent == 0 && mantissa == 0);
    if (nan)
      return NAN;
    double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                                     : std::ldexp(mantissa + (1 << mantissaBits),
                                                  static_cast<int>(exponent) - bias - mantissaBits);
    if (special == Special::Ieee && top)
      magnitude = INFINITY;
    return negative ? -magnitude : magnitude;
  }

  static uint32_t codeCount() { return 1u << bitsOf(GetParam().type); }

  /// Codes of the finite values that are not negative, in order of value.
  static std::vector<uint32_t> finiteCodes() {
    std::vector<uint32_t> codes;
    for (uint32_t code = 0; code < codeCount() / 2; ++code)
      if (std::isfinite(valueOf(code)))
        codes.push_back(code);
    return codes;
  }

  static uint32_t encode(double value, OutOfRange policy = OutOfRange::Special) {
    return static_cast<uint32_t>(encodeFloat(GetParam().type, value, policy));
  }

  /// The code of -valueOf(code).
  static uint32_t negated(uint32_t code) {
    return GetParam().special == Special::NanNegativeZero && code == 0 ? 0 : code | codeCount() / 2;
  }
};
} // namespace

TEST_P(Narrow, EveryCodeDecodesToItsFormula) {
  for (uint32_t code = 0; code < codeCount(); ++code) {
    double expected = valueOf(code), actual = decodeFloat(GetParam().type, code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << code;
    } else {
      EXPECT_EQ(expected, actual) << code;
      EXPECT_EQ(std::signbit(expected), std::signbit(actual)) << code;
    }
  }
}

TEST_P(Narrow, EveryValueEncodesToItsCode) {
  for (uint32_t code = 0; code < codeCount(); ++code) {
    double value = valueOf(code);
    if (!std::isnan(value))
      EXPECT_EQ(encode(value), code);
    else
      EXPECT_TRUE(std::isnan(decodeFloat(GetParam().type, encode(value)))) << code;
  }
}

TEST_P(Narrow, BetweenTwoCodesTheNearerWinsAndTiesGoToEven) {
  std::vector<uint32_t> codes = finiteCodes();
  for (size_t i = 0; i + 1 < codes.size(); ++i) {
    uint32_t low = codes[i], high = codes[i + 1];
    double middle = (valueOf(low) + valueOf(high)) / 2; // Exact in a double.
    EXPECT_EQ(encode(middle), low % 2 == 0 ? low : high);
    EXPECT_EQ(encode(-middle), negated(low % 2 == 0 ? low : high));
    double below = std::nextafter(middle, 0), above = std::nextafter(middle, INFINITY);
    EXPECT_EQ(encode(below), low);
    EXPECT_EQ(encode(-below), negated(low));
    EXPECT_EQ(encode(above), high);
    EXPECT_EQ(encode(-above), negated(high));
  }
}

TEST_P(Narrow, BeyondTheLargestFiniteValue) {
  std::vector<uint32_t> codes = finiteCodes();
  uint32_t largest = codes.back();
  double value = valueOf(largest), step = value - valueOf(codes[codes.size() - 2]);
  double middle = value + step / 2;
  auto isSpecial = [&](double out) {
    return GetParam().special == Special::Ieee ? std::isinf(out) : std::isnan(out);
  };
  // Rounding comes first: up to the middle of the next step, the value is still in range.
  EXPECT_EQ(encode(std::nextafter(middle, 0)), largest);
  for (double out : {std::nextafter(middle, INFINITY), value * 4, 1e300, double(INFINITY)}) {
    EXPECT_EQ(encode(out, OutOfRange::Clamp), largest);
    EXPECT_EQ(encode(-out, OutOfRange::Clamp), negated(largest));
    if (GetParam().special == Special::None)
      EXPECT_EQ(encode(out), largest);
    else
      EXPECT_TRUE(isSpecial(decodeFloat(GetParam().type, encode(out)))) << out;
  }
  if (GetParam().special == Special::Ieee) {
    EXPECT_EQ(decodeFloat(GetParam().type, encode(-1e300)), -INFINITY);
  }
}

TEST_P(Narrow, TinyValuesGoToZero) {
  for (double tiny : {5e-324, 1e-310, 1e-60, valueOf(1) / 2}) {
    EXPECT_EQ(encode(tiny), 0u) << tiny;
    EXPECT_EQ(encode(-tiny), negated(0)) << tiny;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Narrow, testing::ValuesIn(definitions),
                         [](const auto &info) { return std::string(nameOf(info.param.type)); });

TEST(Half, FloatsAreRoundedOnce) {
  // 1 + 2^-11 + 2^-60 lies above the middle of two f16 values; through f32 it would lie on it.
  EXPECT_EQ(encodeF16(1 + std::ldexp(1, -11)), 0x3c00);
  EXPECT_EQ(encodeF16(1 + std::ldexp(1, -11) + std::ldexp(1, -50)), 0x3c01);
}

TEST(Half, BF16AgreesWithTheFloatsUpperHalf) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value))
      continue;
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    EXPECT_EQ(encodeBF16(value), rounded) << value;
  }
}

TEST(Half, F16AgreesWithTheCompilers) {
  std::mt19937 random(8);
  for (int i = 0; i < 200000; ++i) {
    float value = std::ldexp(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f,
                             static_cast<int>(random() % 48) - 30);
    EXPECT_EQ(encodeF16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}

TEST(Half, F8E8M0FollowsTheTableOfCast) {
  constexpr auto clamp = OutOfRange::Clamp, special = OutOfRange::Special;
  constexpr auto up = PowerRounding::Up, down = PowerRounding::Down,
                 nearest = PowerRounding::Nearest;
  for (int code = 0; code < 255; ++code)
    for (PowerRounding rounding : {up, down, nearest})
      EXPECT_EQ(encodeF8E8M0(std::ldexp(1, code - 127), rounding, special), code);
  EXPECT_TRUE(std::isnan(decodeF8E8M0(255)));
  EXPECT_EQ(decodeF8E8M0(0), std::ldexp(1.0f, -127));
  EXPECT_EQ(decodeF8E8M0(254), std::ldexp(1.0f, 127));

  EXPECT_EQ(encodeF8E8M0(1.01, up, special), 128);
  EXPECT_EQ(encodeF8E8M0(1.99, down, special), 127);
  EXPECT_EQ(encodeF8E8M0(1.49, nearest, special), 127);
  EXPECT_EQ(encodeF8E8M0(1.5, nearest, special), 128);
  EXPECT_EQ(encodeF8E8M0(3.0, nearest, special), 129);

  EXPECT_EQ(encodeF8E8M0(0, up, clamp), 0);
  EXPECT_EQ(encodeF8E8M0(INFINITY, up, clamp), 254);
  EXPECT_EQ(encodeF8E8M0(1e300, up, clamp), 254);
  EXPECT_EQ(encodeF8E8M0(1e-300, down, clamp), 0);
  for (double value : {0.0, double(INFINITY), 1e300, 1e-300})
    EXPECT_EQ(encodeF8E8M0(value, nearest, special), 255) << value;
  for (OutOfRange policy : {clamp, special}) {
    EXPECT_EQ(encodeF8E8M0(NAN, up, policy), 255);
    EXPECT_EQ(encodeF8E8M0(-1, up, policy), 255);
  }
}
