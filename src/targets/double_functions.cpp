//===- double_functions.cpp - Functions spelled out in f64 ----------------===//

#include "targets/double_functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <functional>
#include <limits>
#include <numbers>

using namespace mlir;

namespace kintsugi::targets {

bool DoubleFunctions::has(llvm::StringRef name) {
  return llvm::is_contained({"pow", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
                             "asinh", "acosh", "atanh"},
                            name);
}

/// Up to there a number less quarters of turns is exact.
std::optional<double> DoubleFunctions::end(llvm::StringRef name) {
  bool isPeriodic = llvm::is_contained({"sin", "cos", "tan"}, name);
  return isPeriodic ? std::optional(0x1p48) : std::nullopt;
}

Value DoubleFunctions::number(double value) { return emit.number(wide, value); }

Value DoubleFunctions::floor(Value x) {
  return math::FloorOp::create(emit.builder, emit.location, x);
}

Value DoubleFunctions::root(Value x) {
  return math::SqrtOp::create(emit.builder, emit.location, x);
}

Value DoubleFunctions::withSignOf(Value magnitude, Value x) {
  Type i64 = emit.builder.getI64Type();
  Value bits = emit.bitcast(x, i64);
  Value sign = emit.bitAnd(bits, emit.integer(bits.getType(), INT64_MIN));
  return emit.bitcast(emit.bitOr(emit.bitcast(magnitude, i64), sign), emit.builder.getF64Type());
}

/// By Horner's rule, the highest coefficient first.
Value DoubleFunctions::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = number(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = emit.fma(sum, x, number(coefficient));
  return sum;
}

/// x = n + f with |f| <= 1/2, and the first terms of Taylor's series of 2^f, which leave 7e-12 of
/// it. Adding and subtracting 1.5 * 2^52 rounds to an integer, which then stands in the low bits
/// and is added to the exponent. What f32 can't hold, however far out, ends as 0 or infinity.
Value DoubleFunctions::powerOfTwo(Value x) {
  Value low = number(-300), high = number(300), magic = number(0x1.8p52);
  x = emit.select(emit.less(x, low), low, x);
  x = emit.select(emit.less(high, x), high, x);
  Value shifted = emit.add(x, magic);
  Value f = emit.sub(x, emit.sub(shifted, magic));
  SmallVector<double> coefficients;
  double coefficient = 1;
  for (int k = 0; k <= 9; ++k) {
    coefficient *= k ? std::numbers::ln2 / k : 1;
    coefficients.insert(coefficients.begin(), coefficient);
  }
  Type i64 = emit.builder.getI64Type();
  Value exponent = emit.shiftLeft(emit.bitcast(shifted, i64), 52);
  Value value = emit.bitcast(polynomial(f, coefficients), i64);
  return emit.bitcast(emit.add(value, exponent), emit.builder.getF64Type());
}

/// Of the f64 that an f32 of at least 0 is: never denormal. x = 2^e m with sqrt(1/2) <= m <
/// sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)), of whose series 1e-12 is left out.
Value DoubleFunctions::logarithm2(Value x) {
  double infinity = std::numeric_limits<double>::infinity();
  Type i64 = emit.builder.getI64Type();
  Value bits = emit.bitcast(x, i64);
  auto constant = [&](int64_t value) { return emit.integer(bits.getType(), value); };
  Value mantissa =
      emit.bitOr(emit.bitAnd(bits, constant(0x000fffffffffffff)), constant(0x3fe0000000000000));
  Value m = emit.bitcast(mantissa, emit.builder.getF64Type());
  Value isLow = emit.less(m, number(std::numbers::sqrt2 / 2));
  // In the low bits of 2^52 an integer is a number.
  Value exponent = emit.bitOr(emit.shiftRight(bits, 52), constant(0x4330000000000000));
  Value e = emit.sub(emit.bitcast(exponent, emit.builder.getF64Type()),
                     emit.select(isLow, number(0x1p52 + 1023), number(0x1p52 + 1022)));
  m = emit.select(isLow, emit.add(m, m), m);
  Value s = emit.divide(emit.sub(m, number(1)), emit.add(m, number(1)));
  SmallVector<double> coefficients;
  for (int k = 6; k >= 0; --k)
    coefficients.push_back(2 * std::numbers::log2e / (2 * k + 1));
  Value value = emit.fma(s, polynomial(emit.mul(s, s), coefficients), e);
  value = emit.select(emit.equal(x, number(0)), number(-infinity), value);
  Value isOrdinary = emit.less(x, number(infinity)); // Not of NaN.
  return emit.select(isOrdinary, value, x);
}

Value DoubleFunctions::exponential(Value x) {
  return powerOfTwo(emit.mul(x, number(std::numbers::log2e)));
}

Value DoubleFunctions::logarithm(Value x) {
  return emit.mul(logarithm2(x), number(std::numbers::ln2));
}

/// As C's Annex F has it.
Value DoubleFunctions::power(Value x, Value y) {
  Value zero = number(0), one = number(1);
  Value magnitude = emit.absolute(x);
  Value result = powerOfTwo(emit.mul(y, logarithm2(magnitude)));
  Value half = emit.mul(y, number(0.5));
  Value isWhole = emit.equal(y, floor(y));
  Value isOdd = emit.bitAnd(
      isWhole, emit.bitXor(emit.equal(half, floor(half)), emit.integer(isWhole.getType(), 1)));
  Value bits = emit.bitcast(x, emit.builder.getI64Type());
  Value sign = emit.less(bits, emit.integer(bits.getType(), 0));
  result = emit.select(emit.bitAnd(sign, isOdd), emit.negate(result), result);
  Value isFinite = emit.less(magnitude, number(std::numeric_limits<double>::infinity()));
  Value hasNoRoot = emit.bitAnd(emit.bitAnd(emit.less(x, zero), isFinite),
                                emit.bitXor(isWhole, emit.integer(isWhole.getType(), 1)));
  result = emit.select(hasNoRoot, number(std::numeric_limits<double>::quiet_NaN()), result);
  Value isInfinitePower =
      emit.equal(emit.absolute(y), number(std::numeric_limits<double>::infinity()));
  Value isUnit =
      emit.bitOr(emit.equal(x, one), emit.bitAnd(emit.equal(magnitude, one), isInfinitePower));
  // An infinite power is whole and even: floor leaves it, and its half.
  return emit.select(emit.bitOr(isUnit, emit.equal(y, zero)), one, result);
}

/// x = n pi / 2 + r with |r| <= pi / 4; the quarter says which series of Taylor's it is.
Value DoubleFunctions::sine(Value x, int turns) {
  Value n = floor(emit.fma(x, number(0.63661977236758134), number(0.5)));
  Value r = emit.fma(n, number(-1.5707963267948966), x);
  r = emit.fma(n, number(-6.123233995736766e-17), r);
  Value square = emit.mul(r, r);
  SmallVector<double> odd, even;
  double factorial = 1;
  for (int k = 0; k <= 17; ++k) {
    factorial *= k ? k : 1;
    SmallVector<double> &series = k % 2 ? odd : even;
    series.insert(series.begin(), (k / 2 % 2 ? -1 : 1) / factorial);
  }
  Value sines = emit.mul(r, polynomial(square, odd)), cosines = polynomial(square, even);
  Value inRange = emit.less(emit.absolute(n), number(0x1p50));
  Value whole = emit.add(emit.select(inRange, n, number(0)), number(0x1.8p52 + turns));
  Value quarter = emit.bitcast(whole, emit.builder.getI64Type()); // In its low bits.
  auto bit = [&](int64_t mask) {
    Value only = emit.integer(quarter.getType(), mask);
    return emit.equal(emit.bitAnd(quarter, only), only);
  };
  Value value = emit.select(bit(1), cosines, sines);
  return emit.select(bit(2), emit.negate(value), value);
}

/// Of |x|, whose angle is cut to |r| <= tan(pi / 8) by one of three quotients: |x| itself, that of
/// an angle less pi / 4, or that of an angle less pi / 2; then Taylor's series.
Value DoubleFunctions::arctangent(Value x) {
  Value zero = number(0), one = number(1), magnitude = emit.absolute(x);
  Value isSteep = emit.less(number(2.4142135623730950), magnitude);
  Value isMiddle = emit.less(number(0.41421356237309505), magnitude);
  Value above =
      emit.select(isSteep, number(-1), emit.select(isMiddle, emit.sub(magnitude, one), magnitude));
  Value below =
      emit.select(isSteep, magnitude, emit.select(isMiddle, emit.add(magnitude, one), one));
  Value start = emit.select(isSteep, number(1.5707963267948966),
                            emit.select(isMiddle, number(0.78539816339744831), zero));
  Value r = emit.divide(above, below);
  SmallVector<double> coefficients;
  for (int k = 19; k >= 0; --k)
    coefficients.push_back((k % 2 ? -1.0 : 1.0) / (2 * k + 1));
  Value angle = emit.add(start, emit.mul(r, polynomial(emit.mul(r, r), coefficients)));
  return withSignOf(angle, x);
}

/// Beyond 1 the root is of a negative number: NaN.
Value DoubleFunctions::arcsine(Value x) {
  Value one = number(1);
  return arctangent(emit.divide(x, root(emit.mul(emit.sub(one, x), emit.add(one, x)))));
}

Value DoubleFunctions::arccosine(Value x) {
  Value one = number(1);
  Value half = arctangent(root(emit.divide(emit.sub(one, x), emit.add(one, x))));
  return emit.add(half, half);
}

/// Near 0 by Taylor's series, where exponentials are too near each other.
Value DoubleFunctions::sineH(Value x) {
  Value square = emit.mul(x, x);
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int k = 1; k <= 15; k += 2) {
    factorial *= k > 1 ? k * (k - 1) : 1;
    coefficients.insert(coefficients.begin(), 1 / factorial);
  }
  Value series = emit.mul(x, polynomial(square, coefficients));
  Value difference = emit.sub(exponential(x), exponential(emit.negate(x)));
  return emit.select(emit.less(square, number(1)), series, emit.mul(number(0.5), difference));
}

Value DoubleFunctions::cosineH(Value x) {
  return emit.mul(number(0.5), emit.add(exponential(x), exponential(emit.negate(x))));
}

Value DoubleFunctions::seriesOfAreaTangent(Value x) {
  SmallVector<double> coefficients;
  for (int k = 10; k >= 0; --k)
    coefficients.push_back(1.0 / (2 * k + 1));
  return emit.mul(x, polynomial(emit.mul(x, x), coefficients));
}

Value DoubleFunctions::areaTangent(Value x) {
  Value one = number(1), magnitude = emit.absolute(x);
  Value far = emit.mul(number(0.5),
                       logarithm(emit.divide(emit.add(one, magnitude), emit.sub(one, magnitude))));
  Value value =
      emit.select(emit.less(magnitude, number(0.17)), seriesOfAreaTangent(x), withSignOf(far, x));
  Value isBeyond = emit.less(one, magnitude);
  return emit.select(isBeyond, number(std::numeric_limits<double>::quiet_NaN()), value);
}

/// asinh(x) = artanh(x / sqrt(1 + x^2)), and log(|x| + sqrt(1 + x^2)) of its magnitude.
Value DoubleFunctions::areaSine(Value x) {
  Value magnitude = emit.absolute(x), length = root(emit.fma(x, x, number(1)));
  Value near = emit.divide(x, length);
  Value far = withSignOf(logarithm(emit.add(magnitude, length)), x);
  return emit.select(emit.less(magnitude, number(0.17)), seriesOfAreaTangent(near), far);
}

Value DoubleFunctions::areaCosine(Value x) {
  Value one = number(1);
  Value value = logarithm(emit.add(x, root(emit.mul(emit.sub(x, one), emit.add(x, one)))));
  Value isBelow = emit.less(x, one);
  return emit.select(isBelow, number(std::numeric_limits<double>::quiet_NaN()), value);
}

Value DoubleFunctions::apply(llvm::StringRef name, ArrayRef<Value> operands) {
  wide = Emit::shapedLike(emit.builder.getF64Type(), operands[0].getType());
  SmallVector<Value> given;
  for (Value operand : operands)
    given.push_back(emit.widen(operand, emit.builder.getF64Type()));
  Value x = given[0];
  std::function<Value()> function =
      llvm::StringSwitch<std::function<Value()>>(name)
          .Case("pow", [&] { return power(x, given[1]); })
          .Case("sin", [&] { return sine(x, 0); })
          .Case("cos", [&] { return sine(x, 1); })
          .Case("tan", [&] { return emit.divide(sine(x, 0), sine(x, 1)); })
          .Case("asin", [&] { return arcsine(x); })
          .Case("acos", [&] { return arccosine(x); })
          .Case("atan", [&] { return arctangent(x); })
          .Case("sinh", [&] { return sineH(x); })
          .Case("cosh", [&] { return cosineH(x); })
          .Case("asinh", [&] { return areaSine(x); })
          .Case("acosh", [&] { return areaCosine(x); })
          .Case("atanh", [&] { return areaTangent(x); });
  return emit.narrow(function(), emit.builder.getF32Type());
}

} // namespace kintsugi::targets
