//===- reduction.cpp - How a nest's running values are joined -------------===//

#include "targets/reduction.h"

#include "targets/elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using kintsugi::tile::CombinerKind;

namespace kintsugi::targets {

static bool isNumber(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    if (auto dense = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return !dense.getSplatValue<llvm::APFloat>().isNaN();
    return !cast<FloatAttr>(constant.getValue()).getValue().isNaN();
  }
  return false;
}

/// x86's max gives its second operand if either is NaN: one compare-and-choose whose other operand
/// is known to be a number is enough.
Value extremum(Emit &emit, Value a, Value b, bool isMax, const SpecialUnits *units) {
  if (units)
    return units->extremum(emit, a, b, isMax);
  if (isNumber(b))
    std::swap(a, b);
  Value chosen = emit.select(isMax ? emit.less(b, a) : emit.less(a, b), a, b);
  return isNumber(a) ? chosen : emit.select(emit.isNaN(a), a, chosen);
}

static double infinity() { return std::numeric_limits<double>::infinity(); }

static Value neutralOf(Emit &emit, CombinerKind kind, Type type) {
  bool isFloat = isFloatLike(type);
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  int64_t greatest = static_cast<int64_t>(~0ull >> (65 - bits));
  switch (kind) {
  case CombinerKind::Sum:
    return isFloat ? emit.number(type, 0) : emit.integer(type, 0);
  case CombinerKind::Prod:
    return isFloat ? emit.number(type, 1) : emit.integer(type, 1);
  case CombinerKind::Max:
  case CombinerKind::ArgMax:
  case CombinerKind::SoftmaxStats:
    return isFloat ? emit.number(type, -infinity()) : emit.integer(type, -greatest - 1);
  case CombinerKind::Min:
  case CombinerKind::ArgMin:
    return isFloat ? emit.number(type, infinity()) : emit.integer(type, greatest);
  case CombinerKind::UMax:
  case CombinerKind::UArgMax:
  case CombinerKind::Or:
    return emit.integer(type, 0);
  case CombinerKind::UMin:
  case CombinerKind::UArgMin:
  case CombinerKind::And:
    return emit.integer(type, -1);
  }
  llvm_unreachable("a combiner");
}

Tuple Combiner::neutral(TypeRange types) {
  Tuple result = {neutralOf(emit, kind, types[0])};
  if (types.size() == 2)
    result.push_back(isFloatLike(types[1]) ? emit.number(types[1], 0) : emit.integer(types[1], 0));
  return result;
}

Tuple Combiner::lift(ArrayRef<Value> bodies) {
  Tuple result(bodies);
  if (kind == CombinerKind::SoftmaxStats)
    result.push_back(emit.number(bodies[0].getType(), 1));
  return result;
}

Tuple Combiner::finish(ArrayRef<Value> values) {
  if (kind != CombinerKind::SoftmaxStats)
    return Tuple(values);
  // With an infinite maximum, exp(x - m) of the greatest is NaN, and so is the sum.
  return {values[0], emit.add(values[1], emit.sub(values[0], values[0]))};
}

Tuple Combiner::join(ArrayRef<Value> first, ArrayRef<Value> second) {
  Type element = getElementTypeOrSelf(first[0].getType());
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16) {
    Elementwise rounding(emit.builder, imports, units);
    auto widened = [&](ArrayRef<Value> values) {
      Tuple wide(values);
      for (Value &value : wide)
        if (value.getType() == first[0].getType())
          value = emit.widen(value, emit.builder.getF32Type());
      return wide;
    };
    Tuple result = join(widened(first), widened(second));
    for (auto [value, original] : llvm::zip(result, first))
      if (value.getType() != original.getType())
        value = rounding.roundTo(value, element);
    return result;
  }
  if (tile::isArgForm(kind))
    return joinArgs(first, second);
  if (kind == CombinerKind::SoftmaxStats)
    return joinStats(first, second);
  return {joinOne(first[0], second[0])};
}

Value Combiner::extreme(Value a, Value b, bool isMax) {
  return extremum(emit, a, b, isMax, a.getType().isF32() ? units : nullptr);
}

Value Combiner::joinOne(Value a, Value b) {
  auto make = [&]<typename Op>() -> Value { return Op::create(emit.builder, emit.location, a, b); };
  bool isFloat = isFloatLike(a.getType());
  switch (kind) {
  case CombinerKind::Sum:
    return emit.add(a, b);
  case CombinerKind::Prod:
    return emit.mul(a, b);
  case CombinerKind::Max:
    return isFloat ? extreme(a, b, true) : make.operator()<arith::MaxSIOp>();
  case CombinerKind::Min:
    return isFloat ? extreme(a, b, false) : make.operator()<arith::MinSIOp>();
  case CombinerKind::UMax:
    return make.operator()<arith::MaxUIOp>();
  case CombinerKind::UMin:
    return make.operator()<arith::MinUIOp>();
  case CombinerKind::And:
    return emit.bitAnd(a, b);
  case CombinerKind::Or:
    return emit.bitOr(a, b);
  default:
    llvm_unreachable("a combiner of one value");
  }
}

/// The first of the best keys wins; NaN is best of all.
Tuple Combiner::joinArgs(ArrayRef<Value> first, ArrayRef<Value> second) {
  Value a = first[0], b = second[0];
  bool isMax = kind == CombinerKind::ArgMax || kind == CombinerKind::UArgMax;
  bool isUnsigned = kind == CombinerKind::UArgMax || kind == CombinerKind::UArgMin;
  Value low = isMax ? a : b, high = isMax ? b : a;
  Value better = isUnsigned ? emit.lessUnsigned(low, high) : emit.less(low, high);
  if (isFloatLike(a.getType())) {
    Value aIsNumber = emit.equal(a, a);
    better = emit.bitOr(better, emit.bitAnd(emit.isNaN(b), aIsNumber));
  }
  return {emit.select(better, b, a), emit.select(better, second[1], first[1])};
}

/// (m, s) with s = sum exp(x - m): the sum of the lesser maximum is scaled by exp(-|m1 - m2|),
/// which is 1 for equal ones, infinite or not.
Tuple Combiner::joinStats(ArrayRef<Value> first, ArrayRef<Value> second) {
  Value a = first[0], b = second[0];
  Value distance = emit.negate(emit.absolute(emit.sub(a, b)));
  Value scale = Elementwise(emit.builder, imports, units).exponential(distance);
  scale = emit.select(emit.equal(a, b), emit.number(a.getType(), 1), scale);
  Value rises = emit.less(a, b);
  Value scaledFirst = emit.add(emit.mul(first[1], scale), second[1]);
  Value scaledSecond = emit.add(first[1], emit.mul(second[1], scale));
  return {extreme(a, b, true), emit.select(rises, scaledFirst, scaledSecond)};
}

Tuple Combiner::joinLanes(ArrayRef<Value> vectors) {
  Tuple current(vectors);
  for (unsigned lanes = lanesOf(vectors[0].getType()); lanes > 1; lanes /= 2) {
    SmallVector<int32_t> low, high;
    for (unsigned lane = 0; lane < lanes / 2; ++lane) {
      low.push_back(lane);
      high.push_back(lane + lanes / 2);
    }
    Tuple first, second;
    for (Value value : current) {
      first.push_back(emit.shuffle(value, value, low));
      second.push_back(emit.shuffle(value, value, high));
    }
    current = join(first, second);
  }
  for (Value &value : current)
    value = emit.lane(value, 0);
  return current;
}

} // namespace kintsugi::targets
