#include "targets/nvidia/point_values.h"

#include "targets/elementwise.h"
#include "targets/special_units.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace kintsugi::targets {

static constexpr uint64_t onResult = 1ull << 63;

int64_t IteratorGroup::points() const {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

PointValues::PointValues(KernelScope &scope, tile::ComputeOp nest, Levels &levels,
                         ArrayRef<IteratorGroup> groups)
    : scope(scope), nest(nest), make(scope.builder), levels(levels),
      positions(scope.builder, levels, 1, PartOrder::LevelByLevel), groups(groups) {
  findDependences(nest.getBody());
  findDependences(nest.getEpilogue());
}

void PointValues::takeResultFor(Value buffer) {
  taken = buffer;
  findDependences(nest.getBody());
}

void PointValues::findDependences(Region &region) {
  Block &block = region.front();
  bool isEpilogue = &region == &nest.getEpilogue();
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    dependences[argument] = isEpilogue && number >= nest.numParallel() ? onResult : 1ull << number;
  }
  for (Operation &op : block.without_terminator()) {
    auto load = dyn_cast<tile::ReadOp>(op);
    uint64_t all = load && taken && load.getBuffer() == taken ? onResult : 0;
    for (Value operand : op.getOperands())
      all |= dependences.lookup(operand);
    dependences[op.getResult(0)] = all;
  }
}

bool PointValues::dependsOnResult(Value value) const {
  return dependences.lookup(value) & onResult;
}

/// Bits of the groups that change a value; what comes of the result is a point's own.
uint64_t PointValues::groupsOf(Value value) const {
  uint64_t iterators = dependences.lookup(value), found = 0;
  for (auto [number, group] : llvm::enumerate(groups))
    for (unsigned iterator : group.iterators)
      if ((iterators & onResult) || (iterators >> iterator & 1))
        found |= 1ull << number;
  return found;
}

unsigned PointValues::levelOf(Value value, const Point &point) const {
  uint64_t changing = groupsOf(value);
  bool isOfResult = dependences.lookup(value) & onResult;
  unsigned level = 0;
  for (unsigned group = 0; group < numGroups; ++group)
    if (point[group] && (isOfResult || (changing >> group & 1)))
      level = std::max(level, point[group]->level);
  return level;
}

Coordinates PointValues::split(const IteratorGroup &group, Value linear, int64_t multiple,
                               unsigned level, unsigned number) {
  Coordinates coordinates;
  coordinates.level = level;
  coordinates.number = number;
  coordinates.values.resize(group.extents.size());
  levels.place(level);
  Type i64 = make.builder.getI64Type();
  for (unsigned k = group.extents.size(); k-- > 0;) {
    int64_t extent = group.extents[k];
    DimensionValue &value = coordinates.values[k];
    value.range = {0, extent - 1};
    Value digit = linear;
    if (k > 0) {
      Value by = make.integer(linear.getType(), extent);
      digit = arith::RemUIOp::create(make.builder, make.location, linear, by);
      linear = arith::DivUIOp::create(make.builder, make.location, linear, by);
    }
    value.multiple = std::gcd(multiple, k > 0 ? extent : multiple);
    multiple = multiple % extent == 0 ? multiple / extent : 1;
    Value wide = arith::ExtUIOp::create(make.builder, make.location, i64, digit);
    value.position.base = {wide, level};
  }
  return coordinates;
}

Coordinates PointValues::shifted(Coordinates coordinates, int64_t further, unsigned number) {
  coordinates.number = number;
  coordinates.values.back().position.constant += further;
  return coordinates;
}

const DimensionValue &PointValues::iterator(unsigned number, const Point &point) const {
  for (auto [position, group] : llvm::enumerate(groups))
    for (auto [digit, iterator] : llvm::enumerate(group.iterators))
      if (iterator == number) {
        assert(point[position] && "a value of another group");
        return point[position]->values[digit];
      }
  llvm_unreachable("every iterator is of a group");
}

DimensionValue PointValues::dimension(Value operand, const Point &point) {
  if (auto argument = dyn_cast<BlockArgument>(operand))
    return iterator(argument.getArgNumber(), point);
  if (auto origin = scope.origins.find(operand); origin != scope.origins.end())
    return origin->second;
  Value value = evaluate(operand, point);
  DimensionValue read;
  read.range = anyNumberOf(value.getType());
  unsigned level = levelOf(operand, point);
  levels.place(level);
  read.position.base = {make.resize(value, make.builder.getI64Type()), level};
  return read;
}

Position PointValues::position(AffineMap map, ValueRange operands, const Point &point) {
  SmallVector<DimensionValue> dimensions;
  for (Value operand : operands)
    dimensions.push_back(dimension(operand, point));
  return positions.build(map.getResult(0), dimensions);
}

Position PointValues::destination(const Point &point) {
  SmallVector<DimensionValue> dimensions;
  for (unsigned k = 0; k < nest.numParallel(); ++k)
    dimensions.push_back(iterator(k, point));
  for (Value operand : nest.getIndices())
    dimensions.push_back(scope.origins.lookup(operand));
  return positions.build(nest.getMap().getResult(0), dimensions);
}

/// Addresses of what loops further out fix, and of the base, are shared by all that differ in the
/// rest.
Value PointValues::address(Value pointer, const Position &position, Type element) {
  auto offset = [&](Value from, Value by) -> Value {
    return LLVM::GEPOp::create(make.builder, make.location, from.getType(), element, from,
                               ArrayRef<LLVM::GEPArg>(by));
  };
  auto sharedOffset = [&](Value from, const LeveledScalar &by) {
    return levels.once(by.level, {{from.getAsOpaquePointer(), by.value.getAsOpaquePointer()}, 1},
                       [&] { return offset(from, by.value); });
  };
  Value base = pointer;
  if (position.outer.value)
    base = sharedOffset(sharedOffset(pointer, position.outer), position.inner);
  else if (position.base.value)
    base = sharedOffset(pointer, position.base);
  if (position.constant == 0)
    return base;
  levels.place(position.base.level);
  return offset(base, make.integer(make.builder.getI64Type(), position.constant));
}

Value PointValues::evaluate(Value value, const Point &point) {
  auto load = value.getDefiningOp<tile::ReadOp>();
  if (isa<BlockArgument>(value) || (load && taken && load.getBuffer() == taken))
    return result;
  if (llvm::is_contained(assumed, value)) {
    levels.place(0);
    return make.integer(value.getType(), 1);
  }
  uint64_t changing = groupsOf(value);
  unsigned level = levelOf(value, point);
  constexpr unsigned bits = 15;
  int64_t key = 0;
  for (unsigned group = 0; group < numGroups; ++group) {
    bool counts = point[group] && (changing >> group & 1);
    assert((!counts || point[group]->number + 1 < 1u << bits) && "numbers of points are small");
    key = key << bits | (counts ? point[group]->number + 1 : 0);
  }
  bool isOfResult = dependences.lookup(value) & onResult;
  Levels::Key known{{value.getAsOpaquePointer(), isOfResult ? result.getAsOpaquePointer() : this},
                    key};
  if (Value before = levels.find(level, known))
    return before;
  Value created = evaluateNew(value.getDefiningOp(), point, level);
  levels.know(level, known, created);
  return created;
}

void PointValues::readAhead(Region &region, const Point &point) {
  for (Operation &op : region.front().without_terminator())
    if (isa<tile::ReadOp>(op) && !(dependences.lookup(op.getResult(0)) & onResult) &&
        groupsOf(op.getResult(0)))
      evaluate(op.getResult(0), point);
}

Value PointValues::evaluateNew(Operation *op, const Point &point, unsigned level) {
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return evaluate(cast.getIn(), point);
  if (auto load = dyn_cast<tile::ReadOp>(op))
    return read(load, point, level);
  if (auto index = dyn_cast<tile::IndexOp>(op)) {
    Value where = number(index.getMap(), index.getIndices(), point);
    levels.place(level);
    return make.resize(where, index.getValue().getType());
  }
  if (Value inRange = evaluateRange(op, point, level))
    return inRange;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(evaluate(operand, point));
  if (Value quotient = divideByShared(op, operands, point, level))
    return quotient;
  levels.place(level);
  if (isa<arith::ConstantOp>(op))
    return make.builder.clone(*op)->getResult(0);
  return Elementwise(make.builder, scope.imports, scope.units()).apply(op, operands);
}

/// 0 <= x and x < n is one comparison of x as a number without a sign; null where it isn't that.
Value PointValues::evaluateRange(Operation *op, const Point &point, unsigned level) {
  auto both = dyn_cast<arith::AndIOp>(op);
  if (!both)
    return {};
  auto low = both.getLhs().getDefiningOp<arith::CmpIOp>();
  auto high = both.getRhs().getDefiningOp<arith::CmpIOp>();
  if (!low || !high || low.getPredicate() != arith::CmpIPredicate::sle ||
      high.getPredicate() != arith::CmpIPredicate::slt || low.getRhs() != high.getLhs() ||
      !matchPattern(low.getLhs(), m_Zero()))
    return {};
  APInt end;
  if (!matchPattern(high.getRhs(), m_ConstantInt(&end)) || end.isNegative())
    return {};
  Value number = evaluate(high.getLhs(), point), limit = evaluate(high.getRhs(), point);
  levels.place(level);
  return make.lessUnsigned(number, limit);
}

/// A quotient that is rounded to 16 bits, over what is the same for many points.
Value PointValues::divideByShared(Operation *op, ArrayRef<Value> operands, const Point &point,
                                  unsigned level) {
  auto division = dyn_cast<arith::DivFOp>(op);
  if (!division || !scope.units() || !division.getType().isF32() || !isNarrowed(division) ||
      llvm::popcount(groupsOf(division.getRhs())) >= llvm::popcount(groupsOf(division)))
    return {};
  unsigned ofDivisor = levelOf(division.getRhs(), point);
  Value factor = levels.once(ofDivisor, {{operands[1].getAsOpaquePointer(), this}, 2},
                             [&] { return scope.units()->factorOfDivisor(make, operands[1]); });
  levels.place(level);
  return make.mul(operands[0], factor);
}

Value PointValues::read(tile::ReadOp op, const Point &point, unsigned level) {
  Type element = op.getElement().getType();
  if (cast<MemRefType>(op.getBuffer().getType()).getNumElements() == 0) {
    levels.place(level);
    return isa<FloatType>(element) ? make.number(element, 0) : make.integer(element, 0);
  }
  Value pointer = scope.pointers.lookup(op.getBuffer());
  Position where = position(op.getMap(), op.getIndices(), point);
  bool isMasked = op.getMask() && !llvm::is_contained(assumed, op.getMask());
  Value mask = isMasked ? evaluate(op.getMask(), point) : Value();
  Value place = address(pointer, where, element);
  levels.place(level);
  return readScalar(make, pointer, place, element, mask, alignmentAt(where, element));
}

std::optional<int64_t> PointValues::slope(AffineExpr expr, ValueRange operands,
                                          unsigned iterator) const {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return 0;
  case AffineExprKind::DimId: {
    Value operand = operands[cast<AffineDimExpr>(expr).getPosition()];
    if (!dependsOn(operand, iterator))
      return 0;
    return isa<BlockArgument>(operand) ? std::optional<int64_t>(1) : std::nullopt;
  }
  case AffineExprKind::Add:
  case AffineExprKind::Mul: {
    auto both = cast<AffineBinaryOpExpr>(expr);
    std::optional<int64_t> left = slope(both.getLHS(), operands, iterator);
    if (!left)
      return left;
    if (expr.getKind() == AffineExprKind::Mul)
      return *left * cast<AffineConstantExpr>(both.getRHS()).getValue();
    std::optional<int64_t> right = slope(both.getRHS(), operands, iterator);
    return right ? std::optional<int64_t>(*left + *right) : right;
  }
  default: {
    std::optional<int64_t> inside =
        slope(cast<AffineBinaryOpExpr>(expr).getLHS(), operands, iterator);
    return inside == 0 ? inside : std::nullopt;
  }
  }
}

std::optional<int64_t> PointValues::strideOfDestination(unsigned iterator) {
  SmallVector<Value> operands(nest.getBody().getArguments().take_front(nest.numParallel()));
  llvm::append_range(operands, nest.getIndices());
  return slope(nest.getMap().getResult(0), operands, iterator);
}

std::optional<int64_t> PointValues::strideOf(tile::ReadOp read, unsigned iterator) const {
  return slope(read.getMap().getResult(0), read.getIndices(), iterator);
}

std::optional<int64_t> PointValues::strideOf(tile::IndexOp number, unsigned iterator) const {
  return slope(number.getMap().getResult(0), number.getIndices(), iterator);
}

} // namespace kintsugi::targets
