//===- build_ops.cpp - te's scalar operations in arith and math -----------===//

#include "tile/build_ops.h"

#include "tile/dialect.h"

using namespace mlir;
using kintsugi::te::BinaryOp;
using kintsugi::te::UnaryOp;

namespace kintsugi::tile {

Type valueType(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::Bool:
    return IntegerType::get(context, 1);
  default:
    break;
  }
  bool computes = isInteger(type) && bitsOf(type) >= 8;
  return computes ? IntegerType::get(context, bitsOf(type)) : Type();
}

Type storedType(MLIRContext *context, ElementType type) {
  return type == ElementType::Bool ? IntegerType::get(context, 8) : valueType(context, type);
}

static bool isHalf(ElementType type) {
  return type == ElementType::F16 || type == ElementType::BF16;
}

OpsBuilder::OpsBuilder(OpBuilder &builder)
    : builder(builder), location(UnknownLoc::get(builder.getContext())) {}

Value OpsBuilder::constant(ElementType type, double value) {
  Type target = valueType(builder.getContext(), type);
  if (isFloat(type)) // getFloatAttr rounds to the type.
    return arith::ConstantOp::create(builder, location, builder.getFloatAttr(target, value));
  return constant(type, static_cast<int64_t>(value));
}

Value OpsBuilder::constant(ElementType type, int64_t value) {
  if (isFloat(type))
    return constant(type, static_cast<double>(value));
  unsigned bits = type == ElementType::Bool ? 1 : bitsOf(type);
  llvm::APInt number(64, static_cast<uint64_t>(value));
  auto attribute = builder.getIntegerAttr(builder.getIntegerType(bits), number.trunc(bits));
  return arith::ConstantOp::create(builder, location, attribute);
}

Value OpsBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return arith::SelectOp::create(builder, location, condition, onTrue, onFalse);
}

Value OpsBuilder::conjunction(Value left, Value right) {
  if (!left || !right)
    return left ? left : right;
  return arith::AndIOp::create(builder, location, left, right);
}

Value OpsBuilder::negation(Value condition) {
  return arith::XOrIOp::create(builder, location, condition,
                               constant(ElementType::Bool, int64_t(1)));
}

Value OpsBuilder::unary(UnaryOp op, ElementType type, Value x) {
  if (isHalf(type)) { // Computed in f32 and rounded once.
    Value wide = cast(type, ElementType::F32, x);
    Value result = unaryFloat(op, ElementType::F32, wide);
    bool test = op == UnaryOp::IsNaN || op == UnaryOp::IsInf;
    return test ? result : cast(ElementType::F32, type, result);
  }
  return isFloat(type) ? unaryFloat(op, type, x) : unaryInteger(op, type, x);
}

Value OpsBuilder::unaryFloat(UnaryOp op, ElementType type, Value x) {
  auto math = [&]<typename Op>() -> Value { return Op::create(builder, location, x); };
  switch (op) {
  case UnaryOp::Neg:
    return arith::NegFOp::create(builder, location, x);
  case UnaryOp::Abs:
    return math.operator()<math::AbsFOp>();
  case UnaryOp::Sign: {
    Value zero = constant(type, 0.0);
    Value negative = select(compare(BinaryOp::Less, type, x, zero), constant(type, -1.0), x);
    return select(compare(BinaryOp::Less, type, zero, x), constant(type, 1.0), negative);
  }
  case UnaryOp::Ceil:
    return math.operator()<math::CeilOp>();
  case UnaryOp::Floor:
    return math.operator()<math::FloorOp>();
  case UnaryOp::Round:
    return math.operator()<math::RoundEvenOp>();
  case UnaryOp::Sqrt:
    return math.operator()<math::SqrtOp>();
  case UnaryOp::Exp:
    return math.operator()<math::ExpOp>();
  case UnaryOp::Log:
    return math.operator()<math::LogOp>();
  case UnaryOp::Sin:
    return math.operator()<math::SinOp>();
  case UnaryOp::Cos:
    return math.operator()<math::CosOp>();
  case UnaryOp::Tan:
    return math.operator()<math::TanOp>();
  case UnaryOp::Asin:
    return math.operator()<math::AsinOp>();
  case UnaryOp::Acos:
    return math.operator()<math::AcosOp>();
  case UnaryOp::Atan:
    return math.operator()<math::AtanOp>();
  case UnaryOp::Sinh:
    return math.operator()<math::SinhOp>();
  case UnaryOp::Cosh:
    return math.operator()<math::CoshOp>();
  case UnaryOp::Tanh:
    return math.operator()<math::TanhOp>();
  case UnaryOp::Asinh:
    return math.operator()<math::AsinhOp>();
  case UnaryOp::Acosh:
    return math.operator()<math::AcoshOp>();
  case UnaryOp::Atanh:
    return math.operator()<math::AtanhOp>();
  case UnaryOp::Erf:
    return math.operator()<math::ErfOp>();
  case UnaryOp::IsNaN:
    return compare(BinaryOp::NotEqual, type, x, x);
  case UnaryOp::IsInf:
    return compare(BinaryOp::Equal, type, math.operator()<math::AbsFOp>(),
                   constant(type, std::numeric_limits<double>::infinity()));
  case UnaryOp::Bits:
    return arith::BitcastOp::create(builder, location,
                                    valueType(builder.getContext(), te::resultType(op, type)), x);
  case UnaryOp::Not:
  case UnaryOp::FromBits:
    break;
  }
  llvm_unreachable("an operation that floats do not have");
}

Value OpsBuilder::unaryInteger(UnaryOp op, ElementType type, Value x) {
  Value zero = constant(type, int64_t(0));
  switch (op) {
  case UnaryOp::Neg:
    return arith::SubIOp::create(builder, location, zero, x);
  case UnaryOp::Abs:
    if (!isSigned(type))
      return x;
    return select(compare(BinaryOp::Less, type, x, zero), unaryInteger(UnaryOp::Neg, type, x), x);
  case UnaryOp::Sign: {
    Value positive =
        select(compare(BinaryOp::Less, type, zero, x), constant(type, int64_t(1)), zero);
    if (!isSigned(type))
      return positive;
    return select(compare(BinaryOp::Less, type, x, zero), constant(type, int64_t(-1)), positive);
  }
  case UnaryOp::Not:
    return arith::XOrIOp::create(builder, location, x, constant(type, int64_t(-1)));
  case UnaryOp::Ceil:
  case UnaryOp::Floor:
  case UnaryOp::Round:
    return x;
  case UnaryOp::IsNaN:
  case UnaryOp::IsInf:
    return constant(ElementType::Bool, int64_t(0));
  case UnaryOp::FromBits:
    return arith::BitcastOp::create(builder, location,
                                    valueType(builder.getContext(), te::resultType(op, type)), x);
  default:
    llvm_unreachable("an operation that integers do not have");
  }
}

Value OpsBuilder::compare(BinaryOp op, ElementType type, Value a, Value b) {
  if (isHalf(type)) {
    a = cast(type, ElementType::F32, a);
    b = cast(type, ElementType::F32, b);
  }
  if (isFloat(type)) {
    auto predicate = op == BinaryOp::Less        ? arith::CmpFPredicate::OLT
                     : op == BinaryOp::LessEqual ? arith::CmpFPredicate::OLE
                     : op == BinaryOp::Equal     ? arith::CmpFPredicate::OEQ
                                                 : arith::CmpFPredicate::UNE;
    return arith::CmpFOp::create(builder, location, predicate, a, b);
  }
  bool isUnsigned = !isSigned(type);
  auto predicate = op == BinaryOp::Less
                       ? (isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt)
                   : op == BinaryOp::LessEqual
                       ? (isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle)
                   : op == BinaryOp::Equal ? arith::CmpIPredicate::eq
                                           : arith::CmpIPredicate::ne;
  return arith::CmpIOp::create(builder, location, predicate, a, b);
}

Value OpsBuilder::binary(BinaryOp op, ElementType type, Value a, Value b) {
  if (te::isComparison(op))
    return compare(op, type, a, b);
  if (isHalf(type)) {
    Value result = binaryFloat(op, ElementType::F32, cast(type, ElementType::F32, a),
                               cast(type, ElementType::F32, b));
    return cast(ElementType::F32, type, result);
  }
  return isFloat(type) ? binaryFloat(op, type, a, b) : binaryInteger(op, type, a, b);
}

Value OpsBuilder::binaryFloat(BinaryOp op, ElementType type, Value a, Value b) {
  switch (op) {
  case BinaryOp::Add:
    return arith::AddFOp::create(builder, location, a, b);
  case BinaryOp::Sub:
    return arith::SubFOp::create(builder, location, a, b);
  case BinaryOp::Mul:
    return arith::MulFOp::create(builder, location, a, b);
  case BinaryOp::Div:
    return arith::DivFOp::create(builder, location, a, b);
  case BinaryOp::Rem:
    return arith::RemFOp::create(builder, location, a, b);
  case BinaryOp::Mod: { // A remainder of the other sign is moved by the divisor.
    Value remainder = arith::RemFOp::create(builder, location, a, b), zero = constant(type, 0.0);
    Value otherSign =
        arith::XOrIOp::create(builder, location, compare(BinaryOp::Less, type, remainder, zero),
                              compare(BinaryOp::Less, type, b, zero));
    Value nonzero = compare(BinaryOp::NotEqual, type, remainder, zero);
    return select(conjunction(otherSign, nonzero),
                  arith::AddFOp::create(builder, location, remainder, b), remainder);
  }
  case BinaryOp::Pow:
    return math::PowFOp::create(builder, location, a, b);
  case BinaryOp::Max:
    return arith::MaximumFOp::create(builder, location, a, b);
  case BinaryOp::Min:
    return arith::MinimumFOp::create(builder, location, a, b);
  default:
    llvm_unreachable("an operation that floats do not have");
  }
}

Value OpsBuilder::binaryInteger(BinaryOp op, ElementType type, Value a, Value b) {
  auto make = [&]<typename Op>() -> Value { return Op::create(builder, location, a, b); };
  bool isBoolean = type == ElementType::Bool;
  switch (op) {
  case BinaryOp::Add:
    return isBoolean ? make.operator()<arith::OrIOp>() : make.operator()<arith::AddIOp>();
  case BinaryOp::Sub:
    return make.operator()<arith::SubIOp>();
  case BinaryOp::Mul:
    return make.operator()<arith::MulIOp>();
  case BinaryOp::Div:
  case BinaryOp::Rem:
  case BinaryOp::Mod:
    return divideInteger(op, type, a, b);
  case BinaryOp::Pow:
    return powerInteger(type, a, b);
  case BinaryOp::Max:
    return isSigned(type) ? make.operator()<arith::MaxSIOp>() : make.operator()<arith::MaxUIOp>();
  case BinaryOp::Min:
    return isSigned(type) ? make.operator()<arith::MinSIOp>() : make.operator()<arith::MinUIOp>();
  case BinaryOp::And:
    return make.operator()<arith::AndIOp>();
  case BinaryOp::Or:
    return make.operator()<arith::OrIOp>();
  case BinaryOp::Xor:
    return make.operator()<arith::XOrIOp>();
  case BinaryOp::ShiftLeft:
  case BinaryOp::ShiftRight:
    return shift(op, type, a, b);
  default:
    llvm_unreachable("an operation that integers do not have");
  }
}

/// The machine's division traps on a zero divisor and on the least number by -1, so neither reaches
/// it: zero gives 0 by definition, and -1 negates.
Value OpsBuilder::divideInteger(BinaryOp op, ElementType type, Value a, Value b) {
  Value zero = constant(type, int64_t(0)), one = constant(type, int64_t(1));
  Value byZero = compare(BinaryOp::Equal, type, b, zero);
  if (!isSigned(type)) {
    Value divisor = select(byZero, one, b);
    if (op == BinaryOp::Div)
      return select(byZero, zero, arith::DivUIOp::create(builder, location, a, divisor));
    return select(byZero, zero, arith::RemUIOp::create(builder, location, a, divisor));
  }
  Value byMinusOne = compare(BinaryOp::Equal, type, b, constant(type, int64_t(-1)));
  Value special = arith::OrIOp::create(builder, location, byZero, byMinusOne);
  Value divisor = select(special, one, b);
  if (op == BinaryOp::Div) {
    Value quotient = arith::DivSIOp::create(builder, location, a, divisor);
    Value negated = arith::SubIOp::create(builder, location, zero, a);
    return select(byZero, zero, select(byMinusOne, negated, quotient));
  }
  Value remainder = arith::RemSIOp::create(builder, location, a, divisor); // By 1 it is 0: right.
  if (op == BinaryOp::Rem)
    return remainder;
  Value otherSign =
      arith::XOrIOp::create(builder, location, compare(BinaryOp::Less, type, remainder, zero),
                            compare(BinaryOp::Less, type, b, zero));
  Value nonzero = compare(BinaryOp::NotEqual, type, remainder, zero);
  return select(conjunction(otherSign, nonzero),
                arith::AddIOp::create(builder, location, remainder, b), remainder);
}

Value OpsBuilder::shift(BinaryOp op, ElementType type, Value a, Value b) {
  Value zero = constant(type, int64_t(0));
  Value width = constant(type, static_cast<int64_t>(bitsOf(type)));
  Value fits = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult, b, width);
  Value amount = select(fits, b, zero);
  Value shifted = op == BinaryOp::ShiftLeft
                      ? Value(arith::ShLIOp::create(builder, location, a, amount))
                      : Value(arith::ShRUIOp::create(builder, location, a, amount));
  return select(fits, shifted, zero);
}

/// Square and multiply over all bits of the exponent, modulo the type's width; a negative exponent
/// gives the truncated reciprocal: 1 for base 1, 1 or -1 for base -1, else 0.
Value OpsBuilder::powerInteger(ElementType type, Value base, Value exponent) {
  Value zero = constant(type, int64_t(0)), one = constant(type, int64_t(1));
  Value result = one, square = base;
  for (unsigned bit = 0; bit < bitsOf(type); ++bit) {
    Value amount = constant(type, static_cast<int64_t>(bit));
    Value bits = arith::ShRUIOp::create(builder, location, exponent, amount);
    Value isSet =
        cast(type, ElementType::Bool, arith::AndIOp::create(builder, location, bits, one));
    result = select(isSet, arith::MulIOp::create(builder, location, result, square), result);
    if (bit + 1 < bitsOf(type))
      square = arith::MulIOp::create(builder, location, square, square);
  }
  if (!isSigned(type))
    return result;
  Value minusOne = constant(type, int64_t(-1));
  Value odd =
      cast(type, ElementType::Bool, arith::AndIOp::create(builder, location, exponent, one));
  Value reciprocal = select(
      compare(BinaryOp::Equal, type, base, one), one,
      select(compare(BinaryOp::Equal, type, base, minusOne), select(odd, minusOne, one), zero));
  return select(compare(BinaryOp::Less, type, exponent, zero), reciprocal, result);
}

/// Truncates; saturates out of range; NaN gives 0.
Value OpsBuilder::floatToInteger(ElementType from, ElementType to, Value x) {
  unsigned bits = bitsOf(to);
  // Compared in the source's type: 2^bits is exact there, the greatest integer need not be.
  double above = std::ldexp(1.0, isSigned(to) ? bits - 1 : bits);
  int64_t greatest = isSigned(to) ? static_cast<int64_t>(~0ull >> (65 - bits))
                                  : static_cast<int64_t>(~0ull >> (64 - bits));
  int64_t least = isSigned(to) ? -greatest - 1 : 0;
  Value tooLarge =
      arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OGE, x, constant(from, above));
  // An unsigned conversion of (-1, 0) truncates to 0, which is what saturating gives.
  Value tooSmall = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT, x,
                                         constant(from, isSigned(to) ? -above : 0.0));
  Value isNaN = compare(BinaryOp::NotEqual, from, x, x);
  Value outside = arith::OrIOp::create(
      builder, location, arith::OrIOp::create(builder, location, tooLarge, tooSmall), isNaN);
  Value inside = select(outside, constant(from, 0.0), x);
  Type target = valueType(builder.getContext(), to);
  Value converted = isSigned(to)
                        ? Value(arith::FPToSIOp::create(builder, location, target, inside))
                        : Value(arith::FPToUIOp::create(builder, location, target, inside));
  converted = select(tooLarge, constant(to, greatest), converted);
  return select(tooSmall, constant(to, least), converted);
}

Value OpsBuilder::cast(ElementType from, ElementType to, Value value) {
  if (from == to)
    return value;
  Type target = valueType(builder.getContext(), to);
  auto make = [&]<typename Op>() -> Value { return Op::create(builder, location, target, value); };
  if (to == ElementType::Bool)
    return compare(BinaryOp::NotEqual, from, value, constant(from, int64_t(0)));
  if (isFloat(from) && isFloat(to)) {
    if (isHalf(from) && isHalf(to))
      return cast(ElementType::F32, to, cast(from, ElementType::F32, value));
    return bitsOf(from) < bitsOf(to) ? make.operator()<arith::ExtFOp>()
                                     : make.operator()<arith::TruncFOp>();
  }
  if (isFloat(from))
    return isHalf(from) ? floatToInteger(ElementType::F32, to, cast(from, ElementType::F32, value))
                        : floatToInteger(from, to, value);
  if (isHalf(to)) // Through f64, which holds 53 bits: rounded to the half once.
    return cast(ElementType::F64, to, cast(from, ElementType::F64, value));
  if (isFloat(to))
    return isSigned(from) ? make.operator()<arith::SIToFPOp>() : make.operator()<arith::UIToFPOp>();
  unsigned fromBits = from == ElementType::Bool ? 1 : bitsOf(from);
  if (fromBits == bitsOf(to))
    return value;
  if (fromBits > bitsOf(to))
    return make.operator()<arith::TruncIOp>();
  return isSigned(from) ? make.operator()<arith::ExtSIOp>() : make.operator()<arith::ExtUIOp>();
}

} // namespace kintsugi::tile
