//===- conversion.cpp - Cast, CastLike, BitCast ------------------------------===//

#include "import/ops/conversion.h"

#include "import/ops/families.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::UnaryOp;

/// The greatest number of an 8-bit float whose range attributes speak of.
std::optional<double> greatestOf(ElementType type) {
  switch (type) {
  case ElementType::F8E4M3FN:
    return 448;
  case ElementType::F8E4M3FNUZ:
    return 240;
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
    return 57344;
  default:
    return std::nullopt;
  }
}

/// A float that holds each of the type's numbers; of the longest integers the nearest.
ElementType floatFor(ElementType type) {
  if (isFloat(type) && !isStorageOnly(type))
    return type;
  return bitsOf(type) <= 16 ? ElementType::F32 : ElementType::F64;
}

Expr within(const Expr &value, double low, double high) {
  ElementType type = value.type();
  return Expr::binary(BinaryOp::Min, Expr::binary(BinaryOp::Max, value, Expr::literal(type, low)),
                      Expr::literal(type, high));
}

/// A positive f64 as the power of two next to it.
Expr powerNextTo(const Expr &value, PowerRounding rounding) {
  auto bits = [](uint64_t number) {
    return Expr::literal(ElementType::U64, static_cast<int64_t>(number));
  };
  constexpr uint64_t mantissa = (uint64_t(1) << 52) - 1;
  uint64_t added = rounding == PowerRounding::Up        ? mantissa
                   : rounding == PowerRounding::Nearest ? (mantissa + 1) / 2
                                                        : 0;
  Expr sum = Expr::unary(UnaryOp::Bits, value) + bits(added);
  return Expr::unary(UnaryOp::FromBits, Expr::binary(BinaryOp::And, sum, bits(~mantissa)));
}

/// What stands for less than the least power, zero included, and for more than the greatest is NaN
/// or that power; of what has a sign, NaN.
Expr convertedToPower(const Expr &value, const Conversion &conversion) {
  Expr wide = Expr::cast(ElementType::F64, value);
  auto number = [](double each) { return Expr::literal(ElementType::F64, each); };
  Expr power = powerNextTo(wide, conversion.rounding);
  if (conversion.outOfRange == OutOfRange::Clamp)
    power = within(power, std::ldexp(1.0, -127), std::ldexp(1.0, 127));
  Expr isUnsigned = Expr::binary(BinaryOp::LessEqual, number(0), wide); // Nor is it NaN.
  power = Expr::select(isUnsigned, power, number(std::numeric_limits<double>::quiet_NaN()));
  return Expr::cast(conversion.type, power);
}

Status castToType(OpContext &c, ElementType type) {
  KINTSUGI_ASSIGN(Conversion conversion, conversionTo(c, type));
  ValueId x = c.input(0);
  if (c.type(x) == type) {
    c.output(0, x);
    return Status::success();
  }
  c.output(0, c.define(c.name(), c.shape(x),
                       [&](Indices i) { return converted(c.read(x, i), conversion); }));
  return Status::success();
}

Status cast(OpContext &c) {
  // Operator sets before 6 spelled the type out.
  KINTSUGI_ASSIGN(ElementType type, c.elementType("to", 0));
  return castToType(c, type);
}

Status castLike(OpContext &c) { return castToType(c, c.type(c.input(1))); }

bool hasBits(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 || type == ElementType::Bool ||
         (isInteger(type) && !isStorageOnly(type));
}

Status bitCast(OpContext &c) {
  KINTSUGI_ASSIGN(ElementType to, c.elementType("to", 0));
  ValueId x = c.input(0);
  ElementType from = c.type(x);
  if (bitsOf(from) != bitsOf(to))
    return c.error(llvm::Twine("elements of type ") + nameOf(from) + " and " + nameOf(to) +
                   " have different sizes");
  if (from == to) {
    c.output(0, x);
    return Status::success();
  }
  if (!hasBits(from) || !hasBits(to))
    return c.error(llvm::Twine("the bits of ") + nameOf(from) + " as " + nameOf(to) +
                   " are not supported; those of f32, f64, integers and booleans are");
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr bits = c.read(x, i);
    if (isFloat(from))
      bits = Expr::unary(UnaryOp::Bits, bits);
    if (isFloat(to))
      return Expr::unary(UnaryOp::FromBits, Expr::cast(*unsignedOfBits(bitsOf(to)), bits));
    return Expr::cast(to, bits);
  }));
  return Status::success();
}

} // namespace

Expected<Conversion> conversionTo(OpContext &c, ElementType type) {
  if (!computes(type) && !isStorageOnly(type))
    return c.unsupported(type);
  Conversion result{type};
  result.outOfRange = c.integer("saturate", 1) ? OutOfRange::Clamp : OutOfRange::Special;
  std::string rounding = c.text("round_mode", "up");
  if (rounding != "up" && rounding != "down" && rounding != "nearest")
    return c.error("its attribute 'round_mode' must be up, down or nearest");
  result.rounding = rounding == "up"     ? PowerRounding::Up
                    : rounding == "down" ? PowerRounding::Down
                                         : PowerRounding::Nearest;
  return result;
}

Expr converted(const Expr &value, const Conversion &conversion) {
  if (conversion.type == ElementType::F8E8M0)
    return convertedToPower(value, conversion);
  bool isFewBits = isStorageOnly(conversion.type) && isInteger(conversion.type);
  if (isFewBits && isFloat(value.type())) // Which keep the low bits of the integer.
    return Expr::cast(conversion.type, Expr::cast(ElementType::I32, value));
  std::optional<double> greatest = greatestOf(conversion.type);
  if (!greatest)
    return Expr::cast(conversion.type, value);
  Expr number = Expr::cast(floatFor(value.type()), value);
  if (conversion.outOfRange == OutOfRange::Clamp)
    number = within(number, -*greatest, *greatest);
  return Expr::cast(conversion.type, number);
}

OperatorTable conversionOperators() {
  static const Operator table[] = {
      {"Cast", 6, 1, cast, "", Elements::Any},
      {"CastLike", 15, 2, castLike, "", Elements::Any},
      {"BitCast", 26, 1, bitCast},
  };
  return table;
}

} // namespace kintsugi::import
