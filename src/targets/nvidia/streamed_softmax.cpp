#include "targets/nvidia/streamed_softmax.h"

#include "targets/elementwise.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t warp = 32;

StreamedSoftmax::StreamedSoftmax(KernelScope &scope, ArrayRef<tile::ComputeOp> nests, Value scratch,
                                 Block *block)
    : scope(scope), statsNest(nests[1]), make(scope.builder),
      levels(scope.builder, MatrixNest::numLevels, block),
      scores(scope, nests[0], scratch, false, levels),
      weighted(scope, nests[3], scratch, false, levels), statsGroups(2),
      blocks(llvm::divideCeil(weighted.groups[MatrixNest::Depth].points(),
                              weighted.matrix.getDepth())),
      ahead(scores.matrix.getStages() - 1), across(scores.matrix.getAcross()),
      own(scores.matrix.getColumns() / across) {
  auto add = [&](unsigned group, unsigned iterator) {
    statsGroups[group].iterators.push_back(iterator);
    statsGroups[group].extents.push_back(statsNest.extentOf(iterator));
  };
  for (unsigned k = 0; k < statsNest.numIterators(); ++k)
    add(k < statsNest.numParallel() ? statsRow : statsTerm, k);
  stats.emplace(scope, statsNest, levels, statsGroups);
  stats->takeResultFor(scores.nest.getDestinations()[0]);
  findBytes();
}

/// As schedule::StreamBytes has it, or less.
void StreamedSoftmax::findBytes() {
  auto bytesOf = [](const MatrixNest::Operand &operand) { return operand.lines * operand.pitch; };
  rowStep = bytesOf(scores.rows);
  columnStep = bytesOf(scores.columns);
  rowBytes = scores.steps * rowStep;
  int64_t values = scores.steps * columnStep;
  stageBytes = values + bytesOf(weighted.columns);
  scores.rows.offset = 0;
  scores.columns.offset = 0;
  weighted.columns.offset = values;
}

void StreamedSoftmax::emit() {
  findLanes();
  for (MatrixNest *nest : {&scores, &weighted})
    nest->batch = nest->values->split(nest->groups[MatrixNest::Batch], i32(0), 0, 0, 0);
  for (unsigned row = 0; row < rowsAThread; ++row) {
    scoreRows[row] = scores.pointAt(MatrixNest::Rows, scores.laneRow, row * eight, 1, row, 0);
    levels.place(0);
    Value number = scores.pointNumber(MatrixNest::Rows, scores.laneRow, row * eight);
    number = scores.least(number, statsGroups[statsRow].points() - 1);
    statsRows[row] = stats->split(statsGroups[statsRow], number, 1, 0, row);
  }
  stageRows();
  findOrder();
  Value all = order.open;
  if (all) // Of the blocks that the loop takes, all are.
    scores.values->assume(isOpen());
  fillRing();
  emitBlocks(all);
  if (across > 1)
    joinGroups();
  storeStats();
  weighted.resultLevel = resultLevel;
  weighted.storeResults(running.sums);
}

void StreamedSoftmax::findLanes() {
  levels.placeAtEnd(0);
  Value warpNumber = make.shiftRight(scope.threads->number, 5);
  group = make.bitAnd(warpNumber, i32(across - 1));
  Value down = make.shiftRight(warpNumber, llvm::Log2_64(across));
  Value firstRow = make.shiftLeft(down, 4), firstOfGroup = make.mul(group, i32(own));
  scores.findLanesAt(firstRow, firstOfGroup, i32(0));
  weighted.findLanesAt(firstRow, i32(0), firstOfGroup);
  Value lane = make.bitAnd(scope.threads->number, i32(warp - 1));
  exchange = make.shiftLeft(make.add(make.shiftLeft(down, 5), lane), 4);
}

/// All steps of a block's sum.
void StreamedSoftmax::stageSteps(MatrixNest &nest, MatrixNest::Operand &operand, Value offset,
                                 int64_t stepBytes, unsigned level) {
  if (nest.steps == 1) {
    levels.place(level);
    Value first = i32(0);
    return nest.stageOperand(operand, first, offset, level);
  }
  levels.placeAtEnd(level);
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), i32(nest.steps), i32(1));
  levels.loopCreated(level, loop);
  levels.enter(level + 1, loop.getBody());
  levels.place(level + 1);
  Value step = loop.getInductionVar();
  Value at = make.add(offset, make.mul(step, i32(stepBytes)));
  nest.stageOperand(operand, step, at, level + 1);
  levels.resume(level);
}

void StreamedSoftmax::stageRows() {
  levels.placeAtEnd(0);
  scores.passLevel = 0;
  Value start = i32(0);
  stageSteps(scores, scores.rows, start, rowStep, 0);
}

/// The columns and values of a block of terms.
void StreamedSoftmax::stageBlock(Value block, Value offset, unsigned level) {
  levels.place(level);
  scores.passLevel = level;
  scores.columnStart = make.mul(block, i32(scores.columns.size));
  weighted.stageOperand(weighted.columns, block, offset, level);
  stageSteps(scores, scores.columns, offset, columnStep, level);
}

/// Each warp asks for all blocks, a lane for two of them: 64 bits in all.
void StreamedSoftmax::findOrder() {
  levels.placeAtEnd(0);
  order.count = i32(blocks);
  if (!scores.nest.getSkipsBlocks())
    return;
  Type i64 = make.builder.getI64Type();
  Value lane = make.bitAnd(scope.threads->number, i32(warp - 1));
  Value low = bitsOfOpen(lane, 0);
  order.open = arith::ExtUIOp::create(make.builder, make.location, i64, low);
  if (blocks > warp) {
    Value high = arith::ExtUIOp::create(make.builder, make.location, i64, bitsOfOpen(lane, warp));
    order.open = make.bitOr(order.open, make.shiftLeft(high, warp));
  }
  Value count = math::CtPopOp::create(make.builder, make.location, order.open);
  order.count = make.resize(count, make.builder.getI32Type());
}

/// The condition under which a score is not minus infinity.
Value StreamedSoftmax::isOpen() {
  Value score = scores.nest.getEpilogue().front().getTerminator()->getOperand(0);
  return score.getDefiningOp<arith::SelectOp>().getCondition();
}

/// Of 32 blocks, an i32.
Value StreamedSoftmax::bitsOfOpen(Value lane, int64_t first) {
  constexpr unsigned ofBlocks = 30000; // Numbers that no other point at this level has.
  levels.place(0);
  Value block = first ? make.add(lane, i32(first)) : lane;
  Value at = scores.least(make.mul(block, i32(scores.columns.size)),
                          scores.groups[MatrixNest::Columns].points() - 1);
  auto number = unsigned(ofBlocks + first);
  Coordinates column = scores.values->split(scores.groups[MatrixNest::Columns], at, 1, 0, number);
  Value none = i32(0);
  Coordinates row = scores.values->split(scores.groups[MatrixNest::Rows], none, 1, 0, ofBlocks);
  PointValues::Point point{};
  point[MatrixNest::Batch] = &scores.batch;
  point[MatrixNest::Rows] = &row;
  point[MatrixNest::Columns] = &column;
  Value bit = scores.values->evaluate(isOpen(), point);
  levels.place(0);
  bit = make.bitAnd(bit, make.lessUnsigned(block, i32(blocks)));
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, make.builder.getI32Type(),
                                       make.builder.getStringAttr("llvm.nvvm.vote.ballot.sync"),
                                       ValueRange{i32(-1), bit})
      .getResults();
}

Value StreamedSoftmax::nextBlock(Value number, Value &left) {
  if (!left)
    return number;
  Value block = math::CountTrailingZerosOp::create(make.builder, make.location, left);
  Value one = make.integer(left.getType(), 1);
  left = make.bitAnd(left, make.sub(left, one));
  return make.resize(block, make.builder.getI32Type());
}

/// The block that is taken as `number`th, where there are so many, in the loop of level 1.
void StreamedSoftmax::stageIfThere(Value number, Value block, Value offset) {
  auto choice =
      scf::IfOp::create(make.builder, make.location, make.lessUnsigned(number, order.count), false);
  levels.loopCreated(1, choice);
  levels.enter(2, choice.thenBlock());
  stageBlock(block, offset, 2);
  levels.resume(1);
  levels.placeAtEnd(1);
  scores.units.commit();
}

void StreamedSoftmax::fillRing() {
  levels.placeAtEnd(0);
  SmallVector<Value> carried;
  if (order.open)
    carried.push_back(order.open);
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), i32(ahead), i32(1), carried);
  levels.loopCreated(0, loop);
  levels.enter(1, loop.getBody());
  levels.placeAtEnd(1);
  Value number = loop.getInductionVar(), left = order.open ? loop.getRegionIterArg(0) : Value();
  Value block = nextBlock(number, left);
  Value offset = make.add(make.mul(number, i32(stageBytes)), i32(rowBytes));
  stageIfThere(number, block, offset);
  if (order.open) {
    scf::YieldOp::create(make.builder, make.location, left);
    order.open = loop.getResult(0);
  }
  levels.resume(0);
}

/// `toRead`: the open blocks; null: all.
void StreamedSoftmax::emitBlocks(Value toRead) {
  size_t count = weighted.matrix.getColumns() / eight;
  levels.placeAtEnd(0);
  SmallVector<Value> carried(count * 4, f32(0));
  carried.append(rowsAThread, f32(-std::numeric_limits<double>::infinity()));
  carried.append(rowsAThread, f32(0));
  carried.push_back(i32(rowBytes));
  carried.push_back(i32(rowBytes + ahead * stageBytes));
  if (toRead) {
    carried.push_back(toRead);
    carried.push_back(order.open);
  }
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), order.count, i32(1), carried);
  levels.loopCreated(0, loop);
  levels.enter(1, loop.getBody());
  levels.placeAtEnd(1);
  auto take = [&](ValueRange values) {
    running.sums.resize(count);
    for (size_t k = 0; k < count * 4; ++k)
      running.sums[k / 4][k % 4] = values[k];
    for (unsigned row = 0; row < rowsAThread; ++row) {
      running.maximum[row] = values[count * 4 + row];
      running.total[row] = values[count * 4 + rowsAThread + row];
    }
  };
  ValueRange arguments = loop.getRegionIterArgs();
  take(arguments);
  size_t offsets = count * 4 + 2 * rowsAThread;
  Value readAt = arguments[offsets], writeAt = arguments[offsets + 1];
  Value left = toRead ? arguments[offsets + 2] : Value();
  Value leftToStage = toRead ? arguments[offsets + 3] : Value();
  Value block = nextBlock(loop.getInductionVar(), left);
  Places places = placesOf(block);
  levels.placeAtEnd(1);
  scores.units.waitForAllBut(ahead - 1);
  scope.threads->wait(make.builder);
  Value further = make.add(loop.getInductionVar(), i32(ahead));
  Value next = nextBlock(further, leftToStage);
  stageIfThere(further, next, writeAt);
  Scores ofBlock = scoresOf(readAt);
  finishScores(places, ofBlock);
  levels.placeAtEnd(1);
  PerRow base;
  rescale(ofBlock, running, base);
  toPowers(ofBlock, base, running);
  addWeighted(readAt, ofBlock, running);
  auto following = [&](Value offset) {
    Value moved = make.add(offset, i32(stageBytes));
    int64_t end = rowBytes + (ahead + 1) * stageBytes;
    return make.select(make.equal(moved, i32(end)), i32(rowBytes), moved);
  };
  SmallVector<Value> yielded;
  for (const MatrixUnits::Results &each : running.sums)
    llvm::append_range(yielded, each);
  llvm::append_range(yielded, running.maximum);
  llvm::append_range(yielded, running.total);
  yielded.push_back(following(readAt));
  yielded.push_back(following(writeAt));
  if (toRead) {
    yielded.push_back(left);
    yielded.push_back(leftToStage);
  }
  scf::YieldOp::create(make.builder, make.location, yielded);
  take(loop.getResults());
  levels.resume(0);
}

StreamedSoftmax::Scores StreamedSoftmax::scoresOf(Value offset) {
  size_t count = own / eight;
  Scores sums(count);
  for (MatrixUnits::Results &each : sums)
    each.fill(f32(0));
  int64_t sixteens = scores.matrix.getDepth() / 16;
  for (int64_t step = 0; step < scores.steps; ++step) {
    Value rowsAt = scores.units.atByte(scores.ring, step * rowStep);
    Value columnsAt =
        scores.units.atByte(scores.units.atByte(scores.ring, offset), step * columnStep);
    for (int64_t sixteen = 0; sixteen < sixteens; ++sixteen) {
      MatrixUnits::Fragment rows = scores.load(scores.rows, rowsAt, 0, sixteen);
      for (size_t pair = 0; pair < count / 2; ++pair) {
        MatrixUnits::Fragment columns = scores.load(scores.columns, columnsAt, pair, sixteen);
        for (bool second : {false, true}) {
          MatrixUnits::Results &sum = sums[2 * pair + second];
          sum = scores.units.multiply(rows, columns, second, sum);
        }
      }
    }
  }
  return sums;
}

/// This thread's columns of a block's scores, and what those read besides.
StreamedSoftmax::Places StreamedSoftmax::placesOf(Value block) {
  scores.passLevel = 1;
  scores.columnStart = make.mul(block, i32(scores.columns.size));
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
    levels.place(1);
    Value at =
        scores.pointNumber(MatrixNest::Columns, scores.laneColumn, number / 2 * eight + number % 2);
    if (!isWhole) {
      place.isColumn = make.lessUnsigned(at, i32(points));
      at = scores.least(at, points - multiple);
    }
    place.column =
        scores.values->split(scores.groups[MatrixNest::Columns], at, multiple, 1, number);
    place.term = stats->split(statsGroups[statsTerm], at, multiple, 1, number);
  }
  for (unsigned row = 0; row < rowsAThread; ++row)
    for (const Place &place : places) {
      scores.values->readAhead(scores.nest.getEpilogue(), scoreAt(row, place));
      stats->readAhead(statsNest.getBody(), termAt(row, place));
    }
  return places;
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

/// From sums of products to what the softmax is of: the scores' epilogue, and the stats' body.
void StreamedSoftmax::finishScores(const Places &places, Scores &all) {
  Value score = scores.nest.getEpilogue().front().getTerminator()->getOperand(0);
  Value term = statsNest.getBody().front().getTerminator()->getOperand(0);
  for (auto [number, place] : llvm::enumerate(places))
    for (unsigned row = 0; row < rowsAThread; ++row) {
      Value &value = all[number / 2][2 * row + number % 2];
      scores.values->setResult(value);
      stats->setResult(scores.values->evaluate(score, scoreAt(row, place)));
      value = stats->evaluate(term, termAt(row, place));
      levels.placeAtEnd(1);
      if (place.isColumn)
        value = make.select(place.isColumn, value, f32(-std::numeric_limits<double>::infinity()));
    }
}

/// The number of two of which one may be NaN: such a row's total is NaN whatever its maximum is.
Value StreamedSoftmax::greater(Value a, Value b) {
  return arith::MaxNumFOp::create(make.builder, make.location, a, b);
}

/// exp(x - base); the difference first, since a hidden score may be the type's lowest number.
Value StreamedSoftmax::power(Value x, Value base) {
  Value exponent = make.mul(make.sub(x, base), f32(std::numbers::log2e));
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, make.builder.getF32Type(),
                                       make.builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"),
                                       exponent)
      .getResults();
}

/// What is taken off scores: their maximum; 0 while all are minus infinity.
Value StreamedSoftmax::baseOf(Value maximum) {
  Value isNone = make.equal(maximum, f32(-std::numeric_limits<double>::infinity()));
  return make.select(isNone, f32(0), maximum);
}

/// To the maximum with this block's scores.
void StreamedSoftmax::rescale(const Scores &all, Running &running, PerRow &base) {
  for (unsigned row = 0; row < rowsAThread; ++row) {
    Value most = running.maximum[row];
    for (const MatrixUnits::Results &each : all)
      most = greater(most, greater(each[2 * row], each[2 * row + 1]));
    most = amongFour(most, [&](Value a, Value b) { return greater(a, b); });
    base[row] = baseOf(most);
    Value kept = power(running.maximum[row], base[row]);
    running.maximum[row] = most;
    running.total[row] = make.mul(running.total[row], kept);
    for (MatrixUnits::Results &sum : running.sums)
      for (unsigned side : {0, 1})
        sum[2 * row + side] = make.mul(sum[2 * row + side], kept);
  }
}

void StreamedSoftmax::toPowers(Scores &all, const PerRow &base, Running &running) {
  for (MatrixUnits::Results &each : all)
    for (unsigned row = 0; row < rowsAThread; ++row)
      for (unsigned side : {0, 1}) {
        Value &score = each[2 * row + side];
        score = power(score, base[row]);
        running.total[row] = make.add(running.total[row], score);
      }
}

Value StreamedSoftmax::packed(Value first, Value second) {
  Type element = scores.matrix.getElement();
  Value pair = make.undefined(VectorType::get({2}, make.builder.getF32Type()));
  pair = make.withLane(make.withLane(pair, first, 0), second, 1);
  Value narrow = make.narrow(pair, element);
  return LLVM::BitcastOp::create(make.builder, make.location, make.builder.getI32Type(), narrow);
}

void StreamedSoftmax::addWeighted(Value offset, const Scores &powers, Running &running) {
  Value stage = weighted.units.atByte(weighted.ring, offset);
  for (int64_t sixteen = 0; sixteen < own / 16; ++sixteen) {
    MatrixUnits::Fragment rows;
    for (unsigned half : {0, 1}) {
      const MatrixUnits::Results &each = powers[2 * sixteen + half];
      rows[2 * half] = packed(each[0], each[1]);
      rows[2 * half + 1] = packed(each[2], each[3]);
    }
    for (size_t pair = 0; pair < running.sums.size() / 2; ++pair) {
      MatrixUnits::Fragment columns = weighted.load(weighted.columns, stage, pair, sixteen);
      for (bool second : {false, true}) {
        MatrixUnits::Results &sum = running.sums[2 * pair + second];
        sum = weighted.units.multiply(rows, columns, second, sum);
      }
    }
  }
}

} // namespace kintsugi::targets
