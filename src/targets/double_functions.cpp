//===- double_functions.cpp - Functions spelled out in f64 ----------------===//

#include "targets/double_functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace kintsugi::targets {

bool DoubleFunctions::has(llvm::StringRef name) {
  return llvm::is_contained({"pow", "sin", "cos", "tan"}, name);
}

Value DoubleFunctions::number(double value) {
  return emit.number(emit.builder.getF64Type(), value);
}

Value DoubleFunctions::floor(Value x) {
  return math::FloorOp::create(emit.builder, emit.location, x);
}

/// By Horner's rule, the highest coefficient first.
Value DoubleFunctions::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = number(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = emit.fma(sum, x, number(coefficient));
  return sum;
}

/// 2^exponent for integers (i64) of a normal number's range.
Value DoubleFunctions::powerOfTwo(Value exponent) {
  Value biased = emit.add(exponent, emit.integer(exponent.getType(), 1023));
  return emit.bitcast(emit.shiftLeft(biased, 52), emit.builder.getF64Type());
}

/// x = n ln 2 + r with |r| <= ln(2) / 2, and Taylor's series of e^r. What f32 can't hold, however
/// far out, ends as 0 or infinity.
Value DoubleFunctions::exponential(Value x) {
  Value low = number(-200), high = number(200);
  Value inside = emit.select(emit.less(x, low), low, x);
  inside = emit.select(emit.less(high, inside), high, inside);
  Value n = floor(emit.fma(inside, number(1.4426950408889634), number(0.5)));
  Value r = emit.fma(n, number(-6.93147180369123816490e-01), inside);
  r = emit.fma(n, number(-1.90821492927058770002e-10), r);
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int k = 0; k <= 13; ++k) {
    factorial *= k ? k : 1;
    coefficients.insert(coefficients.begin(), 1 / factorial);
  }
  Value value = polynomial(r, coefficients);
  // NaN has no whole number, and any exponent will do.
  Value whole = emit.select(emit.isNaN(n), number(0), n);
  Value exponent =
      arith::FPToSIOp::create(emit.builder, emit.location, emit.builder.getI64Type(), whole);
  return emit.mul(value, powerOfTwo(exponent));
}

/// Of the f64 that an f32 of at least 0 is: never denormal. x = 2^e m with sqrt(1/2) <= m <
/// sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)).
Value DoubleFunctions::logarithm(Value x) {
  double infinity = std::numeric_limits<double>::infinity();
  Type i64 = emit.builder.getI64Type();
  Value bits = emit.bitcast(x, i64);
  Value exponent = emit.sub(emit.shiftRight(bits, 52), emit.integer(i64, 1022));
  Value mantissa = emit.bitOr(emit.bitAnd(bits, emit.integer(i64, 0x000fffffffffffff)),
                              emit.integer(i64, 0x3fe0000000000000));
  Value m = emit.bitcast(mantissa, emit.builder.getF64Type());
  Value isLow = emit.less(m, number(0.70710678118654752));
  Value e =
      arith::SIToFPOp::create(emit.builder, emit.location, emit.builder.getF64Type(), exponent);
  e = emit.sub(e, emit.select(isLow, number(1), number(0)));
  m = emit.select(isLow, emit.add(m, m), m);
  Value s = emit.divide(emit.sub(m, number(1)), emit.add(m, number(1)));
  SmallVector<double> coefficients;
  for (int k = 10; k >= 0; --k)
    coefficients.push_back(2.0 / (2 * k + 1));
  Value series = emit.mul(s, polynomial(emit.mul(s, s), coefficients));
  Value value = emit.fma(e, number(0.69314718055994531), series);
  value = emit.select(emit.equal(x, number(0)), number(-infinity), value);
  Value isOrdinary = emit.less(x, number(infinity)); // Not of NaN.
  return emit.select(emit.bitOr(isOrdinary, emit.equal(x, number(0))), value, x);
}

/// As C's Annex F has it.
Value DoubleFunctions::power(Value x, Value y) {
  Value zero = number(0), one = number(1);
  Value magnitude = emit.absolute(x);
  Value result = exponential(emit.mul(y, logarithm(magnitude)));
  Value half = emit.mul(y, number(0.5));
  Value isWhole = emit.equal(y, floor(y));
  Value isOdd = emit.bitAnd(
      isWhole, emit.bitXor(emit.equal(half, floor(half)), emit.integer(isWhole.getType(), 1)));
  Type i64 = emit.builder.getI64Type();
  Value sign = emit.less(emit.bitcast(x, i64), emit.integer(i64, 0));
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
  Value inRange = emit.less(emit.absolute(n), number(0x1p52));
  Type i64 = emit.builder.getI64Type();
  Value quarter =
      arith::FPToSIOp::create(emit.builder, emit.location, i64, emit.select(inRange, n, number(0)));
  quarter = emit.add(quarter, emit.integer(i64, turns));
  auto bit = [&](int64_t mask) {
    return emit.equal(emit.bitAnd(quarter, emit.integer(i64, mask)), emit.integer(i64, mask));
  };
  Value value = emit.select(bit(1), cosines, sines);
  return emit.select(bit(2), emit.negate(value), value);
}

Value DoubleFunctions::apply(llvm::StringRef name, ArrayRef<Value> operands) {
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(emit.widen(operand, emit.builder.getF64Type()));
  Value result;
  if (name == "pow")
    result = power(wide[0], wide[1]);
  else if (name == "tan")
    result = emit.divide(sine(wide[0], 0), sine(wide[0], 1));
  else
    result = sine(wide[0], name == "cos");
  return emit.narrow(result, emit.builder.getF32Type());
}

} // namespace kintsugi::targets
