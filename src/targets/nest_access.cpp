//===- nest_access.cpp - The values and the memory of a nest --------------===//

#include "targets/elementwise.h"
#include "targets/nest_emitter.h"
#include "targets/special_units.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace kintsugi::targets {

namespace {

/// Keys of values that are no operation's result.
char splatTag, baseTag, inverseTag;

} // namespace

Value NestEmitter::evaluate(Value value, Point point) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool alongReduction = vectorIterator >= static_cast<int>(numParallel);
    unsigned number = argument.getArgNumber() - numParallel;
    return results[alongReduction ? point.row : point.row * vectors + point.vector][number];
  }
  point = canonical(value, point);
  unsigned level = levelOf(value);
  Levels::Key key = keyOf(value, point);
  if (Value known = levels.find(level, key))
    return known;
  Value result = evaluateNew(value.getDefiningOp(), point, level);
  levels.know(level, key, result);
  return result;
}

/// Whether several points, side by side or one after another, have the same divisor.
bool NestEmitter::sharesDivisor(arith::DivFOp division, unsigned level) const {
  Value quotient = division.getResult(), divisor = division.getRhs();
  if (quotient.getType().getIntOrFloatBitWidth() < 32)
    return false;
  if (!scope.threads)
    return isVector(quotient) && !isVector(divisor) && levelOf(divisor) < level;
  bool isShared = levelOf(divisor) < level;
  for (int iterator : {vectorIterator, rowIterator})
    isShared |= dependsOn(quotient, iterator) && !dependsOn(divisor, iterator);
  return isShared && quotient.getType().isF32();
}

/// A product with 1 / b made exact by the remainder. Where that is not finite the product is right
/// already; b is positive, so that where the remainder is zero, the product stays with its sign.
static Value correctedQuotient(Emit &make, Value dividend, Value by, Value inverse) {
  Value product = make.mul(dividend, inverse);
  Value rest = make.fma(product, by, make.negate(dividend));
  Value quotient = make.fma(make.negate(rest), inverse, product);
  return make.select(make.isNaN(quotient), product, quotient);
}

/// A quotient over a number that stays for many: one division gives 1 / b, and a product with it is
/// made exact by the remainder (Markstein 1990). Where that is zero or not finite, the product is
/// right already, with its sign. Both are scaled where b is so small, or large, that 1 / b is none.
Value NestEmitter::divideByShared(Operation *op, ArrayRef<Value> operands, Point point,
                                  unsigned level) {
  auto division = dyn_cast<arith::DivFOp>(op);
  if (!division || !sharesDivisor(division, level))
    return {};
  Value divisor = evaluate(division.getRhs(), point);
  Type scalar = divisor.getType(), type = operands[0].getType();
  auto once = [&](int64_t part, llvm::function_ref<Value()> create) {
    return levels.once(levelOf(division.getRhs()),
                       {{divisor.getAsOpaquePointer(), &inverseTag}, part}, create);
  };
  auto spread = [&](Value value) { return lanes > 1 ? make.splat(value, lanes) : value; };
  const SpecialUnits *units = scope.units();
  bool isExact = !units || !isNarrowed(op->getResult(0));
  if (!isExact) {
    Value factor = once(5, [&] { return units->factorOfDivisor(make, divisor); });
    levels.place(level);
    return make.mul(operands[0], factor);
  }
  Value scale = once(0, [&] {
    Value size = scaleOfDivisor(make, divisor, units != nullptr);
    return units ? size : make.withSignOf(size, divisor);
  });
  Value scaled = once(1, [&] { return make.mul(divisor, scale); });
  Value by = once(2, [&] { return spread(scaled); });
  Value inverse = once(3, [&] {
    if (!units)
      return spread(make.divide(make.number(scalar, 1), scaled));
    return units->roundedInverse(make, scaled);
  });
  Value factor = once(4, [&] { return spread(scale); });
  levels.place(level);
  Value dividend = make.mul(operands[0], factor);
  if (!units)
    return correctedQuotient(make, dividend, by, inverse);
  Value product = make.mul(dividend, inverse);
  Value rest = make.fma(make.negate(product), by, dividend), size = make.absolute(rest);
  Value quotient = make.fma(rest, inverse, product);
  Value isFinite = make.less(size, make.number(type, std::numeric_limits<double>::infinity()));
  Value isRest = make.bitAnd(isFinite, make.less(make.number(type, 0), size));
  return make.select(isRest, quotient, product);
}

/// Operands first, where they belong; then the operation at its own level.
Value NestEmitter::evaluateNew(Operation *op, Point point, unsigned level) {
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return evaluate(cast.getIn(), point);
  if (auto index = dyn_cast<tile::IndexOp>(op))
    return indexNumber(index, point, level);
  if (auto load = dyn_cast<tile::ReadOp>(op))
    return read(load, point, level);
  if (choices.contains(op))
    return readChosen(op->getResult(0), point, level);
  bool onVectors = isVector(op->getResult(0));
  SmallVector<Value> operands;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    bool staysScalar = isa<arith::SelectOp>(op) && number == 0 && !isVector(operand);
    operands.push_back(onVectors && !staysScalar ? asVector(operand, point)
                                                 : evaluate(operand, point));
  }
  if (Value quotient = divideByShared(op, operands, point, level))
    return quotient;
  levels.place(level);
  if (isa<arith::ConstantOp>(op))
    return make.builder.clone(*op)->getResult(0);
  bool scales = scope.hasAllMasks && !scope.threads;
  return Elementwise(make.builder, scope.imports, scope.units(), scales).apply(op, operands);
}

Value NestEmitter::asVector(Value value, Point point) {
  Value evaluated = evaluate(value, point);
  if (lanes == 1 || lanesOf(evaluated.getType()))
    return evaluated;
  if (evaluated.getDefiningOp<arith::ConstantOp>())
    return levels.once(0, {{evaluated.getAsOpaquePointer(), &splatTag}, 0},
                       [&] { return make.splat(evaluated, lanes); });
  point = canonical(value, point);
  return levels.once(levelOf(value), {{evaluated.getAsOpaquePointer(), &splatTag}, 0},
                     [&] { return make.splat(evaluated, lanes); });
}

DimensionValue NestEmitter::iteratorValue(unsigned iterator, Point point) {
  DimensionValue value = iterators[iterator].start;
  if (static_cast<int>(iterator) == rowIterator)
    value.position.constant += point.row;
  if (static_cast<int>(iterator) == vectorIterator) {
    value.position.constant += int64_t(point.vector) * lanes;
    value.position.stride = lanes > 1 ? 1 : 0;
  }
  return value;
}

DimensionValue NestEmitter::dimension(Value operand, Point point) {
  if (auto argument = dyn_cast<BlockArgument>(operand))
    return iteratorValue(argument.getArgNumber(), point);
  if (auto origin = scope.origins.find(operand); origin != scope.origins.end())
    return origin->second;
  // An integer that was read: any number.
  Value value = evaluate(operand, point);
  unsigned level = levelOf(operand);
  DimensionValue result;
  result.range = anyNumberOf(getElementTypeOrSelf(value.getType()));
  if (lanesOf(value.getType())) {
    result.position.lanes = value;
    result.position.lanesLevel = level;
    return result;
  }
  Value wide = levels.once(level, {{value.getAsOpaquePointer(), &baseTag}, 0},
                           [&] { return make.resize(value, make.builder.getI64Type()); });
  result.position.base = {wide, level};
  return result;
}

Position NestEmitter::position(AffineMap map, ValueRange operands, Point point) {
  SmallVector<DimensionValue> dimensions;
  for (Value operand : operands)
    dimensions.push_back(dimension(operand, point));
  return positions.build(map.getResult(0), dimensions);
}

/// The base's address is shared by all that differ in the constant, which the machine adds for
/// free.
Value NestEmitter::address(Value pointer, const Position &position, Type element, int64_t further) {
  auto type = LLVM::LLVMPointerType::get(make.builder.getContext());
  Value base = pointer;
  if (position.base.value)
    base = levels.once(
        position.base.level,
        {{pointer.getAsOpaquePointer(), position.base.value.getAsOpaquePointer()}, 1}, [&] {
          return LLVM::GEPOp::create(make.builder, make.location, type, element, pointer,
                                     ArrayRef<LLVM::GEPArg>(position.base.value));
        });
  int64_t constant = position.constant + further;
  if (constant == 0)
    return base;
  return levels.once(position.base.level, {{base.getAsOpaquePointer(), &baseTag}, constant},
                     [&]() -> Value {
                       Value offset = make.integer(make.builder.getI64Type(), constant);
                       return LLVM::GEPOp::create(make.builder, make.location, type, element, base,
                                                  ArrayRef<LLVM::GEPArg>(offset));
                     });
}

unsigned NestEmitter::alignmentAt(const Position &position, Type element) const {
  return scope.threads ? targets::alignmentAt(position, element) : alignmentOf(element);
}

Value NestEmitter::laneAddresses(Value pointer, const Position &position, Type element,
                                 unsigned level) {
  Value base = address(pointer, position, element), offsets = positions.laneOffsets(position);
  levels.place(level);
  auto scalar = LLVM::LLVMPointerType::get(make.builder.getContext());
  return LLVM::GEPOp::create(make.builder, make.location, VectorType::get({lanes}, scalar), element,
                             base, ArrayRef<LLVM::GEPArg>(offsets));
}

Value NestEmitter::activeLanes(Point point, unsigned level) {
  if (allActive(point))
    return {};
  levels.place(level);
  return make.firstLanes(lanes, active[point.vector]);
}

/// What an `and` of conditions says of all lanes alike at one point; null: nothing.
Value NestEmitter::uniformPart(Value condition, Point point, unsigned level) {
  if (!isVector(condition))
    return evaluate(condition, point);
  auto both = condition.getDefiningOp<arith::AndIOp>();
  if (!both)
    return {};
  Value left = uniformPart(both.getLhs(), point, level);
  Value right = uniformPart(both.getRhs(), point, level);
  if (!left || !right)
    return left ? left : right;
  levels.place(level);
  return make.bitAnd(left, right);
}

Value readScalar(Emit &make, Value pointer, Value address, Type element, Value mask,
                 unsigned alignment) {
  if (mask)
    address = make.select(mask, address, pointer);
  Value value = LLVM::LoadOp::create(make.builder, make.location, element, address, alignment);
  if (!mask)
    return value;
  Value zero = isa<FloatType>(element) ? make.number(element, 0) : make.integer(element, 0);
  return make.select(mask, value, zero);
}

Value NestEmitter::read(tile::ReadOp op, Point point, unsigned level) {
  Type element = op.getElement().getType();
  if (cast<MemRefType>(op.getBuffer().getType()).getNumElements() == 0) { // No lane is on.
    levels.place(level);
    Type type = isVector(op.getElement()) ? Type(VectorType::get({lanes}, element)) : element;
    return isa<FloatType>(element) ? make.number(type, 0) : make.integer(type, 0);
  }
  Value pointer = scope.pointers.lookup(op.getBuffer());
  Position where = position(op.getMap(), op.getIndices(), point);
  Value mask = op.getMask() ? evaluate(op.getMask(), point) : Value();
  if (!isVector(op.getElement())) {
    if (op.getAhead() && (*op.getAhead())[2] != 0 && !mask && point.row == 0)
      askForRowAhead(op, where, level);
    Value place = address(pointer, where, element);
    levels.place(level);
    return readScalar(make, pointer, place, element, mask, alignmentAt(where, element));
  }
  Value wanted;
  if (mask) {
    mask = asVector(op.getMask(), point);
    wanted = uniformPart(op.getMask(), point, level);
  }
  if (Value lanesMask = activeLanes(point, level))
    mask = mask ? make.bitAnd(mask, lanesMask) : lanesMask;
  if (!mask && isTransposed(op, where, point))
    return readTransposed(op, point, level);
  bool isStrided = !where.lanes && where.stride >= 2 && where.stride <= 4;
  if (isStrided && !op.getMask() && hasMaskedMoves(element))
    return readStrided(pointer, where, element, active[point.vector], level);
  if (op.getAhead() && !asksByShares(op) && !where.lanes && where.stride == 1)
    askAhead(op, where, point, level);
  return readVector(pointer, where, element, mask, wanted, level);
}

/// Where no lane is wanted the address may be far from any memory, and a processor takes hundreds
/// of cycles to find out that a move there is masked: such a read goes to the buffer's start.
Value NestEmitter::readVector(Value pointer, const Position &where, Type element, Value mask,
                              Value wanted, unsigned level) {
  auto type = VectorType::get({lanes}, element);
  OpBuilder &builder = make.builder;
  auto zero = [&] {
    return isa<FloatType>(element) ? make.number(type, 0) : make.integer(type, 0);
  };
  unsigned alignment = alignmentOf(element);
  if (where.isUniform())
    return readUniform(pointer, where, element, mask, level);
  // Without masked moves of such elements, each lane would become a branch.
  bool hasMask = hasMaskedMoves(element);
  if (!where.lanes && where.stride == 1 && (!mask || hasMask)) {
    Value place = address(pointer, where, element);
    levels.place(level);
    if (!mask)
      return LLVM::LoadOp::create(builder, make.location, type, place, alignment);
    if (wanted)
      place = make.select(wanted, place, pointer);
    return LLVM::MaskedLoadOp::create(builder, make.location, type, place, mask, zero(), alignment);
  }
  if (!where.lanes && !mask && where.stride >= -1 && where.stride <= 4)
    return readStrided(pointer, where, element, lanes, level);
  if (!where.pattern.empty() && !mask)
    if (Value picked = readPattern(pointer, where, element, level))
      return picked;
  Value places = laneAddresses(pointer, where, element, level);
  Value every = make.firstLanes(lanes, lanes);
  bool byAddress = mask && !(scope.hasAllMasks && element.getIntOrFloatBitWidth() >= 32);
  if (byAddress) // Lanes that are off read the first element.
    places = make.select(mask, places, make.splat(pointer, lanes));
  Value value = LLVM::masked_gather::create(builder, make.location, type, places,
                                            mask && !byAddress ? mask : every, ValueRange{zero()},
                                            builder.getI32IntegerAttr(alignment));
  return byAddress ? make.select(mask, value, zero()) : value;
}

/// Lanes that are known to lie in one vector are picked from it; null: they are not. Nothing is
/// read but what lies between two lanes.
Value NestEmitter::readPattern(Value pointer, const Position &where, Type element, unsigned level) {
  int64_t first = *llvm::min_element(where.pattern), last = *llvm::max_element(where.pattern);
  if (last - first >= lanes || (!hasMaskedMoves(element) && last - first + 1 < lanes))
    return {};
  Value vector = readFirst(pointer, where, element, first, last - first + 1, level);
  SmallVector<int32_t> choice;
  for (int64_t offset : where.pattern)
    choice.push_back(offset - first);
  return make.shuffle(vector, vector, choice);
}

/// One element for all lanes; under a mask, if any lane wants it.
Value NestEmitter::readUniform(Value pointer, const Position &where, Type element, Value mask,
                               unsigned level) {
  Value place = address(pointer, where, element);
  levels.place(level);
  Value any;
  if (mask)
    any =
        LLVM::vector_reduce_or::create(make.builder, make.location, make.builder.getI1Type(), mask);
  Value value =
      make.splat(readScalar(make, pointer, place, element, any, alignmentOf(element)), lanes);
  if (!mask)
    return value;
  Type type = value.getType();
  Value zero = isa<FloatType>(element) ? make.number(type, 0) : make.integer(type, 0);
  return make.select(mask, value, zero);
}

bool NestEmitter::hasMaskedMoves(Type element) const {
  return scope.hasAllMasks || element.getIntOrFloatBitWidth() >= 32;
}

/// A vector of elements side by side from `offset` on; the first `count` are read.
Value NestEmitter::readFirst(Value pointer, const Position &where, Type element, int64_t offset,
                             unsigned count, unsigned level) {
  auto type = VectorType::get({lanes}, element);
  Value place = address(pointer, where, element, offset);
  levels.place(level);
  unsigned alignment = alignmentOf(element);
  if (count == lanes)
    return LLVM::LoadOp::create(make.builder, make.location, type, place, alignment);
  Value zero = isa<FloatType>(element) ? make.number(type, 0) : make.integer(type, 0);
  return LLVM::MaskedLoadOp::create(make.builder, make.location, type, place,
                                    make.firstLanes(lanes, count), zero, alignment);
}

/// Vectors that cover the first `count` lanes, and nothing past the last of them; then the lanes
/// are picked.
Value NestEmitter::readStrided(Value pointer, const Position &where, Type element, unsigned count,
                               unsigned level) {
  int64_t stride = where.stride, last = count - 1;
  if (stride < 0) {
    SmallVector<int32_t> reversed;
    for (int64_t lane = last; lane >= 0; --lane)
      reversed.push_back(lane);
    Value vector = readFirst(pointer, where, element, -last, lanes, level);
    return make.shuffle(vector, vector, reversed);
  }
  Value picked;
  for (int64_t part = 0; part * lanes <= stride * last; ++part) {
    int64_t start = std::clamp<int64_t>(stride * last + 1 - lanes, 0, part * lanes);
    int64_t elements = std::min<int64_t>(lanes, stride * last + 1 - start);
    Value vector = readFirst(pointer, where, element, start, elements, level);
    SmallVector<int32_t>
        choice; // Of the lanes so far (0 and on) and of this vector (`lanes` and on).
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t offset = lane * stride - start;
      bool isHere = lane <= last && lane * stride >= part * int64_t(lanes) && offset < lanes;
      choice.push_back(isHere ? lanes + offset : lane);
    }
    picked = make.shuffle(picked ? picked : vector, vector, choice);
  }
  return picked;
}

Value NestEmitter::indexNumber(tile::IndexOp op, Point point, unsigned level) {
  Position where = position(op.getMap(), op.getIndices(), point);
  Type type = op.getValue().getType();
  Value base = positions.scalar(where);
  bool hasOffsets = isVector(op.getValue()) && !where.isUniform();
  Value offsets = hasOffsets ? positions.laneOffsets(where) : Value();
  levels.place(level);
  Value number = make.resize(base, type);
  if (isVector(op.getValue()))
    number = make.splat(number, lanes);
  return offsets ? make.add(number, make.resize(offsets, type)) : number;
}

Position NestEmitter::destinationAt(Point point) {
  SmallVector<DimensionValue> dimensions;
  for (unsigned iterator = 0; iterator < numParallel; ++iterator)
    dimensions.push_back(iteratorValue(iterator, point));
  for (Value index : nest.getIndices())
    dimensions.push_back(dimension(index, point));
  return positions.build(nest.getMap().getResult(0), dimensions);
}

/// A running value that an earlier pass stored.
Value NestEmitter::loadPartial(Point point, unsigned level) {
  Type element = nest.accumulatorTypes()[0];
  Position where = destinationAt(point);
  Value pointer = scope.pointers.lookup(nest.getDestinations()[0]);
  unsigned alignment = alignmentOf(element);
  if (lanes > 1 && (where.lanes || where.stride != 1)) {
    Value places = laneAddresses(pointer, where, element, level);
    auto type = VectorType::get({lanes}, element);
    return LLVM::masked_gather::create(
        make.builder, make.location, type, places, make.firstLanes(lanes, active[point.vector]),
        ValueRange{make.number(type, 0)}, make.builder.getI32IntegerAttr(alignment));
  }
  Value place = address(pointer, where, element);
  levels.placeAtEnd(level);
  if (lanes == 1)
    return LLVM::LoadOp::create(make.builder, make.location, element, place, alignment);
  auto type = VectorType::get({lanes}, element);
  if (allActive(point))
    return LLVM::LoadOp::create(make.builder, make.location, type, place, alignment);
  return LLVM::MaskedLoadOp::create(make.builder, make.location, type, place,
                                    make.firstLanes(lanes, active[point.vector]),
                                    make.number(type, 0), alignment);
}

void NestEmitter::store(Value value, unsigned destination, Point point) {
  bool alongParallel = vectorIterator >= 0 && vectorIterator < static_cast<int>(numParallel);
  storeAt(lanes > 1 && alongParallel ? asVector(value, point) : evaluate(value, point), destination,
          point);
}

/// Whether the place is a multiple of the vector's bytes, in a buffer that is aligned.
bool NestEmitter::isWholeVector(const Position &where, Type element) const {
  int64_t multiple = std::gcd(where.multiple, where.constant);
  return multiple % lanes == 0 && lanes * alignmentOf(element) <= lineBytes;
}

void NestEmitter::storeAt(Value stored, unsigned destination, Point point) {
  unsigned level = pass ? 1 : pointLevel;
  for (unsigned iterator = 0; iterator < numParallel; ++iterator)
    level = std::max(level, iterators[iterator].level);
  storeTo(scope.pointers.lookup(nest.getDestinations()[destination]), destinationAt(point), stored,
          level, point, scope.pastCaches);
}

/// Stores what is kept of a point of the reduction, whose running values have it.
void NestEmitter::keep(unsigned level, Point point, const Tuple &running) {
  bool asLanes = vectorIterator >= 0 && lanes > 1;
  for (auto [number, buffer] : llvm::enumerate(nest.getKept())) {
    Value stored;
    if (nest.getRunning())
      stored = combiner.finish(running)[0];
    else
      stored = asLanes ? asVector(nest.keptValues()[number], point)
                       : evaluate(nest.keptValues()[number], point);
    SmallVector<DimensionValue> dimensions;
    for (unsigned iterator = 0; iterator < iterators.size(); ++iterator)
      dimensions.push_back(iteratorValue(iterator, point));
    for (Value index : nest.getIndices())
      dimensions.push_back(dimension(index, point));
    AffineMap map = cast<AffineMapAttr>((*nest.getKeptMaps())[number]).getValue();
    storeTo(scope.pointers.lookup(buffer), positions.build(map.getResult(0), dimensions), stored,
            level, point, false);
  }
}

/// A value, or the lanes of `point` that take part.
void NestEmitter::storeTo(Value pointer, const Position &where, Value stored, unsigned level,
                          Point point, bool pastCaches) {
  bool asLanes = lanesOf(stored.getType()) > 0;
  Type element = getElementTypeOrSelf(stored.getType());
  unsigned alignment = alignmentAt(where, element);
  OpBuilder &builder = make.builder;
  if (!asLanes || (!where.lanes && where.stride == 1)) {
    Value place = address(pointer, where, element);
    Value mask = asLanes ? activeLanes(point, level) : Value();
    levels.place(level);
    bool bypasses = pastCaches && asLanes && !mask && isWholeVector(where, element);
    OpBuilder::InsertionGuard guard(builder);
    if (storesHere) {
      auto choice = scf::IfOp::create(builder, make.location, storesHere, false);
      builder.setInsertionPointToStart(choice.thenBlock());
    }
    if (mask)
      LLVM::MaskedStoreOp::create(builder, make.location, stored, place, mask,
                                  builder.getI32IntegerAttr(alignment));
    else
      LLVM::StoreOp::create(builder, make.location, stored, place,
                            bypasses ? lanes * alignment : alignment, /*isVolatile=*/false,
                            /*isNonTemporal=*/bypasses);
    return;
  }
  Value places = laneAddresses(pointer, where, element, level);
  Value mask = make.firstLanes(lanes, active[point.vector]);
  LLVM::masked_scatter::create(builder, make.location, stored, places, mask,
                               builder.getI32IntegerAttr(alignment));
}

} // namespace kintsugi::targets
