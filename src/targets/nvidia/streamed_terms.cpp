//===- streamed_terms.cpp - What a streamed softmax is of ------------------===//

#include "targets/nvidia/streamed_softmax.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t wordBits = 64;

bool isMinusInfinity(Value value) {
  FloatAttr attribute;
  return matchPattern(value, m_Constant(&attribute)) && attribute.getValue().isInfinity() &&
         attribute.getValue().isNegative();
}

bool isPositiveNumber(Value value) {
  FloatAttr attribute;
  return matchPattern(value, m_Constant(&attribute)) && attribute.getValue().isFinite() &&
         attribute.getValueAsDouble() > 0;
}

static bool isInteger(Value value, int64_t number) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) && constant.getBitWidth() <= 64 &&
         constant.getZExtValue() == uint64_t(number);
}

/// What adds nothing, or minus infinity; null: neither operand does.
static arith::SelectOp maskOf(arith::AddFOp sum) {
  for (Value part : {sum.getLhs(), sum.getRhs()})
    if (auto choice = part.getDefiningOp<arith::SelectOp>())
      if (isMinusInfinity(choice.getFalseValue()) &&
          matchPattern(choice.getTrueValue(), m_AnyZeroFloat()))
        return choice;
  return {};
}

/// Finds that the terms are the scores' sums times a positive number, or minus infinity where a
/// condition on its place does not hold.
void StreamedSoftmax::findForm() {
  Block &epilogue = scores.nest.getEpilogue().front();
  auto term = statsNest.getBody().front().getTerminator()->getOperand(0);
  auto read = term.getDefiningOp<tile::ReadOp>();
  if (!read || read.getBuffer() != scores.nest.getDestinations()[0])
    return;
  Form found;
  Value value = epilogue.getTerminator()->getOperand(0);
  while (Operation *op = value.getDefiningOp()) {
    if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      if (!isMinusInfinity(choice.getFalseValue()) ||
          scores.values->dependsOnResult(choice.getCondition()))
        return;
      found.conditions.push_back(choice.getCondition());
      value = choice.getTrueValue();
      continue;
    }
    if (auto sum = dyn_cast<arith::AddFOp>(op)) {
      auto mask = maskOf(sum);
      if (!mask || scores.values->dependsOnResult(mask.getCondition()))
        return;
      found.conditions.push_back(mask.getCondition());
      value = mask == sum.getLhs().getDefiningOp() ? sum.getRhs() : sum.getLhs();
      continue;
    }
    auto product = dyn_cast<arith::MulFOp>(op);
    FloatAttr factor;
    if (!product || !isPositiveNumber(product.getRhs()) ||
        !matchPattern(product.getRhs(), m_Constant(&factor)))
      return;
    found.scale *= factor.getValueAsDouble();
    value = product.getLhs();
  }
  for (Value condition : found.conditions)
    found.words.push_back(wordOf(condition));
  slope *= found.scale;
  form = std::move(found);
}

/// Whether an affine expression has a dimension in quotients of 64 alone.
static bool isInWords(AffineExpr expr, unsigned dimension) {
  if (auto each = dyn_cast<AffineDimExpr>(expr))
    return each.getPosition() != dimension;
  auto both = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!both)
    return true;
  auto divisor = dyn_cast<AffineConstantExpr>(both.getRHS());
  bool isQuotient = expr.getKind() == AffineExprKind::FloorDiv && divisor &&
                    divisor.getValue() == wordBits && isa<AffineDimExpr>(both.getLHS());
  return isQuotient || (isInWords(both.getLHS(), dimension) && isInWords(both.getRHS(), dimension));
}

/// The number by which a word is shifted; numbers that are too large give 0, and 64 never is.
static tile::IndexOp amountOf(arith::ShRUIOp shift) {
  Value amount = shift.getRhs();
  if (auto fits = amount.getDefiningOp<arith::SelectOp>())
    amount = fits.getTrueValue();
  if (auto wide = amount.getDefiningOp<arith::ExtSIOp>())
    amount = wide.getIn();
  return amount.getDefiningOp<tile::IndexOp>();
}

/// Whether a number is that of the column in its 64, and what is read the same for those.
bool StreamedSoftmax::isBitOf(tile::IndexOp number, tile::ReadOp word) {
  const IteratorGroup &columns = scores.groups[MatrixNest::Columns];
  unsigned last = columns.iterators.back();
  Value column = scores.nest.getEpilogue().front().getArgument(last);
  if (number.getIndices().size() != 1 || number.getIndices()[0] != column ||
      number.getMap().getNumInputs() != 1)
    return false;
  AffineExpr bit = number.getMap().getResult(0), whole = getAffineDimExpr(0, number.getContext());
  if (columns.extents.back() == wordBits && bit == whole)
    return !scores.values->dependsOn(word, last);
  if (columns.iterators.size() != 1 || bit != whole % wordBits)
    return false;
  for (auto [position, operand] : llvm::enumerate(word.getIndices()))
    if (scores.values->dependsOn(operand, last) &&
        (operand != column || !isInWords(word.getMap().getResult(0), unsigned(position))))
      return false;
  return true;
}

/// The word of which the condition is the bit of a column, ((word >> column % 64) & 1) != 0; null:
/// it is something else.
Value StreamedSoftmax::wordOf(Value condition) {
  auto differs = condition.getDefiningOp<arith::CmpIOp>();
  if (!differs || differs.getPredicate() != arith::CmpIPredicate::ne ||
      !isInteger(differs.getRhs(), 0))
    return {};
  auto bit = differs.getLhs().getDefiningOp<arith::AndIOp>();
  if (!bit || !isInteger(bit.getRhs(), 1))
    return {};
  Value shifted = bit.getLhs();
  if (auto fits = shifted.getDefiningOp<arith::SelectOp>())
    shifted = fits.getTrueValue();
  auto shift = shifted.getDefiningOp<arith::ShRUIOp>();
  if (!shift || !shift.getType().isInteger(wordBits))
    return {};
  tile::IndexOp number = amountOf(shift);
  auto word = shift.getLhs().getDefiningOp<tile::ReadOp>();
  return number && word && isBitOf(number, word) ? word.getElement() : Value();
}

/// From which the lanes count; where each group has blocks of its own, they count from the first's.
Value StreamedSoftmax::firstColumnOf(Value block) {
  if (blocksInTurn > 1)
    block = make.sub(block, group);
  return make.mul(block, i32(blockColumns));
}

/// This thread's columns of a block's scores, and what those read besides.
StreamedSoftmax::Places StreamedSoftmax::placesOf(Value block) {
  scores.passLevel = inner;
  levels.place(inner);
  scores.columnStart = firstColumn = firstColumnOf(block);
  int64_t points = scores.groups[MatrixNest::Columns].points();
  bool isWhole = points % scores.columns.size == 0;
  bool isEven = scores.groups[MatrixNest::Columns].extents.back() % 2 == 0 &&
                statsGroups[statsTerm].extents.back() % 2 == 0;
  int64_t multiple = isEven ? 2 : 1;
  Places places(2 * own / eight);
  for (unsigned number = 0; number < places.size(); ++number) {
    Place &place = places[number];
    if (isEven && number % 2) {
      const Place &before = places[number - 1];
      place = {PointValues::shifted(before.column, 1, number),
               PointValues::shifted(before.term, 1, number), before.isColumn};
      continue;
    }
    levels.place(inner);
    Value at =
        scores.pointNumber(MatrixNest::Columns, scores.laneColumn, number / 2 * eight + number % 2);
    if (!isWhole) {
      place.isColumn = make.lessUnsigned(at, i32(points));
      at = scores.least(at, points - multiple);
    }
    place.column =
        scores.values->split(scores.groups[MatrixNest::Columns], at, multiple, inner, number);
    place.term = stats->split(statsGroups[statsTerm], at, multiple, inner, number);
  }
  if (!form)
    for (unsigned row = 0; row < rowsAThread; ++row)
      for (const Place &place : places) {
        scores.values->readAhead(scores.nest.getEpilogue(), scoreAt(row, place));
        stats->readAhead(statsNest.getBody(), termAt(row, place));
      }
  return places;
}

bool StreamedSoftmax::hasWords() const {
  return form && llvm::any_of(form->words, [](Value word) { return bool(word); });
}

/// Of the block that is taken as `number`th, of any where there are not so many: for each condition
/// that is bits, and each row, the words of this thread's columns, its first one the first bit.
SmallVector<Value> StreamedSoftmax::wordsOf(Value number, unsigned level) {
  constexpr unsigned ofWords = 31000; // Numbers that no other point at this level has.
  levels.placeAtEnd(level);
  scores.passLevel = level;
  Value isThere = make.lessUnsigned(number, order.count);
  Value block = blockOf(entryAt(make.select(isThere, number, i32(0))));
  scores.columnStart = firstColumnOf(scores.least(block, blocks - 1));
  int64_t points = scores.groups[MatrixNest::Columns].points();
  Value first = scores.pointNumber(MatrixNest::Columns, scores.laneColumn, 0);
  Value by = make.bitAnd(first, i32(wordBits - 1));
  by = arith::ExtUIOp::create(make.builder, make.location, make.builder.getI64Type(), by);
  Places places;
  for (int64_t column = 0; column < own; column += wordBits) {
    levels.placeAtEnd(level);
    Value at = scores.pointNumber(MatrixNest::Columns, scores.laneColumn, column);
    if (points % scores.columns.size != 0)
      at = scores.least(at, points - 1);
    places.push_back({scores.values->split(scores.groups[MatrixNest::Columns], at, 1, level,
                                           ofWords + unsigned(column / wordBits)),
                      {},
                      {}});
  }
  SmallVector<Value> words;
  for (Value word : form->words)
    for (unsigned row = 0; word && row < rowsAThread; ++row)
      for (const Place &place : places) {
        Value all = scores.values->evaluate(word, scoreAt(row, place));
        levels.placeAtEnd(level);
        words.push_back(arith::ShRUIOp::create(make.builder, make.location, all, by));
      }
  return words;
}

PointValues::Point StreamedSoftmax::scoreAt(unsigned row, const Place &place) const {
  PointValues::Point at{};
  at[MatrixNest::Batch] = &scores.batch;
  at[MatrixNest::Rows] = &scoreRows[row];
  at[MatrixNest::Columns] = &place.column;
  return at;
}

PointValues::Point StreamedSoftmax::termAt(unsigned row, const Place &place) const {
  PointValues::Point at{};
  at[statsRow] = &statsRows[row];
  at[statsTerm] = &place.term;
  return at;
}

/// From sums of products to what the softmax is of: the scores' epilogue, and the stats' body; or
/// that over the form's scale.
void StreamedSoftmax::finishScores(const Places &places, Scores &all) {
  if (form) {
    hideByWords(all);
    hideByRange(places, all);
  }
  Value score = scores.nest.getEpilogue().front().getTerminator()->getOperand(0);
  Value term = statsNest.getBody().front().getTerminator()->getOperand(0);
  Value low = f32(-std::numeric_limits<double>::infinity());
  for (auto [number, place] : llvm::enumerate(places))
    for (unsigned row = 0; row < rowsAThread; ++row) {
      Value &value = all[number / 2][2 * row + number % 2];
      if (form) {
        for (auto [condition, word] : llvm::zip_equal(form->conditions, form->words))
          if (!word && !isInRange(condition) && !(order.list && condition == isOpen())) {
            Value isShown = scores.values->evaluate(condition, scoreAt(row, place));
            levels.placeAtEnd(inner);
            value = make.select(isShown, value, low);
          }
      } else {
        scores.values->setResult(value);
        stats->setResult(scores.values->evaluate(score, scoreAt(row, place)));
        value = stats->evaluate(term, termAt(row, place));
      }
      levels.placeAtEnd(inner);
      if (place.isColumn)
        value = make.select(place.isColumn, value, low);
    }
}

/// Where all bits of a warp are set, which is so in most blocks, none is asked for.
void StreamedSoftmax::hideByWords(Scores &all) {
  if (bits.empty())
    return;
  levels.placeAtEnd(inner);
  Type i64 = make.builder.getI64Type(), i1 = make.builder.getI1Type();
  uint64_t ofThread = 0; // Two neighbours in each eight.
  for (int64_t column = 0; column < std::min(own, wordBits); column += eight)
    ofThread |= 3ull << column;
  Value mine = make.integer(i64, int64_t(ofThread)), set = mine;
  for (Value each : bits)
    set = make.bitAnd(set, each);
  Value areSet =
      LLVM::CallIntrinsicOp::create(make.builder, make.location, i1,
                                    make.builder.getStringAttr("llvm.nvvm.vote.all.sync"),
                                    ValueRange{i32(-1), make.equal(set, mine)})
          .getResults();
  hideUnless(areSet, all, [&](Value score, unsigned row, unsigned number) {
    return hidden(score, row, int64_t(number / 2) * eight + number % 2);
  });
}

/// Scores of blocks that some row does not see as a whole.
void StreamedSoftmax::hideByRange(const Places &places, Scores &all) {
  if (range.conditions.empty())
    return;
  Value low = f32(-std::numeric_limits<double>::infinity());
  hideUnless(isInside(), all, [&](Value score, unsigned row, unsigned number) {
    for (Value condition : range.conditions) {
      OpBuilder::InsertPoint inside = make.builder.saveInsertionPoint();
      Value isShown = scores.values->evaluate(condition, scoreAt(row, places[number]));
      make.builder.restoreInsertionPoint(inside);
      score = make.select(isShown, score, low);
    }
    return score;
  });
}

/// Where a condition does not hold, scores are what `hide` makes of each: of a row, and the number
/// of a place.
void StreamedSoftmax::hideUnless(Value areShown, Scores &all,
                                 llvm::function_ref<Value(Value, unsigned, unsigned)> hide) {
  SmallVector<Type> types(all.size() * 4, make.builder.getF32Type());
  levels.placeAtEnd(inner);
  auto choice = scf::IfOp::create(make.builder, make.location, types, areShown, true);
  levels.loopCreated(inner, choice); // What hides them is found ahead of it.
  OpBuilder::InsertionGuard guard(make.builder);
  auto yield = [&](Block *block, bool hides) {
    make.builder.setInsertionPointToEnd(block);
    SmallVector<Value> values;
    for (auto [eighth, each] : llvm::enumerate(all))
      for (unsigned part = 0; part < 4; ++part)
        values.push_back(hides ? hide(each[part], part / 2, unsigned(eighth) * 2 + part % 2)
                               : each[part]);
    scf::YieldOp::create(make.builder, make.location, values);
  };
  yield(choice.thenBlock(), false);
  yield(choice.elseBlock(), true);
  levels.resume(inner);
  for (auto [eighth, each] : llvm::enumerate(all))
    for (unsigned part = 0; part < 4; ++part)
      each[part] = choice.getResult(unsigned(eighth) * 4 + part);
}

/// A score, `column` after this thread's first one; minus infinity where some bit of it is not set.
Value StreamedSoftmax::hidden(Value score, unsigned row, int64_t column) {
  size_t aRow = size_t(llvm::divideCeil(own, wordBits)), inRow = size_t(column / wordBits);
  Type half = make.builder.getI32Type();
  for (size_t first = row * aRow; first < bits.size(); first += rowsAThread * aRow) {
    Value word = bits[first + inRow];
    int64_t bit = column % wordBits;
    if (bit >= wordBits / 2)
      word = make.shiftRight(word, wordBits / 2);
    word = arith::TruncIOp::create(make.builder, make.location, half, word);
    Value isSet = make.bitAnd(word, i32(int32_t(1u << bit % (wordBits / 2))));
    score = make.select(make.equal(isSet, i32(0)), f32(-std::numeric_limits<double>::infinity()),
                        score);
  }
  return score;
}

} // namespace kintsugi::targets
