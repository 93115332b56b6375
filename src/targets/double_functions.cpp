//===- double_functions.cpp - Functions spelled out in f64 ----------------===//

#include "targets/double_functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace kintsugi::targets {

bool DoubleFunctions::has(llvm::StringRef name) {
  return llvm::is_contained({"pow", "sin", "cos", "tan"}, name);
}

/// Up to there a number less quarters of turns is exact.
std::optional<double> DoubleFunctions::end(llvm::StringRef name) {
  return name == "pow" ? std::nullopt : std::optional(0x1p48);
}

Value DoubleFunctions::number(double value) { return emit.number(wide, value); }

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

Value DoubleFunctions::apply(llvm::StringRef name, ArrayRef<Value> operands) {
  wide = Emit::shapedLike(emit.builder.getF64Type(), operands[0].getType());
  SmallVector<Value> given;
  for (Value operand : operands)
    given.push_back(emit.widen(operand, emit.builder.getF64Type()));
  Value result;
  if (name == "pow")
    result = power(given[0], given[1]);
  else if (name == "tan")
    result = emit.divide(sine(given[0], 0), sine(given[0], 1));
  else
    result = sine(given[0], name == "cos");
  return emit.narrow(result, emit.builder.getF32Type());
}

} // namespace kintsugi::targets
