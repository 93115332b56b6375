//===- build_expr.cpp - A nest's expressions as a region ------------------===//

#include "tile/build_expr.h"

#include "tile/dialect.h"

#include <cmath>

using namespace mlir;
using kintsugi::loops::LoopNest;

namespace kintsugi::tile {

Value ExprBuilder::build(const te::Expr &expr, Value mask) {
  if (mask && !touchesMemory(expr))
    mask = {};
  // What was read under a weaker mask serves under a stricter one.
  for (Value weaker = mask;; weaker = weakerMask.lookup(weaker)) {
    auto found = built.find({expr.identity(), weaker.getAsOpaquePointer()});
    if (found != built.end())
      return found->second;
    if (!weaker)
      break;
  }
  Value value = buildNew(expr, mask);
  built[{expr.identity(), mask.getAsOpaquePointer()}] = value;
  return value;
}

Value ExprBuilder::restrict(Value mask, Value condition) {
  Value both = ops.conjunction(mask, condition);
  if (mask)
    weakerMask[both] = mask;
  return both;
}

bool ExprBuilder::touchesMemory(const te::Expr &expr) {
  if (auto found = touches.find(expr.identity()); found != touches.end())
    return found->second;
  bool result = false;
  switch (expr.kind()) {
  case te::ExprKind::Read:
    result = !LoopNest::isAccumulator(expr.readValue());
    break;
  case te::ExprKind::Index:
    result = !expr.indexValue().isStatic();
    break;
  default:
    for (const te::Expr &operand : expr.operands())
      result |= touchesMemory(operand);
  }
  touches[expr.identity()] = result;
  return result;
}

Value ExprBuilder::buildNew(const te::Expr &expr, Value mask) {
  switch (expr.kind()) {
  case te::ExprKind::Literal:
    return isFloat(expr.type()) ? ops.constant(expr.type(), expr.literalFloat())
                                : ops.constant(expr.type(), expr.literalInteger());
  case te::ExprKind::Index:
    return indexNumber(expr.indexValue(), expr.type(), mask);
  case te::ExprKind::Read:
    return buildRead(expr, mask);
  case te::ExprKind::Unary:
    return ops.unary(expr.unaryOp(), expr.operand(0).type(), build(expr.operand(0), mask));
  case te::ExprKind::Binary:
    return buildBinary(expr, mask);
  case te::ExprKind::Select:
    return buildSelect(expr, mask);
  case te::ExprKind::Cast:
    return ops.cast(expr.operand(0).type(), expr.type(), build(expr.operand(0), mask));
  }
  llvm_unreachable("a kind of expression");
}

/// One of the reads of a buffer asks for all.
DenseI64ArrayAttr ExprBuilder::aheadOf(unsigned buffer) {
  for (const loops::Ahead &ahead : scope.ahead)
    if (ahead.buffer == buffer && askedAhead.insert(buffer).second)
      return builder.getDenseI64ArrayAttr({ahead.elements, ahead.isNextTile, ahead.rowsApart,
                                           ahead.sharedFrom ? int64_t(*ahead.sharedFrom) : -1});
  return {};
}

bool ExprBuilder::isInside(const IndexMap &position, int64_t elements) const {
  return llvm::any_of(places, [&](const Place &place) {
    return place.elements <= elements && place.position.map == position.map &&
           place.position.operands == position.operands;
  });
}

Value ExprBuilder::buildRead(const te::Expr &expr, Value mask) {
  if (LoopNest::isAccumulator(expr.readValue()))
    return scope.accumulators[expr.readValue().number - LoopNest::accumulator(0).number];
  unsigned number = expr.readValue().number;
  assert(expr.readIndices().size() == 1 && !expr.readFill() && "reads of schedules are flat");
  IndexMap position = indexMap(expr.readIndices()[0], mask);
  Value buffer = scope.buffers[number];
  auto memory = cast<MemRefType>(buffer.getType());
  if (mask && scope.types[number].home == loops::Home::Scratch &&
      isInside(position, memory.getNumElements()))
    mask = {};
  // A number of the run is there wherever one asks for it.
  if (position.map.isSingleConstant() &&
      uint64_t(position.map.getSingleConstantResult()) < uint64_t(memory.getNumElements()))
    mask = {};
  if (!mask)
    places.push_back({position, memory.getNumElements()});
  Type element = memory.getElementType();
  Value value = ReadOp::create(builder, builder.getUnknownLoc(), element, buffer, position.map,
                               position.operands, mask, aheadOf(number));
  if (scope.types[number].type == ElementType::Bool)
    value = ops.cast(ElementType::U8, ElementType::Bool, value);
  return value;
}

static bool isZero(const te::Expr &expr) {
  if (!expr.isLiteral())
    return false;
  if (isFloat(expr.type()))
    return expr.literalFloat() == 0 && !std::signbit(expr.literalFloat());
  return expr.literalInteger() == 0;
}

Value ExprBuilder::buildSelect(const te::Expr &expr, Value mask) {
  Value condition = build(expr.operand(0), mask);
  Value onTrueMask, onFalseMask;
  if (touchesMemory(expr.operand(1)))
    onTrueMask = restrict(mask, condition);
  Value onTrue = build(expr.operand(1), onTrueMask);
  // A read that is masked off is zero already.
  if (auto read = onTrue.getDefiningOp<ReadOp>())
    if (isZero(expr.operand(2)) && onTrueMask && read.getMask() == onTrueMask)
      return onTrue;
  if (touchesMemory(expr.operand(2)))
    onFalseMask = restrict(mask, ops.negation(condition));
  Value onFalse = build(expr.operand(2), onFalseMask);
  return ops.select(condition, onTrue, onFalse);
}

/// Of numbers that iterators alone decide.
std::optional<te::Interval> ExprBuilder::staticRange(const te::Expr &expr) const {
  if (expr.isLiteral() && isInteger(expr.type()))
    return te::Interval::point(expr.literalInteger());
  if (expr.kind() == te::ExprKind::Index && isInteger(expr.type()) && expr.indexValue().isStatic())
    return te::rangeOf(expr.indexValue(), scope.ranges);
  return std::nullopt;
}

bool fitsInt32(te::Interval range) {
  return range.within({std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
}

Value ExprBuilder::buildBinary(const te::Expr &expr, Value mask) {
  ElementType type = expr.operand(0).type();
  Value left, right;
  auto leftRange = staticRange(expr.operand(0)), rightRange = staticRange(expr.operand(1));
  // Bounds checks of padding: narrow numbers put twice as many lanes in a vector.
  if (te::isComparison(expr.binaryOp()) && type == ElementType::I64 && leftRange && rightRange &&
      fitsInt32(*leftRange) && fitsInt32(*rightRange)) {
    type = ElementType::I32;
    auto narrow = [&](const te::Expr &side) {
      return side.isLiteral() ? ops.constant(type, side.literalInteger())
                              : indexNumber(side.indexValue(), type, mask);
    };
    left = narrow(expr.operand(0));
    right = narrow(expr.operand(1));
  } else {
    left = build(expr.operand(0), mask);
    right = build(expr.operand(1), mask);
  }
  return ops.binary(expr.binaryOp(), type, left, right);
}

Value ExprBuilder::indexNumber(const te::Index &index, ElementType type, Value mask) {
  bool narrow = index.isStatic() && fitsInt32(te::rangeOf(index, scope.ranges));
  ElementType integer = narrow ? ElementType::I32 : ElementType::I64;
  IndexMap position = indexMap(index, mask);
  Value value =
      IndexOp::create(builder, builder.getUnknownLoc(), valueType(builder.getContext(), integer),
                      position.map, position.operands);
  return ops.cast(integer, type, value);
}

IndexMap ExprBuilder::indexMap(const te::Index &index, Value mask) {
  IndexMap result;
  AffineExpr expr = affine(index, result, mask);
  result.map = AffineMap::get(result.operands.size(), 0, expr);
  return result;
}

AffineExpr ExprBuilder::affine(const te::Index &index, IndexMap &result, Value mask) {
  MLIRContext *context = builder.getContext();
  auto dimension = [&](Value value) {
    auto found = llvm::find(result.operands, value);
    unsigned position = found - result.operands.begin();
    if (found == result.operands.end())
      result.operands.push_back(value);
    return getAffineDimExpr(position, context);
  };
  AffineExpr sum = getAffineConstantExpr(index.constantTerm(), context);
  for (const te::Term &term : index.terms()) {
    AffineExpr atom;
    switch (term.atom.kind) {
    case te::AtomKind::Iterator:
      atom = dimension(scope.iterators[term.atom.iterator]);
      break;
    case te::AtomKind::FloorDiv:
      atom = affine(term.atom.operand, result, mask).floorDiv(term.atom.divisor);
      break;
    case te::AtomKind::Mod:
      atom = affine(term.atom.operand, result, mask) % term.atom.divisor;
      break;
    case te::AtomKind::Data: {
      ElementType type = term.atom.data->type();
      bool narrow = bitsOf(type) < 32 || type == ElementType::I32;
      Value number = ops.cast(type, narrow ? ElementType::I32 : ElementType::I64,
                              build(*term.atom.data, mask));
      atom = dimension(arith::IndexCastOp::create(builder, builder.getUnknownLoc(),
                                                  builder.getIndexType(), number));
      break;
    }
    }
    sum = sum + atom * term.factor;
  }
  return sum;
}

} // namespace kintsugi::tile
