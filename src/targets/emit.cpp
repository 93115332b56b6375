//===- emit.cpp - Arithmetic on scalars and vectors alike -----------------===//

#include "targets/emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace kintsugi::targets {

unsigned lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 0;
}

bool isFloatLike(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

Type Emit::shapedLike(Type element, Type like) {
  unsigned lanes = lanesOf(like);
  return lanes ? Type(VectorType::get({lanes}, element)) : element;
}

static Value constantOf(Emit &emit, Type type, TypedAttr element) {
  TypedAttr value = element;
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, ArrayRef<Attribute>(element));
  return arith::ConstantOp::create(emit.builder, emit.location, value);
}

Value Emit::number(Type type, double value) {
  return constantOf(*this, type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value Emit::integer(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  llvm::APInt bits(64, static_cast<uint64_t>(value));
  return constantOf(*this, type,
                    builder.getIntegerAttr(element, bits.trunc(element.getIntOrFloatBitWidth())));
}

Value Emit::sequence(unsigned lanes, Type element, int64_t step) {
  SmallVector<llvm::APInt> values;
  for (unsigned lane = 0; lane < lanes; ++lane)
    values.push_back(
        llvm::APInt(64, static_cast<uint64_t>(lane * step)).trunc(element.getIntOrFloatBitWidth()));
  auto type = VectorType::get({lanes}, element);
  return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, values));
}

Value Emit::firstLanes(unsigned lanes, unsigned active) {
  SmallVector<bool> values;
  for (unsigned lane = 0; lane < lanes; ++lane)
    values.push_back(lane < active);
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, values));
}

Value Emit::undefined(Type type) { return LLVM::PoisonOp::create(builder, location, type); }

Value Emit::withLane(Value vector, Value scalar, unsigned number) {
  Value position = integer(builder.getI64Type(), number);
  return LLVM::InsertElementOp::create(builder, location, vector, scalar, position);
}

Value Emit::lane(Value vector, unsigned number) {
  Value position = integer(builder.getI64Type(), number);
  return LLVM::ExtractElementOp::create(builder, location, vector, position);
}

Value Emit::splat(Value scalar, unsigned lanes) {
  if (auto constant = scalar.getDefiningOp<arith::ConstantOp>())
    return constantOf(*this, VectorType::get({lanes}, scalar.getType()), constant.getValue());
  Value empty = undefined(VectorType::get({lanes}, scalar.getType()));
  return shuffle(withLane(empty, scalar, 0), empty, SmallVector<int32_t>(lanes, 0));
}

Value Emit::shuffle(Value first, Value second, ArrayRef<int32_t> lanes) {
  return LLVM::ShuffleVectorOp::create(builder, location, first, second, lanes);
}

Value Emit::add(Value a, Value b) {
  if (isFloatLike(a.getType()))
    return arith::AddFOp::create(builder, location, a, b);
  return arith::AddIOp::create(builder, location, a, b);
}

Value Emit::sub(Value a, Value b) {
  if (isFloatLike(a.getType()))
    return arith::SubFOp::create(builder, location, a, b);
  return arith::SubIOp::create(builder, location, a, b);
}

Value Emit::mul(Value a, Value b) {
  if (isFloatLike(a.getType()))
    return arith::MulFOp::create(builder, location, a, b);
  return arith::MulIOp::create(builder, location, a, b);
}

Value Emit::divide(Value a, Value b) { return arith::DivFOp::create(builder, location, a, b); }
Value Emit::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, location, a, b, c);
}
Value Emit::negate(Value a) { return arith::NegFOp::create(builder, location, a); }
Value Emit::absolute(Value a) { return math::AbsFOp::create(builder, location, a); }
Value Emit::withSignOf(Value magnitude, Value sign) {
  return math::CopySignOp::create(builder, location, magnitude, sign);
}
Value Emit::bitAnd(Value a, Value b) { return arith::AndIOp::create(builder, location, a, b); }
Value Emit::bitOr(Value a, Value b) { return arith::OrIOp::create(builder, location, a, b); }
Value Emit::bitXor(Value a, Value b) { return arith::XOrIOp::create(builder, location, a, b); }

Value Emit::shiftLeft(Value a, unsigned bits) {
  return arith::ShLIOp::create(builder, location, a, integer(a.getType(), bits));
}
Value Emit::shiftRight(Value a, unsigned bits) {
  return arith::ShRUIOp::create(builder, location, a, integer(a.getType(), bits));
}
Value Emit::shiftRightSigned(Value a, unsigned bits) {
  return arith::ShRSIOp::create(builder, location, a, integer(a.getType(), bits));
}

Value Emit::select(Value condition, Value onTrue, Value onFalse) {
  return arith::SelectOp::create(builder, location, condition, onTrue, onFalse);
}

Value Emit::less(Value a, Value b) {
  if (isFloatLike(a.getType()))
    return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT, a, b);
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, a, b);
}

Value Emit::lessUnsigned(Value a, Value b) {
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult, a, b);
}

Value Emit::lessOrUnordered(Value a, Value b) {
  return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::ULT, a, b);
}

Value Emit::equal(Value a, Value b) {
  if (isFloatLike(a.getType()))
    return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, a, b);
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, a, b);
}

Value Emit::isNaN(Value a) {
  return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, a, a);
}

Value Emit::bitcast(Value a, Type element) {
  return arith::BitcastOp::create(builder, location, shapedLike(element, a.getType()), a);
}

Value Emit::widen(Value a, Type element) {
  return arith::ExtFOp::create(builder, location, shapedLike(element, a.getType()), a);
}

Value Emit::narrow(Value a, Type element) {
  return arith::TruncFOp::create(builder, location, shapedLike(element, a.getType()), a);
}

Value Emit::resize(Value a, Type element) {
  unsigned from = getElementTypeOrSelf(a.getType()).getIntOrFloatBitWidth();
  unsigned to = element.getIntOrFloatBitWidth();
  Type target = shapedLike(element, a.getType());
  if (from == to)
    return a;
  if (from < to)
    return arith::ExtSIOp::create(builder, location, target, a);
  return arith::TruncIOp::create(builder, location, target, a);
}

} // namespace kintsugi::targets
