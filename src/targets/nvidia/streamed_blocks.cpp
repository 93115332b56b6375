//===- streamed_blocks.cpp - Blocks of a streamed softmax on their way ----===//

#include "targets/nvidia/block_body.h"
#include "targets/nvidia/streamed_softmax.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t warp = 32, word = 4;
static constexpr unsigned flagsAt = 16; ///< In an entry: below is the block.

/// All steps of a block's sum.
void StreamedSoftmax::stageSteps(MatrixNest &nest, MatrixNest::Operand &operand,
                                 const MatrixNest::Window &window, Value offset, int64_t stepBytes,
                                 unsigned level) {
  if (nest.steps == 1) {
    levels.place(level);
    Value first = i32(0);
    return nest.stageWindow(operand, window, first, offset, level);
  }
  levels.placeAtEnd(level);
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), i32(nest.steps), i32(1));
  levels.loopCreated(level, loop);
  levels.enter(level + 1, loop.getBody());
  levels.place(level + 1);
  Value step = loop.getInductionVar();
  Value at = make.add(offset, make.mul(step, i32(stepBytes)));
  nest.stageWindow(operand, window, step, at, level + 1);
  levels.resume(level);
}

void StreamedSoftmax::stageRows() {
  levels.placeAtEnd(0);
  scores.passLevel = 0;
  Value start = i32(0);
  stageSteps(scores, scores.rows, MatrixNest::wholeOf(scores.rows), start, rowStep, 0);
}

/// From here on a group's threads stage what it has for themselves.
void StreamedSoftmax::startGroups() {
  levels.placeAtEnd(0);
  scores.units.commit();
  int64_t threads = scope.threads->count / across;
  constexpr int64_t four = 7;           // Of threads that multiply together, the number's bits.
  Value number = scope.threads->number; // Fours of the groups take turns.
  Value fours = make.shiftRight(number, four + llvm::Log2_64(across));
  Value within = make.add(make.shiftLeft(fours, four), make.bitAnd(number, i32((1 << four) - 1)));
  for (MatrixNest *nest : {&scores, &weighted}) {
    nest->thread = within;
    nest->threads = threads;
  }
}

/// The rows are all groups'; what was staged after them may still be on its way.
void StreamedSoftmax::waitForRows() {
  levels.placeAtEnd(0);
  scores.units.waitForAllBut(ahead);
  scores.warps.publish();
  scope.threads->wait(make.builder);
}

/// Until what this thread's group has staged is there for it.
void StreamedSoftmax::waitForStaged() {
  if (scores.inFours)
    scores.warps.publish();
  if (!isApart)
    return scope.threads->wait(make.builder);
  assert(across <= numBarriers && "a group has a barrier of its own");
  emitWaitAt(make.builder, group, scope.threads->count / across);
}

/// What a turn has of an operand for one of its blocks.
MatrixNest::Window StreamedSoftmax::windowOf(const MatrixNest::Operand &operand,
                                             bool linesAreColumns, int64_t part) const {
  int64_t lines = operand.lines, chunks = operand.chunks;
  if (linesAreColumns)
    return {unsigned(part), part * lines / blocksInTurn, lines / blocksInTurn, 0, chunks};
  return {unsigned(part), 0, lines, part * chunks / blocksInTurn * eight, chunks / blocksInTurn};
}

/// The columns and values of a block of terms, which is one of those that a turn has.
void StreamedSoftmax::stageBlock(Value block, int64_t part, Value offset, unsigned level) {
  levels.place(level);
  scores.passLevel = level;
  scores.columnStart = make.mul(part ? make.sub(block, i32(part)) : block, i32(blockColumns));
  weighted.termStart = scores.columnStart;
  const MatrixNest::Operand &values = weighted.columns, &keys = scores.columns;
  auto at = [&](const MatrixNest::Operand &operand) {
    return isApart ? make.add(offset, make.mul(group, i32(own * operand.pitch))) : offset;
  };
  Value valuesAt = at(values), keysAt = at(keys);
  weighted.stageWindow(weighted.columns, windowOf(values, !values.alongDepth, part), block,
                       valuesAt, level);
  stageSteps(scores, scores.columns, windowOf(keys, keys.alongDepth, part), keysAt, columnStep,
             level);
}

/// The blocks of a turn that these threads stage, as far as there are so many, in the loop of level
/// 1.
void StreamedSoftmax::stageIfThere(Value turn, Value offset) {
  for (int64_t part = 0; part < (isApart ? 1 : blocksInTurn); ++part) {
    levels.placeAtEnd(1);
    Value number = turn;
    if (blocksInTurn > 1)
      number = make.add(make.mul(turn, i32(blocksInTurn)), isApart ? group : i32(part));
    auto choice = scf::IfOp::create(make.builder, make.location,
                                    make.lessUnsigned(number, order.count), false);
    levels.loopCreated(1, choice);
    levels.enter(2, choice.thenBlock());
    levels.place(2);
    stageBlock(blockOf(entryAt(number)), part, offset, 2);
    levels.resume(1);
  }
  levels.placeAtEnd(1);
  scores.units.commit();
}

void StreamedSoftmax::fillRing() {
  levels.placeAtEnd(0);
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), i32(ahead), i32(1));
  levels.loopCreated(0, loop);
  levels.enter(1, loop.getBody());
  levels.placeAtEnd(1);
  Value number = loop.getInductionVar();
  Value offset = make.add(make.mul(number, i32(stageBytes)), i32(rowBytes));
  stageIfThere(number, offset);
  levels.resume(0);
}

Value StreamedSoftmax::loadWord(Value from, Value number) {
  Value place = scores.units.atByte(from, make.mul(number, i32(word)));
  return LLVM::LoadOp::create(make.builder, make.location, make.builder.getI32Type(), place, word);
}

void StreamedSoftmax::storeWord(Value condition, Value value, Value to, Value number) {
  auto choice = scf::IfOp::create(make.builder, make.location, condition, false);
  OpBuilder::InsertionGuard guard(make.builder);
  make.builder.setInsertionPointToStart(choice.thenBlock());
  Value place = scores.units.atByte(to, make.mul(number, i32(word)));
  LLVM::StoreOp::create(make.builder, make.location, value, place, word);
}

/// What the list says of the block that is taken as `number`th.
Value StreamedSoftmax::entryAt(Value number) {
  if (order.list)
    return loadWord(order.list, number);
  return order.first ? make.add(order.first, number) : number;
}

Value StreamedSoftmax::blockOf(Value entry) {
  return order.list ? make.bitAnd(entry, i32((1 << flagsAt) - 1)) : entry;
}

/// Whether the block of an entry is open for some of this thread's 64 rows.
Value StreamedSoftmax::isOpenHere(Value entry) {
  Value flags =
      arith::ShRUIOp::create(make.builder, make.location, entry, make.add(rowGroup, i32(flagsAt)));
  return make.equal(make.bitAnd(flags, i32(1)), i32(1));
}

/// The condition under which a score is not minus infinity.
Value StreamedSoftmax::isOpen() {
  Value score = scores.nest.getEpilogue().front().getTerminator()->getOperand(0);
  return score.getDefiningOp<arith::SelectOp>().getCondition();
}

/// A block with a flag for each group of rows; no flags: it is hidden.
Value StreamedSoftmax::entryOf(Value block, unsigned round) {
  constexpr unsigned ofBlocks = 30000; // Numbers that no other point at this level has.
  Value at = scores.least(make.mul(block, i32(blockColumns)),
                          scores.groups[MatrixNest::Columns].points() - 1);
  Coordinates column =
      scores.values->split(scores.groups[MatrixNest::Columns], at, 1, 0, ofBlocks + round);
  Value entry = block;
  for (int64_t group = 0; group < rowGroups; ++group) {
    levels.place(0);
    Value first = i32(std::min(group * rowsOfGroup, scores.groups[MatrixNest::Rows].points() - 1));
    Coordinates row = scores.values->split(scores.groups[MatrixNest::Rows], first, 1, 0,
                                           ofBlocks + unsigned(group));
    PointValues::Point point{};
    point[MatrixNest::Batch] = &scores.batch;
    point[MatrixNest::Rows] = &row;
    point[MatrixNest::Columns] = &column;
    Value bit = scores.values->evaluate(isOpen(), point);
    levels.place(0);
    bit = make.bitAnd(bit, make.lessUnsigned(block, i32(blocks)));
    if (Value isAmong = among(block))
      bit = make.bitAnd(bit, isAmong);
    Value wide =
        arith::ExtUIOp::create(make.builder, make.location, make.builder.getI32Type(), bit);
    entry = make.bitOr(entry, make.shiftLeft(wide, flagsAt + unsigned(group)));
  }
  return entry;
}

Value StreamedSoftmax::ballot(Value bit) {
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, make.builder.getI32Type(),
                                       make.builder.getStringAttr("llvm.nvvm.vote.ballot.sync"),
                                       ValueRange{i32(-1), bit})
      .getResults();
}

/// Of the votes' bits, how many there are, and how many ahead of each of `ends` votes.
std::pair<Value, SmallVector<Value>> StreamedSoftmax::countVotes(Value votes,
                                                                 ArrayRef<Value> ends) {
  SmallVector<Value> counts(ends.size() + 1, i32(0));
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0),
                                 i32(llvm::divideCeil(blocks, warp)), i32(1), counts);
  {
    OpBuilder::InsertionGuard guard(make.builder);
    make.builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value bits =
        math::CtPopOp::create(make.builder, make.location, loadWord(votes, number)).getResult();
    for (auto [k, count] : llvm::enumerate(loop.getRegionIterArgs())) {
      Value more = make.add(count, bits);
      counts[k] = k ? make.select(make.lessUnsigned(number, ends[k - 1]), more, count) : more;
    }
    scf::YieldOp::create(make.builder, make.location, counts);
  }
  return {loop.getResult(0), llvm::to_vector_of<Value>(llvm::drop_begin(loop.getResults()))};
}

/// Lists the blocks that are open for some row: each thread asks for some, and what the others of
/// its warp and the other warps found says where in the list each comes.
void StreamedSoftmax::findOrder() {
  levels.placeAtEnd(0);
  order.count = i32(blocks);
  if (!scores.nest.getSkipsBlocks()) {
    limitOrder();
    return findTurns();
  }
  Value list = scores.units.atByte(scores.ring, listAt);
  Value votes = scores.units.atByte(list, (blocks + ahead + across) * word);
  Value thread = scope.threads->number, lane = make.bitAnd(thread, i32(warp - 1));
  Value isFirst = make.equal(lane, i32(0));
  SmallVector<Value> entries, bits, ownVotes, numbers;
  for (int64_t first = 0; first < blocks; first += scope.threads->count) {
    levels.placeAtEnd(0);
    Value entry = entryOf(first ? make.add(thread, i32(first)) : thread,
                          unsigned(first / scope.threads->count));
    levels.placeAtEnd(0);
    entries.push_back(entry);
    bits.push_back(make.lessUnsigned(i32((1 << flagsAt) - 1), entry));
    ownVotes.push_back(ballot(bits.back()));
    numbers.push_back(make.add(make.shiftRight(thread, 5), i32(first / warp)));
    Value isVote = make.lessUnsigned(numbers.back(), i32(llvm::divideCeil(blocks, warp)));
    storeWord(make.bitAnd(isFirst, isVote), ownVotes.back(), votes, numbers.back());
  }
  scope.threads->wait(make.builder);
  auto [count, before] = countVotes(votes, numbers);
  order.count = count;
  order.list = list;
  Value below = make.sub(
      arith::ShLIOp::create(make.builder, make.location, i32(1), lane).getResult(), i32(1));
  for (auto [round, entry] : llvm::enumerate(entries)) {
    Value ofWarp =
        math::CtPopOp::create(make.builder, make.location, make.bitAnd(ownVotes[round], below));
    storeWord(bits[round], entry, list, make.add(before[round], ofWarp));
  }
  scope.threads->wait(make.builder);
  findTurns();
}

/// To the blocks of the range.
void StreamedSoftmax::limitOrder() {
  auto quotient = [&](Value number) {
    return arith::DivUIOp::create(make.builder, make.location, number, i32(blockColumns));
  };
  if (range.end)
    order.count = quotient(make.add(range.end, i32(blockColumns - 1)));
  if (!range.begin)
    return;
  Value first = quotient(range.begin);
  order.first = arith::MinUIOp::create(make.builder, make.location, first, i32(blocks - 1));
  Value isAny = make.less(first, order.count);
  order.count = make.select(isAny, make.sub(order.count, first), i32(0));
}

/// As many as some group has blocks, or, where none waits for another, as this one has.
void StreamedSoftmax::findTurns() {
  order.turns = order.count;
  if (blocksInTurn == 1)
    return;
  Value last = i32(blocksInTurn - 1);
  if (isApart)
    last = make.sub(last, group);
  order.turns = make.shiftRight(make.add(order.count, last), llvm::Log2_64(blocksInTurn));
}

} // namespace kintsugi::targets
