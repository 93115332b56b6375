//===- nest_choices.cpp - One read of what a chain of choices wants -------===//
//
// A concatenation's body chooses among elements of its parts by place. A thread that reads them all
// to keep one has as many reads under way, and registers for them, as there are parts: it chooses
// where to read instead. Where neighbours along a row are of the same part, their places follow
// each other, so that they are read in one move.
//
//===----------------------------------------------------------------------===//

#include "targets/nest_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace kintsugi::targets {

namespace {

/// A condition, or that it does not hold.
using Literal = std::pair<Value, bool>;
using Literals = SmallVector<Literal>;

void addLiterals(Value mask, Literals &all) {
  auto both = mask.getDefiningOp<arith::AndIOp>();
  auto flipped = mask.getDefiningOp<arith::XOrIOp>();
  if (both) {
    addLiterals(both.getLhs(), all);
    addLiterals(both.getRhs(), all);
  } else if (flipped && matchPattern(flipped.getRhs(), m_One())) {
    all.push_back({flipped.getLhs(), false});
  } else {
    all.push_back({mask, true});
  }
}

/// Visits a choice's conditions and reads; false as soon as a visitor says so.
bool visitChoice(Value value, llvm::function_ref<bool(Value)> condition,
                 llvm::function_ref<bool(tile::ReadOp)> read) {
  if (auto choice = value.getDefiningOp<arith::SelectOp>())
    return condition(choice.getCondition()) &&
           visitChoice(choice.getTrueValue(), condition, read) &&
           visitChoice(choice.getFalseValue(), condition, read);
  return read(value.getDefiningOp<tile::ReadOp>());
}

} // namespace

/// Whether a value is a choice among reads that serve nothing else and are on wherever they are
/// chosen; adds its operations to `parts`.
bool NestEmitter::isChoice(Value value, bool isRoot, SmallVectorImpl<Literal> &path,
                           SmallVectorImpl<Operation *> &parts) const {
  if (isVector(value) || !(isRoot || value.hasOneUse()))
    return false;
  if (auto choice = value.getDefiningOp<arith::SelectOp>()) {
    size_t before = path.size();
    parts.push_back(choice);
    Literals chosen;
    addLiterals(choice.getCondition(), chosen);
    path.push_back({choice.getCondition(), true});
    llvm::append_range(path, chosen);
    bool isOne = isChoice(choice.getTrueValue(), false, path, parts);
    path.truncate(before);
    path.push_back({choice.getCondition(), false});
    isOne = isOne && isChoice(choice.getFalseValue(), false, path, parts);
    path.truncate(before);
    return isOne;
  }
  auto read = value.getDefiningOp<tile::ReadOp>();
  if (!read || cast<MemRefType>(read.getBuffer().getType()).getNumElements() == 0)
    return false;
  Literals wanted;
  if (read.getMask())
    addLiterals(read.getMask(), wanted);
  parts.push_back(read);
  return llvm::all_of(wanted, [&](Literal literal) { return llvm::is_contained(path, literal); });
}

void NestEmitter::findChoices() {
  for (Operation &op : llvm::reverse(nest.getBody().front())) {
    auto choice = dyn_cast<arith::SelectOp>(op);
    if (!choice || partsOfChoices.contains(choice))
      continue;
    Literals path;
    SmallVector<Operation *> parts;
    if (!isChoice(choice.getResult(), true, path, parts))
      continue;
    Type pointer;
    bool isOfOneMemory = visitChoice(
        choice.getResult(), [](Value) { return true; },
        [&](tile::ReadOp read) {
          Type own = scope.pointers.lookup(read.getBuffer()).getType();
          pointer = pointer ? pointer : own;
          return pointer == own;
        });
    if (!isOfOneMemory)
      continue;
    choices.insert(choice);
    partsOfChoices.insert(parts.begin(), parts.end());
  }
}

/// Whether all vectors of a row, of which this is one, choose alike, and what they may read follows
/// each other.
bool NestEmitter::choosesAlike(Value root, Point point) {
  Point first = {point.row, 0};
  auto follows = [&](const Position &from, const Position &here) {
    return !from.lanes && !here.lanes && from.base.value == here.base.value &&
           here.constant - from.constant == int64_t(point.vector);
  };
  auto condition = [&](Value value) {
    auto comparison = value.getDefiningOp<arith::CmpIOp>();
    APInt bound;
    if (!comparison || comparison.getPredicate() != arith::CmpIPredicate::slt ||
        !matchPattern(comparison.getRhs(), m_ConstantInt(&bound)))
      return false;
    auto index = comparison.getLhs().getDefiningOp<tile::IndexOp>();
    if (!index)
      return false;
    Position from = position(index.getMap(), index.getIndices(), first);
    int64_t multiple = std::gcd(std::gcd(from.multiple, from.constant), bound.getSExtValue());
    return multiple % vectors == 0 &&
           follows(from, position(index.getMap(), index.getIndices(), point));
  };
  auto read = [&](tile::ReadOp op) {
    return follows(position(op.getMap(), op.getIndices(), first),
                   position(op.getMap(), op.getIndices(), point));
  };
  return visitChoice(root, condition, read);
}

/// The place that a choice is read from.
Value NestEmitter::chosenPlace(Value value, Point point, unsigned level) {
  if (auto read = value.getDefiningOp<tile::ReadOp>()) {
    Position where = position(read.getMap(), read.getIndices(), point);
    return address(scope.pointers.lookup(read.getBuffer()), where, read.getElement().getType());
  }
  auto choice = value.getDefiningOp<arith::SelectOp>();
  Value condition = evaluate(choice.getCondition(), point);
  Value onTrue = chosenPlace(choice.getTrueValue(), point, level);
  Value onFalse = chosenPlace(choice.getFalseValue(), point, level);
  levels.place(level);
  return make.select(condition, onTrue, onFalse);
}

Value NestEmitter::readChosen(Value root, Point point, unsigned level) {
  Type element = root.getType();
  unsigned alignment = 16;
  visitChoice(
      root, [](Value) { return true; },
      [&](tile::ReadOp read) {
        Position where = position(read.getMap(), read.getIndices(), point);
        alignment = std::min(alignment, alignmentAt(where, element));
        return true;
      });
  bool areAlike = point.vector > 0 && choosesAlike(root, point);
  Value place = chosenPlace(root, areAlike ? Point{point.row, 0} : point, level);
  levels.place(level);
  if (areAlike) {
    Value further = make.integer(make.builder.getI64Type(), point.vector);
    place = LLVM::GEPOp::create(make.builder, make.location, place.getType(), element, place,
                                ArrayRef<LLVM::GEPArg>(further));
  }
  return LLVM::LoadOp::create(make.builder, make.location, element, place, alignment);
}

} // namespace kintsugi::targets
