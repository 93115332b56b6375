//===- streamed_range.cpp - Columns that a streamed softmax need not see ---===//
//
// A condition that compares places with each other or with numbers of a run (a length, a window,
// what came before) leaves a row of scores an interval of columns. The loop takes the blocks that
// hold columns of some row, and asks for single scores only where a block is not all rows'.
//
//===----------------------------------------------------------------------===//

#include "targets/nvidia/streamed_softmax.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kintsugi::targets {

/// What a term becomes minus infinity with.
static SmallVector<Value, 2> hiddenBy(Value term) {
  Operation *op = term.getDefiningOp();
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    return {op->getOperand(0)};
  if (isa_and_nonnull<arith::AddFOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  auto product = dyn_cast_if_present<arith::MulFOp>(op);
  return product && isPositiveNumber(product.getRhs()) ? SmallVector<Value, 2>{product.getLhs()}
                                                       : SmallVector<Value, 2>{};
}

/// Whether the softmax's terms are minus infinity where scores are.
bool StreamedSoftmax::areTermsHidden() {
  SmallVector<Value> terms = {statsNest.getBody().front().getTerminator()->getOperand(0)};
  while (!terms.empty()) {
    Value term = terms.pop_back_val();
    auto read = term.getDefiningOp<tile::ReadOp>();
    if (read && read.getBuffer() == scores.nest.getDestinations()[0])
      return true;
    llvm::append_range(terms, hiddenBy(term));
  }
  return false;
}

/// Those without which a score is minus infinity.
SmallVector<Value> StreamedSoftmax::hidingConditions() {
  SmallVector<Value> conditions, parts;
  if (areTermsHidden())
    parts.push_back(scores.nest.getEpilogue().front().getTerminator()->getOperand(0));
  while (!parts.empty()) {
    Value part = parts.pop_back_val();
    auto choice = part.getDefiningOp<arith::SelectOp>();
    if (!choice) {
      llvm::append_range(parts, hiddenBy(part));
      continue;
    }
    if (!isMinusInfinity(choice.getFalseValue()) ||
        scores.values->dependsOnResult(choice.getCondition()))
      continue;
    conditions.push_back(choice.getCondition());
    parts.push_back(choice.getTrueValue());
  }
  return conditions;
}

/// What one side of a comparison adds up, or takes off.
struct Part {
  Value number;
  bool isTaken;
  int64_t most; ///< From zero: see partsOf.
  bool isOfSum;
};

static constexpr size_t mostParts = 8;
/// Sums of so few parts that are no farther from zero do not wrap.
static constexpr int64_t mostOfShort = int64_t(1) << 27, mostOfLong = int64_t(1) << 40;

/// A sum of a type that wraps sooner is one part.
static void findParts(Value number, Part like, SmallVectorImpl<Part> &parts) {
  Operation *op = number.getDefiningOp();
  if (auto wide = dyn_cast_if_present<arith::ExtSIOp>(op))
    return findParts(wide.getIn(), like, parts);
  like.number = number;
  unsigned bits = number.getType().getIntOrFloatBitWidth();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) || bits < 32 || parts.size() >= mostParts)
    return parts.push_back(like);
  like.most = bits == 32 ? mostOfShort : mostOfLong;
  like.isOfSum = true;
  findParts(op->getOperand(0), like, parts);
  like.isTaken ^= isa<arith::SubIOp>(op);
  findParts(op->getOperand(1), like, parts);
}

/// The left side less the right one. Parts of a sum that are farther from zero might make it wrap;
/// a side that is none compares as one that is just so far.
static SmallVector<Part> partsOf(arith::CmpIOp comparison) {
  constexpr int64_t most = int64_t(1) << 50;
  SmallVector<Part> parts;
  findParts(comparison.getLhs(), {{}, false, most, false}, parts);
  findParts(comparison.getRhs(), {{}, true, most, false}, parts);
  return parts;
}

/// By how much a number grows from one column, or row, to the next; of rows only the sign counts.
/// nullopt: that is not known.
std::optional<int64_t> StreamedSoftmax::slopeAlong(Value number, MatrixNest::Group group) const {
  const IteratorGroup &along = scores.groups[group];
  auto depends = [&](unsigned iterator) { return scores.values->dependsOn(number, iterator); };
  if (llvm::none_of(along.iterators, depends))
    return 0;
  auto index = number.getDefiningOp<tile::IndexOp>();
  if (!index)
    return std::nullopt;
  std::optional<int64_t> found;
  int64_t stride = 1;
  for (auto [iterator, extent] : llvm::reverse(llvm::zip_equal(along.iterators, along.extents))) {
    std::optional<int64_t> each = scores.values->strideOf(index, iterator);
    if (!each || (group == MatrixNest::Columns && *each % stride != 0))
      return std::nullopt;
    int64_t slope = group == MatrixNest::Columns ? *each / stride : (*each > 0) - (*each < 0);
    stride *= extent;
    if (extent > 1 && found.value_or(slope) != slope)
      return std::nullopt;
    if (extent > 1)
      found = slope;
  }
  return found.value_or(0);
}

/// How the left side of a comparison, less the right one, grows; of rows the sign.
std::optional<int64_t> StreamedSoftmax::slopeAlong(arith::CmpIOp comparison,
                                                   MatrixNest::Group group) const {
  int64_t slope = 0;
  for (const Part &part : partsOf(comparison)) {
    std::optional<int64_t> each = slopeAlong(part.number, group);
    if (!each)
      return std::nullopt;
    int64_t here = part.isTaken ? -*each : *each;
    if (group == MatrixNest::Rows && here && slope && here != slope)
      return std::nullopt;
    slope = group == MatrixNest::Rows && slope ? slope : slope + here;
  }
  return slope;
}

Value StreamedSoftmax::clamped(Value number, int64_t low, int64_t high) {
  Type type = number.getType();
  Value least = make.integer(type, low), most = make.integer(type, high);
  number = arith::MaxSIOp::create(make.builder, make.location, number, least);
  return arith::MinSIOp::create(make.builder, make.location, number, most);
}

/// Where the columns end, or begin, that a comparison shows in a row of this tile, an i64; what is
/// compared moves by one with the columns. `unknown` where numbers are so large that sums may wrap.
Value StreamedSoftmax::boundAt(arith::CmpIOp comparison, bool isEnd, Rows row, int64_t unknown) {
  constexpr unsigned ofBounds = 32000; // Numbers that no other point at this level has.
  const IteratorGroup &rows = scores.groups[MatrixNest::Rows];
  levels.place(0);
  Value none = i32(0), last = i32(rows.points() - 1);
  Coordinates column =
      scores.values->split(scores.groups[MatrixNest::Columns], none, 1, 0, ofBounds);
  Coordinates ofRow =
      scores.values->split(rows, row == Rows::First ? none : last, 1, 0, ofBounds + unsigned(row));
  PointValues::Point point{};
  point[MatrixNest::Batch] = &scores.batch;
  point[MatrixNest::Rows] = &ofRow;
  point[MatrixNest::Columns] = &column;
  Type wide = make.builder.getI64Type();
  Value difference = make.integer(wide, 0), isKnown;
  for (const Part &part : partsOf(comparison)) {
    Value each = scores.values->evaluate(part.number, point);
    levels.placeAtEnd(0);
    if (each.getType() != wide)
      each = arith::ExtSIOp::create(make.builder, make.location, wide, each);
    Value near = clamped(each, -part.most, part.most);
    difference = part.isTaken ? make.sub(difference, near) : make.add(difference, near);
    if (part.isOfSum)
      isKnown = isKnown ? make.bitAnd(isKnown, make.equal(each, near)) : make.equal(each, near);
  }
  // With the column c: difference + c < 0 up to -difference; difference - c < 0 from there on.
  bool isStrict = comparison.getPredicate() == arith::CmpIPredicate::slt;
  Value bound = isEnd ? make.sub(make.integer(wide, 0), difference) : difference;
  if (isEnd != isStrict)
    bound = make.add(bound, make.integer(wide, 1));
  return isKnown ? make.select(isKnown, bound, make.integer(wide, unknown)) : bound;
}

/// Takes a condition into the range where it is a comparison that says no more.
void StreamedSoftmax::narrow(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    narrow(both.getLhs());
    return narrow(both.getRhs());
  }
  auto comparison = condition.getDefiningOp<arith::CmpIOp>();
  if (!comparison || (comparison.getPredicate() != arith::CmpIPredicate::slt &&
                      comparison.getPredicate() != arith::CmpIPredicate::sle))
    return;
  if (partsOf(comparison).size() > mostParts)
    return;
  std::optional<int64_t> byColumn = slopeAlong(comparison, MatrixNest::Columns),
                         byRow = slopeAlong(comparison, MatrixNest::Rows);
  if (!byRow || !byColumn || (*byColumn != 1 && *byColumn != -1))
    return;
  bool isEnd = *byColumn == 1;
  int64_t points = scores.groups[MatrixNest::Columns].points();
  // The less the left side is beside the right one, the more columns are shown.
  Rows sees = *byRow > 0 ? Rows::First : Rows::Last;
  Rows misses = *byRow > 0 ? Rows::Last : Rows::First;
  join(isEnd ? range.end : range.begin, boundAt(comparison, isEnd, sees, isEnd ? points : 0),
       isEnd);
  join(isEnd ? range.everyEnd : range.everyBegin,
       boundAt(comparison, isEnd, misses, isEnd ? 0 : points), isEnd);
  range.conditions.push_back(condition);
}

/// With a further bound of the columns, an i64.
void StreamedSoftmax::join(Value &bound, Value with, bool isEnd) {
  int64_t points = scores.groups[MatrixNest::Columns].points();
  levels.placeAtEnd(0);
  with = arith::TruncIOp::create(make.builder, make.location, make.builder.getI32Type(),
                                 clamped(with, 0, points));
  if (!bound)
    bound = with;
  else if (isEnd)
    bound = arith::MinSIOp::create(make.builder, make.location, bound, with);
  else
    bound = arith::MaxSIOp::create(make.builder, make.location, bound, with);
}

void StreamedSoftmax::findRange() {
  for (Value condition : hidingConditions())
    narrow(condition);
}

/// Whether the range says all that a condition does.
bool StreamedSoftmax::isInRange(Value condition) const {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return isInRange(both.getLhs()) && isInRange(both.getRhs());
  return llvm::is_contained(range.conditions, condition);
}

/// The condition that a block, or more than one, has columns in the range; null: all have.
Value StreamedSoftmax::among(Value block) {
  Value isAmong;
  Value start = make.mul(block, i32(blockColumns));
  if (range.end)
    isAmong = make.less(start, range.end);
  if (range.begin) {
    Value isBehind = make.less(range.begin, make.add(start, i32(blockColumns)));
    isAmong = isAmong ? make.bitAnd(isAmong, isBehind) : isBehind;
  }
  return isAmong;
}

/// Whether every row sees all of the columns that this warp has in a block.
Value StreamedSoftmax::isInside() {
  levels.placeAtEnd(inner);
  Value start = make.add(firstColumn, make.mul(group, i32(own)));
  auto isAtMost = [&](Value a, Value b) {
    return arith::CmpIOp::create(make.builder, make.location, arith::CmpIPredicate::sle, a, b)
        .getResult();
  };
  Value ends, begins;
  if (range.everyEnd)
    ends = isAtMost(make.add(start, i32(own)), range.everyEnd);
  if (range.everyBegin)
    begins = isAtMost(range.everyBegin, start);
  return ends && begins ? make.bitAnd(ends, begins) : ends ? ends : begins;
}

} // namespace kintsugi::targets
