//===- position.cpp - Where the lanes of an access lie --------------------===//

#include "targets/position.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace kintsugi::targets {

namespace {

enum Tag : int64_t { SumTag, ProductTag, ConstantTag, OffsetsTag, SplatTag, DivideTag = 1ll << 62 };

int64_t floorRemainder(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

te::Interval scaled(te::Interval range, int64_t factor) {
  return factor >= 0 ? te::Interval{range.low * factor, range.high * factor}
                     : te::Interval{range.high * factor, range.low * factor};
}

} // namespace

unsigned alignmentAt(const Position &position, Type element) {
  constexpr int64_t most = 16;
  int64_t natural = element.getIntOrFloatBitWidth() / 8;
  int64_t bytes = std::gcd(position.multiple, position.constant) * natural;
  return bytes == 0 ? most : std::max(natural, std::min(most, bytes & -bytes));
}

te::Interval anyNumberOf(Type integer) {
  bool isNarrow = integer.getIntOrFloatBitWidth() <= 32;
  return isNarrow ? te::Interval{-(1ll << 31), (1ll << 31) - 1}
                  : te::Interval{-(1ll << 40), 1ll << 40};
}

te::Interval PositionBuilder::rangeOf(AffineExpr expr) const {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return te::Interval::point(cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::DimId:
    return dimensions[cast<AffineDimExpr>(expr).getPosition()].range;
  case AffineExprKind::SymbolId:
    break;
  default:
    auto binary = cast<AffineBinaryOpExpr>(expr);
    te::Interval left = rangeOf(binary.getLHS()), right = rangeOf(binary.getRHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return {left.low + right.low, left.high + right.high};
    case AffineExprKind::Mul:
      return scaled(left, right.low);
    case AffineExprKind::FloorDiv:
      return {llvm::divideFloorSigned(left.low, right.low),
              llvm::divideFloorSigned(left.high, right.low)};
    case AffineExprKind::Mod:
      if (left.low >= 0 && left.high < right.low)
        return left;
      return {0, right.low - 1};
    default:
      break;
    }
  }
  llvm_unreachable("a map of dimensions that rounds down");
}

bool PositionBuilder::fitsInt32(AffineExpr expr) const {
  bool fits = true;
  expr.walk(
      [&](AffineExpr part) { fits &= rangeOf(part).within({-(1ll << 31), (1ll << 31) - 1}); });
  return fits;
}

Position PositionBuilder::build(AffineExpr expr, ArrayRef<DimensionValue> values) {
  dimensions = values;
  laneType = fitsInt32(expr) ? emit.builder.getI32Type() : emit.builder.getI64Type();
  Sum sum;
  accumulate(expr, 1, sum);
  return finish(sum);
}

void PositionBuilder::accumulate(AffineExpr expr, int64_t factor, Sum &sum) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    sum.constant += factor * cast<AffineConstantExpr>(expr).getValue();
    return;
  case AffineExprKind::DimId:
    return addDimension(dimensions[cast<AffineDimExpr>(expr).getPosition()], factor, sum);
  case AffineExprKind::Add: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    accumulate(binary.getLHS(), factor, sum);
    accumulate(binary.getRHS(), factor, sum);
    return;
  }
  case AffineExprKind::Mul: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t by = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    return accumulate(binary.getLHS(), factor * by, sum);
  }
  default:
    return addDivision(cast<AffineBinaryOpExpr>(expr), factor, sum);
  }
}

void PositionBuilder::addDimension(const DimensionValue &value, int64_t factor, Sum &sum) {
  const Position &position = value.position;
  if (position.base.value)
    sum.parts.push_back({position.base, factor, value.multiple});
  sum.constant += factor * position.constant;
  sum.stride += factor * position.stride;
  if (position.lanes)
    addLanes(position.lanes, position.lanesLevel, factor, sum);
}

void PositionBuilder::addLanes(Value lanes, unsigned level, int64_t factor, Sum &sum) {
  level = std::max(level, sum.lanesLevel);
  levels.place(level);
  lanes = emit.resize(lanes, laneType);
  sum.pattern.clear();
  if (factor != 1)
    lanes = emit.mul(lanes, emit.integer(lanes.getType(), factor));
  sum.lanes = sum.lanes ? emit.add(sum.lanes, lanes) : lanes;
  sum.lanesLevel = level;
}

/// Whether consecutive lanes have the same quotient: they start at a known distance from a multiple
/// of the divisor, or of a divisor of it, and end before the next.
bool PositionBuilder::staysInOnePeriod(const Sum &inner, int64_t divisor) const {
  if (inner.lanes || inner.stride < 0)
    return false;
  int64_t period = divisor;
  for (const Part &part : inner.parts)
    period = std::gcd(period, part.factor * part.multiple);
  return floorRemainder(inner.constant, period) + inner.stride * (numLanes - 1) < period;
}

void PositionBuilder::addDivision(AffineBinaryOpExpr expr, int64_t factor, Sum &sum) {
  Sum inner;
  accumulate(expr.getLHS(), 1, inner);
  int64_t divisor = cast<AffineConstantExpr>(expr.getRHS()).getValue();
  if ((inner.stride == 0 && !inner.lanes) || staysInOnePeriod(inner, divisor))
    return addUniformDivision(inner, expr, factor, sum);
  if (!inner.lanes && startsAtMultiple(inner, divisor))
    return addPattern(inner, expr, factor, sum);
  Position position = finish(inner);
  Value offsets = laneOffsets(position), base = scalar(position);
  unsigned level = levelOf(position);
  levels.place(level);
  Value lanes = emit.add(emit.splat(emit.resize(base, laneType), numLanes), offsets);
  lanes = divide(lanes, divisor, expr.getKind() == AffineExprKind::Mod,
                 rangeOf(expr.getLHS()).low >= 0);
  addLanes(lanes, level, factor, sum);
}

bool PositionBuilder::startsAtMultiple(const Sum &inner, int64_t divisor) const {
  return llvm::all_of(inner.parts,
                      [&](const Part &part) { return part.factor * part.multiple % divisor == 0; });
}

/// Where the base is a multiple of the divisor, what each lane adds to its quotient, or remainder,
/// is known.
void PositionBuilder::addPattern(const Sum &inner, AffineBinaryOpExpr expr, int64_t factor,
                                 Sum &sum) {
  int64_t divisor = cast<AffineConstantExpr>(expr.getRHS()).getValue();
  Sum start = inner;
  start.constant = start.stride = 0;
  addUniformDivision(start, expr, factor, sum);
  SmallVector<llvm::APInt> values;
  SmallVector<int64_t, 0> pattern(numLanes);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    int64_t place = inner.constant + inner.stride * lane;
    pattern[lane] =
        factor * (expr.getKind() == AffineExprKind::Mod ? floorRemainder(place, divisor)
                                                        : llvm::divideFloorSigned(place, divisor));
    values.push_back(llvm::APInt(64, static_cast<uint64_t>(pattern[lane]))
                         .trunc(laneType.getIntOrFloatBitWidth()));
  }
  bool isKnown = !sum.lanes || !sum.pattern.empty();
  for (auto [all, before] : llvm::zip(pattern, sum.pattern))
    all += before;
  levels.place(0);
  auto type = VectorType::get({numLanes}, laneType);
  addLanes(
      arith::ConstantOp::create(emit.builder, emit.location, DenseElementsAttr::get(type, values)),
      0, 1, sum);
  if (isKnown)
    sum.pattern = std::move(pattern);
}

void PositionBuilder::addUniformDivision(const Sum &inner, AffineBinaryOpExpr expr, int64_t factor,
                                         Sum &sum) {
  bool isRemainder = expr.getKind() == AffineExprKind::Mod;
  int64_t divisor = cast<AffineConstantExpr>(expr.getRHS()).getValue();
  Sum start = inner;
  bool isMultiple = startsAtMultiple(inner, divisor);
  if (isMultiple) { // What the constant adds is known without the rest.
    start.constant = 0;
    sum.constant += factor * (isRemainder ? floorRemainder(inner.constant, divisor)
                                          : llvm::divideFloorSigned(inner.constant, divisor));
  }
  Position first = finish(start);
  first.stride = 0;
  if (isRemainder)
    sum.stride += factor * inner.stride;
  if (isMultiple && (isRemainder || !first.base.value))
    return;
  Value value = scalar(first);
  bool nonnegative = rangeOf(expr.getLHS()).low >= 0;
  Levels::Key key{{value.getAsOpaquePointer(), nullptr}, DivideTag + divisor * 2 + isRemainder};
  Value result = levels.once(first.base.level, key,
                             [&] { return divide(value, divisor, isRemainder, nonnegative); });
  sum.parts.push_back({{result, first.base.level}, factor, 1});
}

Value PositionBuilder::divide(Value value, int64_t divisor, bool remainder, bool nonnegative) {
  Value by = emit.integer(value.getType(), divisor);
  OpBuilder &builder = emit.builder;
  if (llvm::isPowerOf2_64(divisor)) // Right for negative ones too: it rounds down.
    return remainder ? emit.bitAnd(value, emit.integer(value.getType(), divisor - 1))
                     : emit.shiftRightSigned(value, llvm::Log2_64(divisor));
  if (nonnegative)
    return remainder ? Value(arith::RemUIOp::create(builder, emit.location, value, by))
                     : Value(arith::DivUIOp::create(builder, emit.location, value, by));
  Value quotient = arith::DivSIOp::create(builder, emit.location, value, by);
  Value rest = emit.sub(value, emit.mul(quotient, by));
  Value isNegative = emit.less(rest, emit.integer(value.getType(), 0));
  if (remainder)
    return emit.select(isNegative, emit.add(rest, by), rest);
  return emit.select(isNegative, emit.sub(quotient, emit.integer(value.getType(), 1)), quotient);
}

/// Adds the parts from the outermost level inwards, so that each partial sum stands as far out as
/// it can.
Position PositionBuilder::finish(const Sum &sum) {
  SmallVector<Part> parts;
  Position position;
  position.constant = sum.constant;
  position.stride = sum.stride;
  position.lanes = sum.lanes;
  position.lanesLevel = sum.lanesLevel;
  position.pattern = sum.pattern;
  for (auto [lane, offset] : llvm::enumerate(position.pattern))
    offset += sum.stride * int64_t(lane);
  for (const Part &part : sum.parts) {
    if (part.factor == 0)
      continue;
    position.multiple = std::gcd(position.multiple, part.factor * part.multiple);
    parts.insert(llvm::upper_bound(
                     parts, part,
                     [](const Part &a, const Part &b) { return a.scalar.level < b.scalar.level; }),
                 part);
  }
  if (order == PartOrder::InTurn)
    addInTurn(parts, position);
  else
    addLevelByLevel(parts, position);
  return position;
}

LeveledScalar PositionBuilder::term(const Part &part) {
  auto [value, level] = part.scalar;
  if (part.factor != 1)
    value = levels.once(
        level, {{value.getAsOpaquePointer(), &levels}, part.factor},
        [&, value = value] { return emit.mul(value, emit.integer(value.getType(), part.factor)); });
  return {value, level};
}

LeveledScalar PositionBuilder::together(const LeveledScalar &before, const LeveledScalar &further) {
  if (!before.value)
    return further;
  Levels::Key key{{before.value.getAsOpaquePointer(), further.value.getAsOpaquePointer()}, SumTag};
  Value all =
      levels.once(further.level, key, [&] { return emit.add(before.value, further.value); });
  return {all, further.level};
}

void PositionBuilder::addInTurn(ArrayRef<Part> parts, Position &position) {
  for (const Part &part : parts)
    position.base = together(position.base, term(part));
}

void PositionBuilder::addLevelByLevel(ArrayRef<Part> parts, Position &position) {
  while (!parts.empty()) {
    unsigned level = parts.front().scalar.level;
    position.outer = position.base;
    position.inner = {};
    for (; !parts.empty() && parts.front().scalar.level == level; parts = parts.drop_front())
      position.inner = together(position.inner, term(parts.front()));
    position.base = together(position.outer, position.inner);
  }
}

Value PositionBuilder::scalar(const Position &position) {
  Value base = position.base.value;
  if (base && position.constant == 0)
    return base;
  Levels::Key key{{base.getAsOpaquePointer(), this}, position.constant};
  return levels.once(position.base.level, key, [&]() -> Value {
    Value constant = emit.integer(emit.builder.getI64Type(), position.constant);
    return base ? emit.add(base, constant) : constant;
  });
}

Value PositionBuilder::laneOffsets(const Position &position) {
  if (position.lanes && position.stride == 0)
    return position.lanes;
  levels.place(position.lanesLevel);
  Type element = position.lanes ? getElementTypeOrSelf(position.lanes.getType()) : laneType;
  Value sequence = emit.sequence(numLanes, element, position.stride);
  return position.lanes ? emit.add(position.lanes, sequence) : sequence;
}

Value PositionBuilder::allLanes(const Position &position) {
  Value base = scalar(position), offsets = laneOffsets(position);
  levels.place(levelOf(position));
  Value wide = emit.resize(offsets, emit.builder.getI64Type());
  return emit.add(wide, emit.splat(base, numLanes));
}

} // namespace kintsugi::targets
