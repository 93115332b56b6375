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

/// Of signed integers.
static int64_t greatestOf(Type type) {
  return static_cast<int64_t>(~0ull >> (65 - getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
}

static Value neutralOf(Emit &emit, CombinerKind kind, Type type) {
  bool isFloat = isFloatLike(type);
  int64_t greatest = greatestOf(type);
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

static Type maskLike(Type type) {
  return Emit::shapedLike(IntegerType::get(type.getContext(), 1), type);
}

/// Of as many bits.
static Type integersLike(Type type) {
  unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return Emit::shapedLike(IntegerType::get(type.getContext(), bits), type);
}

bool Combiner::watches(Type type) const {
  bool isExtremum = kind == CombinerKind::Max || kind == CombinerKind::Min;
  return watch != NaNWatch::None && isExtremum && lanesOf(type) > 0 && isFloatLike(type) &&
         getElementTypeOrSelf(type).getIntOrFloatBitWidth() >= 32;
}

Tuple Combiner::neutral(TypeRange types) {
  Tuple result = {neutralOf(emit, kind, types[0])};
  if (watches(result[0].getType()))
    result.push_back(watch == NaNWatch::Masks ? emit.integer(maskLike(types[0]), 1)
                                              : emit.integer(integersLike(types[0]), 0));
  if (types.size() == 2)
    result.push_back(isFloatLike(types[1]) ? emit.number(types[1], 0)
                                           : emit.integer(types[1], lastPayload(types[1])));
  return result;
}

/// What comes after all others in the payloads' order.
int64_t Combiner::lastPayload(Type type) const {
  int64_t greatest = greatestOf(type);
  if (payloadOrder == 0)
    return 0;
  return payloadOrder > 0 ? greatest : -greatest - 1;
}

Tuple Combiner::lift(ArrayRef<Value> bodies) {
  Tuple result(bodies);
  if (kind == CombinerKind::SoftmaxStats)
    result.push_back(emit.number(bodies[0].getType(), 1));
  if (watches(bodies[0].getType()))
    result.push_back(watched(bodies[0]));
  return result;
}

/// What is remembered of one vector.
Value Combiner::watched(Value x) {
  if (watch == NaNWatch::Masks)
    return emit.equal(x, x);
  return arith::ExtSIOp::create(emit.builder, emit.location, integersLike(x.getType()),
                                emit.isNaN(x));
}

Tuple Combiner::finish(ArrayRef<Value> values) {
  if (values.size() == 2 && watches(values[0].getType()))
    return {withNaN(values[0], values[1])};
  if (kind != CombinerKind::SoftmaxStats)
    return Tuple(values);
  // With an infinite maximum, exp(x - m) of the greatest is NaN, and so is the sum.
  return {values[0], emit.add(values[1], emit.sub(values[0], values[0]))};
}

Tuple Combiner::join(ArrayRef<Value> first, ArrayRef<Value> second, bool isApart) {
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
    Tuple result = join(widened(first), widened(second), isApart);
    for (auto [value, original] : llvm::zip(result, first))
      if (value.getType() != original.getType())
        value = rounding.roundTo(value, element);
    return result;
  }
  if (tile::isArgForm(kind))
    return joinArgs(first, second, isApart);
  if (kind == CombinerKind::SoftmaxStats)
    return joinStats(first, second);
  if (first.size() == 2)
    return joinWatched(first, second);
  return {joinOne(first[0], second[0])};
}

/// Which of the two values it is where one is NaN does not matter.
Tuple Combiner::joinWatched(ArrayRef<Value> first, ArrayRef<Value> second) {
  Value a = first[0], b = second[0];
  Value isLess = kind == CombinerKind::Max ? emit.less(b, a) : emit.less(a, b);
  Value seen =
      watch == NaNWatch::Masks ? emit.bitAnd(first[1], second[1]) : emit.bitOr(first[1], second[1]);
  return {emit.select(isLess, a, b), seen};
}

Value Combiner::withNaN(Value value, Value seen) {
  Type type = value.getType();
  if (watch == NaNWatch::Masks)
    return emit.select(seen, value, emit.number(type, std::numeric_limits<double>::quiet_NaN()));
  Value bits = emit.bitcast(value, getElementTypeOrSelf(seen.getType()));
  return emit.bitcast(emit.bitOr(bits, seen), getElementTypeOrSelf(type));
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
Tuple Combiner::joinArgs(ArrayRef<Value> first, ArrayRef<Value> second, bool isApart) {
  Value a = first[0], b = second[0];
  bool isFloat = isFloatLike(a.getType());
  bool isMax = kind == CombinerKind::ArgMax || kind == CombinerKind::UArgMax;
  bool isUnsigned = kind == CombinerKind::UArgMax || kind == CombinerKind::UArgMin;
  Value low = isMax ? a : b, high = isMax ? b : a;
  Value better;
  if (isFloat)
    better = emit.bitAnd(emit.lessOrUnordered(low, high), emit.equal(a, a));
  else
    better = isUnsigned ? emit.lessUnsigned(low, high) : emit.less(low, high);
  if (isApart) {
    Value alike = emit.equal(a, b);
    if (isFloat)
      alike = emit.bitOr(alike, emit.bitAnd(emit.isNaN(a), emit.isNaN(b)));
    Value earlier = payloadOrder > 0 ? second[1] : first[1];
    Value later = payloadOrder > 0 ? first[1] : second[1];
    better = emit.bitOr(better, emit.bitAnd(alike, emit.less(earlier, later)));
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
  Tuple current = watches(vectors[0].getType()) ? finish(vectors) : Tuple(vectors);
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
    current = joinApart(first, second);
  }
  for (Value &value : current)
    value = emit.lane(value, 0);
  return current;
}

} // namespace kintsugi::targets
