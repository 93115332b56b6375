#include "te/scalar.h"

#include "base/half.h"

#include <cmath>
#include <limits>

namespace kintsugi::te {

int64_t wrapInteger(ElementType type, int64_t value) {
  if (type == ElementType::Bool)
    return value != 0;
  unsigned unused = 64 - bitsOf(type);
  uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return isSigned(type) ? static_cast<int64_t>(shifted) >> unused
                        : static_cast<int64_t>(shifted >> unused);
}

int64_t lowestInteger(ElementType type) {
  if (!isSigned(type))
    return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - bitsOf(type));
}

int64_t highestInteger(ElementType type) {
  if (type == ElementType::Bool)
    return 1;
  unsigned valueBits = bitsOf(type) - (isSigned(type) ? 1 : 0);
  return static_cast<int64_t>(~uint64_t(0) >> (64 - valueBits));
}

//===- Floats ---------------------------------------------------------------===//

double applyUnary(UnaryOp op, double x) {
  switch (op) {
  case UnaryOp::Neg:
    return -x;
  case UnaryOp::Abs:
    return std::fabs(x);
  case UnaryOp::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
  case UnaryOp::Ceil:
    return std::ceil(x);
  case UnaryOp::Floor:
    return std::floor(x);
  case UnaryOp::Round:
    return std::nearbyint(x);
  case UnaryOp::Sqrt:
    return std::sqrt(x);
  case UnaryOp::Exp:
    return std::exp(x);
  case UnaryOp::Log:
    return std::log(x);
  case UnaryOp::Sin:
    return std::sin(x);
  case UnaryOp::Cos:
    return std::cos(x);
  case UnaryOp::Tan:
    return std::tan(x);
  case UnaryOp::Asin:
    return std::asin(x);
  case UnaryOp::Acos:
    return std::acos(x);
  case UnaryOp::Atan:
    return std::atan(x);
  case UnaryOp::Sinh:
    return std::sinh(x);
  case UnaryOp::Cosh:
    return std::cosh(x);
  case UnaryOp::Tanh:
    return std::tanh(x);
  case UnaryOp::Asinh:
    return std::asinh(x);
  case UnaryOp::Acosh:
    return std::acosh(x);
  case UnaryOp::Atanh:
    return std::atanh(x);
  case UnaryOp::Erf:
    return std::erf(x);
  case UnaryOp::Not:
  case UnaryOp::IsNaN:
  case UnaryOp::IsInf:
  case UnaryOp::Bits:
  case UnaryOp::FromBits:
    break;
  }
  assert(false && "not an operation from float to float");
  return 0;
}

bool applyTest(UnaryOp op, double value) {
  return op == UnaryOp::IsNaN ? std::isnan(value) : std::isinf(value);
}

double roundedTo(ElementType type, double value) {
  return decodeFloat(type, encodeFloat(type, value));
}

/// Python's %: the sign of the divisor, also for a zero.
static double floorMod(double a, double b) {
  double remainder = std::fmod(a, b);
  if (remainder == 0)
    return std::copysign(remainder, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double applyBinary(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Sub:
    return a - b;
  case BinaryOp::Mul:
    return a * b;
  case BinaryOp::Div:
    return a / b;
  case BinaryOp::Rem:
    return std::fmod(a, b);
  case BinaryOp::Mod:
    return floorMod(a, b);
  case BinaryOp::Pow:
    return std::pow(a, b);
  case BinaryOp::Max:
    return std::isnan(a) || a > b ? a : b; // A NaN in b fails the comparison.
  case BinaryOp::Min:
    return std::isnan(a) || a < b ? a : b;
  default:
    assert(false && "not an operation from floats to float");
    return 0;
  }
}

bool applyComparison(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Less:
    return a < b;
  case BinaryOp::LessEqual:
    return a <= b;
  case BinaryOp::Equal:
    return a == b;
  default:
    assert(op == BinaryOp::NotEqual);
    return a != b;
  }
}

//===- Integers -------------------------------------------------------------===//

int64_t applyUnary(UnaryOp op, ElementType type, int64_t x) {
  uint64_t bits = static_cast<uint64_t>(x);
  bool negative = isSigned(type) && x < 0;
  switch (op) {
  case UnaryOp::Neg:
    return wrapInteger(type, static_cast<int64_t>(0 - bits));
  case UnaryOp::Abs:
    return wrapInteger(type, static_cast<int64_t>(negative ? 0 - bits : bits));
  case UnaryOp::Sign:
    return negative ? -1 : x != 0;
  case UnaryOp::Not:
    return type == ElementType::Bool ? x == 0 : wrapInteger(type, ~x);
  default:
    assert(false && "not an operation on integers");
    return 0;
  }
}

/// Quotient towards zero and remainder, as the type's numbers; zeros for a zero divisor.
static std::pair<int64_t, int64_t> divide(ElementType type, int64_t a, int64_t b) {
  if (b == 0)
    return {0, 0};
  if (!isSigned(type)) {
    uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    return {static_cast<int64_t>(ua / ub), static_cast<int64_t>(ua % ub)};
  }
  if (b == -1) // The least number has no negative; the processor's division traps.
    return {wrapInteger(type, static_cast<int64_t>(0 - static_cast<uint64_t>(a))), 0};
  return {a / b, a % b};
}

/// By squaring, wrapping around. A negative exponent rounds the real power towards zero.
static int64_t power(ElementType type, int64_t base, int64_t exponent) {
  if (isSigned(type) && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t rest = static_cast<uint64_t>(exponent); rest; rest >>= 1, square *= square)
    if (rest & 1)
      result *= square;
  return wrapInteger(type, static_cast<int64_t>(result));
}

static int64_t shift(BinaryOp op, ElementType type, int64_t a, int64_t b) {
  uint64_t amount = static_cast<uint64_t>(b), bits = static_cast<uint64_t>(a);
  if (amount >= bitsOf(type))
    return 0;
  return wrapInteger(
      type, static_cast<int64_t>(op == BinaryOp::ShiftLeft ? bits << amount : bits >> amount));
}

static bool lessThan(ElementType type, int64_t a, int64_t b) {
  return isSigned(type) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

int64_t applyBinary(BinaryOp op, ElementType type, int64_t a, int64_t b) {
  uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
  case BinaryOp::Add:
    return wrapInteger(type, static_cast<int64_t>(ua + ub));
  case BinaryOp::Sub:
    return wrapInteger(type, static_cast<int64_t>(ua - ub));
  case BinaryOp::Mul:
    return wrapInteger(type, static_cast<int64_t>(ua * ub));
  case BinaryOp::Div:
    return divide(type, a, b).first;
  case BinaryOp::Rem:
    return divide(type, a, b).second;
  case BinaryOp::Mod: {
    int64_t remainder = divide(type, a, b).second;
    return isSigned(type) && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b
                                                                          : remainder;
  }
  case BinaryOp::Pow:
    return power(type, a, b);
  case BinaryOp::Max:
    return lessThan(type, a, b) ? b : a;
  case BinaryOp::Min:
    return lessThan(type, b, a) ? b : a;
  case BinaryOp::And:
    return a & b;
  case BinaryOp::Or:
    return a | b;
  case BinaryOp::Xor:
    return a ^ b;
  case BinaryOp::ShiftLeft:
  case BinaryOp::ShiftRight:
    return shift(op, type, a, b);
  case BinaryOp::Less:
    return lessThan(type, a, b);
  case BinaryOp::LessEqual:
    return !lessThan(type, b, a);
  case BinaryOp::Equal:
    return a == b;
  case BinaryOp::NotEqual:
    return a != b;
  }
  return 0;
}

//===- Conversions ----------------------------------------------------------===//

int64_t castToInteger(ElementType to, double value) {
  if (to == ElementType::Bool)
    return value != 0; // NaN is not zero.
  if (std::isnan(value))
    return 0;
  // 2^valueBits is the first number above the type's, exact as a double.
  int valueBits = static_cast<int>(bitsOf(to)) - (isSigned(to) ? 1 : 0);
  if (value >= std::ldexp(1.0, valueBits))
    return highestInteger(to);
  if (value <= (isSigned(to) ? -std::ldexp(1.0, valueBits) : 0.0))
    return lowestInteger(to);
  return isSigned(to) ? static_cast<int64_t>(value)
                      : static_cast<int64_t>(static_cast<uint64_t>(value));
}

double castToFloat(ElementType from, int64_t value) {
  return isSigned(from) ? static_cast<double>(value)
                        : static_cast<double>(static_cast<uint64_t>(value));
}

} // namespace kintsugi::te
