//===- half.cpp - Floating-point types narrower than 32 bits --------------===//

#include "base/half.h"

using namespace kintsugi;
using namespace kintsugi::detail;

uint8_t kintsugi::encodeF8E8M0(double value, PowerRounding rounding, OutOfRange policy) {
  constexpr uint8_t nan = 255, largest = 254;
  bool clamp = policy == OutOfRange::Clamp;
  if (!(value >= 0))
    return nan;
  if (value == 0)
    return clamp ? 0 : nan;
  if (std::isinf(value))
    return clamp ? largest : nan;
  int exponent;
  double fraction = std::frexp(value, &exponent); // In [0.5, 1).
  bool up = rounding == PowerRounding::Up ? fraction > 0.5
                                          : rounding == PowerRounding::Nearest && fraction >= 0.75;
  int code = exponent - 1 + 127 + up;
  if (code >= 0 && code <= largest)
    return static_cast<uint8_t>(code);
  return !clamp ? nan : code < 0 ? 0 : largest;
}

double kintsugi::decodeFloat(ElementType type, uint64_t bits) {
  auto narrow = static_cast<uint32_t>(bits);
  switch (type) {
  case ElementType::F64:
    return std::bit_cast<double>(bits);
  case ElementType::F32:
    return std::bit_cast<float>(narrow);
  case ElementType::F16:
    return decode<f16Format>(narrow);
  case ElementType::BF16:
    return decode<bf16Format>(narrow);
  case ElementType::F8E4M3FN:
    return decode<f8e4m3fnFormat>(narrow);
  case ElementType::F8E4M3FNUZ:
    return decode<f8e4m3fnuzFormat>(narrow);
  case ElementType::F8E5M2:
    return decode<f8e5m2Format>(narrow);
  case ElementType::F8E5M2FNUZ:
    return decode<f8e5m2fnuzFormat>(narrow);
  case ElementType::F8E8M0:
    return decodeF8E8M0(static_cast<uint8_t>(narrow));
  case ElementType::F6E2M3:
    return decode<f6e2m3Format>(narrow);
  case ElementType::F6E3M2:
    return decode<f6e3m2Format>(narrow);
  case ElementType::F4E2M1:
    return decode<f4e2m1Format>(narrow);
  default:
    assert(false && "not a floating-point type");
    return 0;
  }
}

uint64_t kintsugi::encodeFloat(ElementType type, double value, OutOfRange policy) {
  switch (type) {
  case ElementType::F64:
    return std::bit_cast<uint64_t>(value);
  case ElementType::F32:
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  case ElementType::F16:
    return encode<f16Format>(value, policy);
  case ElementType::BF16:
    return encode<bf16Format>(value, policy);
  case ElementType::F8E4M3FN:
    return encode<f8e4m3fnFormat>(value, policy);
  case ElementType::F8E4M3FNUZ:
    return encode<f8e4m3fnuzFormat>(value, policy);
  case ElementType::F8E5M2:
    return encode<f8e5m2Format>(value, policy);
  case ElementType::F8E5M2FNUZ:
    return encode<f8e5m2fnuzFormat>(value, policy);
  case ElementType::F8E8M0:
    return encodeF8E8M0(value, PowerRounding::Nearest, policy);
  case ElementType::F6E2M3:
    return encode<f6e2m3Format>(value, policy);
  case ElementType::F6E3M2:
    return encode<f6e3m2Format>(value, policy);
  case ElementType::F4E2M1:
    return encode<f4e2m1Format>(value, policy);
  default:
    assert(false && "not a floating-point type");
    return 0;
  }
}
