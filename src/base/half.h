//===- half.h - Floating-point types narrower than 32 bits ----------------===//
//
// Conversions between f16, bf16, f8, f6 and f4 encodings and C++ numbers. Decoding is exact.
// Encoding rounds a double once, to nearest with ties to even, so a float (exact in a double) is
// never rounded twice. The formats: IEEE 754-2008 (f16), the OCP 8-bit floating point and
// microscaling specifications (f8e4m3fn, f8e5m2, f6, f4, f8e8m0), Noune et al. 2022 (fnuz).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_HALF_H
#define KINTSUGI_BASE_HALF_H

#include "base/element_type.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kintsugi {

/// What becomes of a value beyond the largest finite one after rounding (ONNX Cast's `saturate`).
enum class OutOfRange : uint8_t {
  Special, ///< Infinity, or NaN in a format without infinities; types with neither clamp.
  Clamp,   ///< The largest finite value, for infinities too.
};

/// Rounding to a power of two, f8e8m0 only (ONNX Cast's `round_mode`). Nearest sends ties up.
enum class PowerRounding : uint8_t { Nearest, Up, Down };

namespace detail {

/// How a narrow format spends its highest codes.
enum class Codes : uint8_t {
  Ieee,    ///< The highest exponent holds infinity and NaNs.
  OneNan,  ///< "fn": all ones is NaN, no infinity.
  NegZero, ///< "fnuz": negative zero's code is the NaN, no infinity.
  Finite,  ///< Neither infinity nor NaN.
};

struct NarrowFormat {
  int exponentBits;
  int mantissaBits;
  int bias;
  Codes codes;

  constexpr uint32_t signBit() const { return 1u << (exponentBits + mantissaBits); }
  constexpr uint32_t infinity() const { return ((1u << exponentBits) - 1) << mantissaBits; }
  constexpr uint32_t largestFinite() const {
    return codes == Codes::Ieee ? infinity() - 1 : signBit() - (codes == Codes::OneNan ? 2 : 1);
  }
};

inline constexpr NarrowFormat f16Format{5, 10, 15, Codes::Ieee};
inline constexpr NarrowFormat bf16Format{8, 7, 127, Codes::Ieee};
inline constexpr NarrowFormat f8e4m3fnFormat{4, 3, 7, Codes::OneNan};
inline constexpr NarrowFormat f8e4m3fnuzFormat{4, 3, 8, Codes::NegZero};
inline constexpr NarrowFormat f8e5m2Format{5, 2, 15, Codes::Ieee};
inline constexpr NarrowFormat f8e5m2fnuzFormat{5, 2, 16, Codes::NegZero};
inline constexpr NarrowFormat f6e2m3Format{2, 3, 1, Codes::Finite};
inline constexpr NarrowFormat f6e3m2Format{3, 2, 3, Codes::Finite};
inline constexpr NarrowFormat f4e2m1Format{2, 1, 1, Codes::Finite};

/// 2^exponent, exact over the exponents that narrow formats and floats use.
inline double powerOfTwo(int exponent) {
  assert(exponent >= -1022 && exponent <= 1023);
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

template <NarrowFormat F> float decode(uint32_t bits) {
  uint32_t magnitude = bits & (F.signBit() - 1);
  bool negative = bits & F.signBit();
  if (F.codes == Codes::NegZero && negative && magnitude == 0)
    return std::numeric_limits<float>::quiet_NaN();
  if (F.codes != Codes::NegZero && magnitude > F.largestFinite()) {
    float special = F.codes == Codes::Ieee && magnitude == F.infinity()
                        ? std::numeric_limits<float>::infinity()
                        : std::numeric_limits<float>::quiet_NaN();
    return negative ? -special : special;
  }
  int exponent = static_cast<int>(magnitude >> F.mantissaBits);
  uint32_t mantissa = magnitude & ((1u << F.mantissaBits) - 1);
  if (exponent == 0)
    exponent = 1; // Denormal: no leading one.
  else
    mantissa |= 1u << F.mantissaBits;
  double value = mantissa * powerOfTwo(exponent - F.bias - F.mantissaBits);
  return static_cast<float>(negative ? -value : value);
}

template <NarrowFormat F> uint32_t encodeNan(bool negative) {
  switch (F.codes) {
  case Codes::Ieee: // Quiet: the highest mantissa bit.
    return (negative ? F.signBit() : 0) | F.infinity() | 1u << (F.mantissaBits - 1);
  case Codes::OneNan:
    return (negative ? F.signBit() : 0) | (F.signBit() - 1);
  case Codes::NegZero:
  case Codes::Finite: // No NaN to give; negative zero, as ml_dtypes does for its positive NaN.
    return F.signBit();
  }
  return 0;
}

template <NarrowFormat F> uint32_t encode(double value, OutOfRange policy) {
  uint64_t wide = std::bit_cast<uint64_t>(value);
  bool negative = wide >> 63;
  uint32_t sign = negative ? F.signBit() : 0;
  if (value != value)
    return encodeNan<F>(negative);

  uint32_t magnitude = 0;
  int exponent = static_cast<int>(wide >> 52 & 0x7ff) - 1023;
  constexpr int leastExponent = 1 - F.bias;
  if (exponent > F.bias + 1) { // Too large whatever the rounding; infinity too.
    magnitude = F.largestFinite() + 1;
  } else if (int shift = 52 - F.mantissaBits + std::max(0, leastExponent - exponent); shift <= 54) {
    uint64_t significand = (wide & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
    uint64_t odd = significand >> shift & 1;
    uint64_t rounded = (significand + ((uint64_t(1) << (shift - 1)) - 1 + odd)) >> shift;
    magnitude = static_cast<uint32_t>(rounded);
    if (exponent > leastExponent)
      magnitude += static_cast<uint32_t>(exponent - leastExponent) << F.mantissaBits;
  }
  if (magnitude > F.largestFinite()) {
    if (policy == OutOfRange::Clamp || F.codes == Codes::Finite)
      magnitude = F.largestFinite();
    else
      return F.codes == Codes::Ieee ? sign | F.infinity() : encodeNan<F>(negative);
  }
  if (F.codes == Codes::NegZero && magnitude == 0)
    return 0;
  return sign | magnitude;
}

} // namespace detail

inline float decodeF16(uint16_t bits) { return detail::decode<detail::f16Format>(bits); }
inline uint16_t encodeF16(double value) {
  return static_cast<uint16_t>(detail::encode<detail::f16Format>(value, OutOfRange::Special));
}

inline float decodeBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
inline uint16_t encodeBF16(double value) {
  return static_cast<uint16_t>(detail::encode<detail::bf16Format>(value, OutOfRange::Special));
}

/// 2^(bits - 127); 255 is NaN.
inline float decodeF8E8M0(uint8_t bits) {
  return bits == 255 ? std::numeric_limits<float>::quiet_NaN()
                     : static_cast<float>(detail::powerOfTwo(bits - 127));
}

/// As the table of ONNX's Cast has it. Negative values and NaN give NaN. Where clamped, zero gives
/// the least power; where not, zero and everything out of range give NaN.
uint8_t encodeF8E8M0(double value, PowerRounding rounding, OutOfRange policy);

/// Decodes any real floating-point type, f64 included, from its bits.
double decodeFloat(ElementType type, uint64_t bits);

/// Encodes a value as any real floating-point type, f64 included. f8e8m0 rounds to nearest.
uint64_t encodeFloat(ElementType type, double value, OutOfRange policy = OutOfRange::Special);

} // namespace kintsugi

#endif // KINTSUGI_BASE_HALF_H
