#include "simplify/storage_codes.h"

#include "base/half.h"

#include <limits>

namespace kintsugi::simplify {

using namespace te;
using detail::Codes;
using detail::NarrowFormat;

namespace {

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr int leastPower = -127; ///< Of f8e8m0, whose code 0 it is.
constexpr int nanPower = 255;    ///< The code of f8e8m0's NaN.

Expr literal(ElementType type, uint64_t bits) {
  return Expr::literal(type, static_cast<int64_t>(bits));
}

Expr operator&(Expr a, Expr b) { return Expr::binary(BinaryOp::And, a, b); }
Expr operator|(Expr a, Expr b) { return Expr::binary(BinaryOp::Or, a, b); }
Expr operator<(Expr a, Expr b) { return Expr::binary(BinaryOp::Less, a, b); }
Expr same(Expr a, Expr b) { return Expr::binary(BinaryOp::Equal, a, b); }
Expr shifted(BinaryOp op, Expr a, int by) {
  ElementType type = a.type();
  return by == 0 ? a : Expr::binary(op, a, literal(type, by));
}
Expr up(Expr a, int by) { return shifted(BinaryOp::ShiftLeft, a, by); }
Expr down(Expr a, int by) { return shifted(BinaryOp::ShiftRight, a, by); }

NarrowFormat formatOf(ElementType type) {
  switch (type) {
  case ElementType::F8E4M3FN:
    return detail::f8e4m3fnFormat;
  case ElementType::F8E4M3FNUZ:
    return detail::f8e4m3fnuzFormat;
  case ElementType::F8E5M2:
    return detail::f8e5m2Format;
  case ElementType::F8E5M2FNUZ:
    return detail::f8e5m2fnuzFormat;
  case ElementType::F6E2M3:
    return detail::f6e2m3Format;
  case ElementType::F6E3M2:
    return detail::f6e3m2Format;
  default:
    assert(type == ElementType::F4E2M1);
    return detail::f4e2m1Format;
  }
}

/// The float that numbers are taken apart in: its bits, and how they are divided.
struct Wide {
  ElementType real, bits;
  int mantissaBits, bias;

  int width() const { return static_cast<int>(bitsOf(bits)); }
};

constexpr Wide f32Wide{ElementType::F32, ElementType::U32, 23, 127};
constexpr Wide f64Wide{ElementType::F64, ElementType::U64, 52, 1023};

/// An f32 keeps what fits into it; what may not goes by way of an f64, so that it is rounded once.
const Wide &wideFor(ElementType type) {
  bool fits = isFloat(type) ? type != ElementType::F64 : bitsOf(type) <= 16;
  return fits ? f32Wide : f64Wide;
}

Expr decodedPower(const Expr &code) {
  Expr bits = Expr::cast(ElementType::U32, code);
  Expr value = Expr::unary(UnaryOp::FromBits, up(bits, f32Wide.mantissaBits));
  Expr least = Expr::literal(ElementType::F32, std::ldexp(1.0, leastPower));
  return Expr::select(same(code, literal(ElementType::U8, 0)), least,
                      Expr::select(same(code, literal(ElementType::U8, nanPower)),
                                   Expr::literal(ElementType::F32, nan), value));
}

/// Rounds to the nearest power, a tie to the higher one.
Expr encodedPower(const Expr &number) {
  const Wide &wide = f64Wide;
  Expr bits = Expr::unary(UnaryOp::Bits, number);
  uint64_t half = uint64_t(1) << (wide.mantissaBits - 1);
  Expr exponent = down(bits + literal(wide.bits, half), wide.mantissaBits);
  uint64_t first = wide.bias + leastPower;
  Expr code = exponent - literal(wide.bits, first); // Below the first one it wraps around.
  Expr fits = code < literal(wide.bits, nanPower);  // So do numbers with a sign, and NaN.
  return Expr::select(fits, Expr::cast(ElementType::U8, code), literal(ElementType::U8, nanPower));
}

Expr decodedFloat(ElementType storage, const Expr &code) {
  NarrowFormat format = formatOf(storage);
  const Wide &wide = f32Wide;
  auto number = [](double value) { return Expr::literal(ElementType::F32, value); };
  auto bits = [](uint64_t value) { return literal(ElementType::U32, value); };
  Expr all = Expr::cast(ElementType::U32, code);
  Expr magnitude = all & bits(format.signBit() - 1);
  Expr rebased = bits(uint64_t(wide.bias - format.bias) << wide.mantissaBits);
  Expr normal = Expr::unary(UnaryOp::FromBits,
                            up(magnitude, wide.mantissaBits - format.mantissaBits) + rebased);
  Expr denormal = Expr::cast(ElementType::F32, magnitude) *
                  number(detail::powerOfTwo(1 - format.bias - format.mantissaBits));
  Expr value = Expr::select(magnitude < bits(uint64_t(1) << format.mantissaBits), denormal, normal);
  if (format.codes == Codes::Ieee)
    value = Expr::select(
        bits(format.largestFinite()) < magnitude,
        Expr::select(same(magnitude, bits(format.infinity())), number(infinity), number(nan)),
        value);
  if (format.codes == Codes::OneNan)
    value = Expr::select(bits(format.largestFinite()) < magnitude, number(nan), value);
  value = Expr::select(all < bits(format.signBit()), value, -value);
  return format.codes == Codes::NegZero
             ? Expr::select(same(all, bits(format.signBit())), number(nan), value)
             : value;
}

/// The code that stands for a magnitude, given as the bits of a wide float, before it is looked at
/// whether it is too large: those of denormals are counted in the least step.
Expr encodedMagnitude(const NarrowFormat &format, const Wide &wide, const Expr &magnitude) {
  auto bits = [&](uint64_t value) { return literal(wide.bits, value); };
  int dropped = wide.mantissaBits - format.mantissaBits;
  Expr odd = down(magnitude, dropped) & bits(1);
  Expr rounded = magnitude + bits((uint64_t(1) << (dropped - 1)) - 1) + odd;
  Expr normal =
      down(rounded, dropped) - bits(uint64_t(wide.bias - format.bias) << format.mantissaBits);
  Expr steps = Expr::unary(UnaryOp::FromBits, magnitude) *
               Expr::literal(wide.real, detail::powerOfTwo(format.bias - 1 + format.mantissaBits));
  Expr denormal = Expr::cast(wide.bits, Expr::unary(UnaryOp::Round, steps));
  uint64_t leastNormal = uint64_t(wide.bias + 1 - format.bias) << wide.mantissaBits;
  return Expr::select(magnitude < bits(leastNormal), denormal, normal);
}

Expr encodedFloat(ElementType storage, const Wide &wide, const Expr &number) {
  NarrowFormat format = formatOf(storage);
  auto bits = [&](uint64_t value) { return literal(wide.bits, value); };
  Expr all = Expr::unary(UnaryOp::Bits, number);
  Expr magnitude = all & bits(~uint64_t(0) >> (65 - wide.width()));
  Expr sign = down(all, wide.width() - 1);
  Expr signBit = up(sign, format.exponentBits + format.mantissaBits);
  bool hasSpecial = format.codes != Codes::Finite;
  uint64_t beyond = !hasSpecial                     ? format.largestFinite()
                    : format.codes == Codes::Ieee   ? format.infinity()
                    : format.codes == Codes::OneNan ? format.signBit() - 1
                                                    : format.signBit();
  Expr code = encodedMagnitude(format, wide, magnitude);
  Expr fits = Expr::binary(BinaryOp::LessEqual, code, bits(format.largestFinite()));
  code = Expr::select(fits, code, bits(beyond));
  if (format.codes == Codes::NegZero)
    signBit = Expr::select(same(code, bits(0)), bits(0), signBit);
  Expr isNaN = bits(uint64_t(2 * wide.bias + 1) << wide.mantissaBits) < magnitude;
  bool keepsSign = format.codes == Codes::Ieee || format.codes == Codes::OneNan;
  uint64_t nanBits = encodeFloat(storage, nan) & (format.signBit() - 1);
  Expr ofNaN = keepsSign ? signBit | bits(nanBits) : bits(format.signBit());
  return Expr::cast(ElementType::U8, Expr::select(isNaN, ofNaN, signBit | code));
}

/// The low bits of an integer as a number of so many bits.
Expr wrapped(ElementType storage, const Expr &number) {
  ElementType type = codeType(storage);
  int64_t values = int64_t(1) << bitsOf(storage);
  Expr low = Expr::cast(type, number) & Expr::literal(type, values - 1);
  if (!isSigned(storage))
    return low;
  Expr half = Expr::literal(type, values / 2);
  return Expr::binary(BinaryOp::Xor, low, half) - half;
}

Expr encodedInteger(ElementType storage, const Expr &number) {
  ElementType from = number.type(), type = codeType(storage);
  if (!isFloat(from))
    return wrapped(storage, number);
  int64_t values = int64_t(1) << bitsOf(storage), least = isSigned(storage) ? -values / 2 : 0;
  Expr low = Expr::literal(from, least), high = Expr::literal(from, least + values - 1);
  return Expr::cast(type,
                    Expr::binary(BinaryOp::Min, Expr::binary(BinaryOp::Max, number, low), high));
}

} // namespace

ElementType codeType(ElementType storage) {
  assert(isStorageOnly(storage));
  return isInteger(storage) && isSigned(storage) ? ElementType::I8 : ElementType::U8;
}

Expr decoded(ElementType storage, const Expr &code) {
  if (isInteger(storage))
    return code;
  return storage == ElementType::F8E8M0 ? decodedPower(code) : decodedFloat(storage, code);
}

Expr encoded(ElementType storage, const Expr &number) {
  if (isInteger(storage))
    return encodedInteger(storage, number);
  if (storage == ElementType::F8E8M0)
    return encodedPower(Expr::cast(ElementType::F64, number));
  const Wide &wide = wideFor(number.type());
  return encodedFloat(storage, wide, Expr::cast(wide.real, number));
}

} // namespace kintsugi::simplify
