#include "targets/nvidia/streamed_softmax.h"

#include "loops/block_memory.h"
#include "loops/streamed_softmax.h"
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

static BlockFrame withoutBulk(BlockFrame frame) {
  frame.bulk = nullptr;
  return frame;
}

StreamedSoftmax::StreamedSoftmax(KernelScope &scope, ArrayRef<tile::ComputeOp> nests,
                                 const BlockFrame &frame, Block *block)
    : scope(scope), statsNest(nests[1]), make(scope.builder),
      levels(scope.builder, MatrixNest::numLevels, block),
      scores(scope, nests[0], withoutBulk(frame), levels),
      weighted(scope, nests[3], withoutBulk(frame), levels), statsGroups(2),
      slope(std::numbers::log2e), across(scores.matrix.getAcross()),
      own(scores.matrix.getColumns() / across), ahead(scores.matrix.getStages() - 1),
      rowGroups(std::max<int64_t>(1, scores.matrix.getRows() / loops::rowsOpenTogether)),
      rowsOfGroup(scores.matrix.getRows() / rowGroups) {
  auto add = [&](unsigned group, unsigned iterator) {
    statsGroups[group].iterators.push_back(iterator);
    statsGroups[group].extents.push_back(statsNest.extentOf(iterator));
  };
  for (unsigned k = 0; k < statsNest.numIterators(); ++k)
    add(k < statsNest.numParallel() ? statsRow : statsTerm, k);
  stats.emplace(scope, statsNest, levels, statsGroups);
  stats->takeResultFor(scores.nest.getDestinations()[0]);
  findGroups();
  findBytes(frame);
  findForm();
}

/// Blocks of a group's own are some lines of an operand, whose chunks turn as all lines' do.
void StreamedSoftmax::findGroups() {
  auto isOfLines = [&](const MatrixNest::Operand &operand, bool linesAreColumns) {
    return linesAreColumns && own * operand.pitch % MatrixNest::turnedBytes == 0;
  };
  isApart = across > 1 && scores.inFours && isOfLines(scores.columns, scores.columns.alongDepth) &&
            isOfLines(weighted.columns, !weighted.columns.alongDepth);
  blocksInTurn = isApart || scores.nest.getSkipsBlocks() ? across : 1;
  blockColumns = scores.columns.size / blocksInTurn;
  blocks = int64_t(llvm::divideCeil(weighted.groups[MatrixNest::Depth].points(), blockColumns));
}

/// As loops::streamBytes has it, or less: devices that may have less memory than it was chosen for
/// have as many stages as fit.
void StreamedSoftmax::findBytes(const BlockFrame &frame) {
  rowStep = scores.rows.bytes();
  columnStep = scores.columns.bytes();
  rowBytes = scores.steps * rowStep;
  int64_t values = scores.steps * columnStep;
  stageBytes = values + weighted.columns.bytes();
  if (!frame.isHopper) {
    constexpr int64_t fewest = loops::fewestStages, word = 4;
    int64_t listed = blocks + int64_t(llvm::divideCeil(blocks, warp)) + ahead + 1 + across;
    int64_t taken = int64_t(scores.matrix.getRing()) + rowBytes +
                    (scores.nest.getSkipsBlocks() ? listed * word : 0);
    ahead = std::min(ahead, std::max(fewest, (frame.scratchBytes - taken) / stageBytes) - 1);
  }
  listAt = rowBytes + (ahead + 1) * stageBytes;
  scores.rows.offset = 0;
  scores.columns.offset = 0;
  weighted.columns.offset = values;
}

void StreamedSoftmax::emit() {
  if (fillsFirst({}))
    begin();
  finish();
}

/// Ranges come of the conditions of scores and of terms.
bool StreamedSoftmax::fillsFirst(ArrayRef<Value> written) {
  auto resultOf = [](Region &region) { return region.front().getTerminator()->getOperand(0); };
  return !isApart && !scores.nest.getSkipsBlocks() && !scores.rows.direct &&
         llvm::none_of(ArrayRef<Value>{scores.columns.factor, weighted.columns.factor,
                                       resultOf(scores.nest.getEpilogue()),
                                       resultOf(statsNest.getBody())},
                       [&](Value value) {
                         return llvm::any_of(readsOf(value), [&](tile::ReadOp read) {
                           return llvm::is_contained(written, read.getBuffer());
                         });
                       });
}

void StreamedSoftmax::begin() {
  findPlaces();
  findBlocks();
  fillRing();
  isFilled = true;
}

/// Whose rows this thread works on.
void StreamedSoftmax::findPlaces() {
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
}

void StreamedSoftmax::findBlocks() {
  findRange();
  findOrder();
  if (order.list) // Of the blocks that the loop takes, all are.
    scores.values->assume(isOpen());
}

void StreamedSoftmax::finish() {
  if (isFilled) {
    stageRows();
  } else {
    findPlaces();
    stageRows();
    findBlocks();
    if (isApart)
      startGroups();
    fillRing();
    if (isApart)
      waitForRows();
  }
  emitBlocks();
  if (mayBeNone()) {
    levels.placeAtEnd(0);
    scores.units.waitForAllBut(0);
  }
  if (across > 1)
    joinGroups();
  leaveRowless();
  storeStats();
  weighted.resultLevel = resultLevel;
  weighted.storeResults(running.sums);
}

void StreamedSoftmax::findLanes() {
  levels.placeAtEnd(0);
  Value warpNumber = make.shiftRight(scope.threads->number, 5);
  if (scores.inFours)
    warpNumber = scores.warps.uniform(warpNumber);
  // Four warps that multiply together have rows below each other.
  unsigned four = scores.matrix.getInFours() ? 2 : 0;
  Value number = make.shiftRight(warpNumber, four);
  group = make.bitAnd(number, i32(across - 1));
  Value down = make.shiftRight(number, llvm::Log2_64(across));
  Value firstOfFour = make.shiftLeft(down, 4 + four), firstOfGroup = make.mul(group, i32(own));
  down = make.add(make.shiftLeft(down, four), make.bitAnd(warpNumber, i32((1 << four) - 1)));
  Value none = i32(0);
  firstRow = make.shiftLeft(down, 4);
  rowGroup = arith::DivUIOp::create(make.builder, make.location, firstRow, i32(rowsOfGroup));
  if (scores.inFours) {
    scores.describe(scores.rows, firstOfFour, none);
    scores.describe(scores.columns, firstOfGroup, none);
    weighted.describe(weighted.columns, none, firstOfGroup);
  }
  scores.findLanesAt(firstRow, firstOfGroup, none);
  weighted.findLanesAt(firstRow, none, firstOfGroup);
  Value lane = make.bitAnd(scope.threads->number, i32(warp - 1));
  exchange = make.shiftLeft(make.add(make.shiftLeft(down, 5), lane), 4);
}

SmallVector<Value> StreamedSoftmax::allOf(const Running &running) const {
  SmallVector<Value> values;
  for (const MatrixUnits::Results &each : running.sums)
    llvm::append_range(values, each);
  llvm::append_range(values, running.maximum);
  llvm::append_range(values, running.total);
  return values;
}

/// As allOf has them.
void StreamedSoftmax::take(ValueRange values) {
  size_t count = weighted.matrix.getColumns() / eight;
  running.sums.resize(count);
  for (size_t k = 0; k < count * 4; ++k)
    running.sums[k / 4][k % 4] = values[k];
  for (unsigned row = 0; row < rowsAThread; ++row) {
    running.maximum[row] = values[count * 4 + row];
    running.total[row] = values[count * 4 + rowsAThread + row];
  }
}

/// What the loop carries: as allOf, where it reads and writes the ring, and words of masks.
SmallVector<Value> StreamedSoftmax::startValues() {
  levels.placeAtEnd(0);
  SmallVector<Value> values(weighted.matrix.getColumns() / eight * 4, f32(0));
  values.append(rowsAThread, f32(-std::numeric_limits<double>::infinity()));
  values.append(rowsAThread, f32(0));
  values.push_back(i32(rowBytes));
  values.push_back(i32(rowBytes + ahead * stageBytes));
  if (hasWords())
    llvm::append_range(values, wordsOf(blocksInTurn > 1 ? group : i32(0), 0));
  levels.placeAtEnd(0);
  return values;
}

/// What a turn needs of masks is asked for a turn ahead.
void StreamedSoftmax::emitBlocks() {
  SmallVector<Value> carried = startValues();
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), order.turns, i32(1), carried);
  levels.loopCreated(0, loop);
  levels.enter(1, loop.getBody());
  levels.placeAtEnd(1);
  take(loop.getRegionIterArgs());
  ValueRange others = loop.getRegionIterArgs().drop_front(allOf(running).size());
  Value readAt = others[0], writeAt = others[1];
  bits = llvm::to_vector(others.drop_front(2));
  Value number = loop.getInductionVar(), turn = number;
  if (blocksInTurn > 1)
    number = make.add(make.mul(turn, i32(blocksInTurn)), group);
  SmallVector<Value> nextWords;
  if (hasWords())
    nextWords = wordsOf(make.add(number, i32(blocksInTurn)), 1);
  addTurn(turn, number, readAt, writeAt);
  levels.placeAtEnd(1);
  auto following = [&](Value offset) {
    Value moved = make.add(offset, i32(stageBytes));
    return make.select(make.equal(moved, i32(listAt)), i32(rowBytes), moved);
  };
  SmallVector<Value> yielded = allOf(running);
  yielded.push_back(following(readAt));
  yielded.push_back(following(writeAt));
  llvm::append_range(yielded, nextWords);
  scf::YieldOp::create(make.builder, make.location, yielded);
  take(loop.getResults());
  levels.resume(0);
}

/// Waits for what was staged, has more staged, and adds the block that is taken as `number`th.
void StreamedSoftmax::addTurn(Value turn, Value number, Value readAt, Value writeAt) {
  levels.placeAtEnd(1);
  bool isEachOpen = (blocksInTurn == 1 || isApart) && (!order.list || rowGroups == 1);
  Places places;
  if (isEachOpen)
    places = placesOf(blockOf(entryAt(number)));
  levels.placeAtEnd(1);
  scores.units.waitForAllBut(ahead - 1);
  waitForStaged();
  stageIfThere(make.add(turn, i32(ahead)), writeAt);
  levels.placeAtEnd(1);
  if (isEachOpen)
    addBlock(readAt, places);
  else
    addIfOpen(readAt, number);
}

void StreamedSoftmax::addBlock(Value readAt, const Places &places) {
  levels.placeAtEnd(inner);
  Scores ofBlock = scoresOf(readAt);
  finishScores(places, ofBlock);
  levels.placeAtEnd(inner);
  PerRow base;
  rescale(ofBlock, running, base);
  toPowers(ofBlock, base, running);
  addWeighted(readAt, ofBlock, running);
}

/// Where several groups of rows share a tile, some may have nothing in a block; where groups of
/// warps have blocks of their own, the last turn may have none for some.
void StreamedSoftmax::addIfOpen(Value readAt, Value number) {
  SmallVector<Value> before = allOf(running);
  Value entry = entryAt(number), block = blockOf(entry);
  Value adds = rowGroups > 1 ? isOpenHere(entry) : Value();
  if (blocksInTurn > 1 && !isApart) {
    Value isThere = make.lessUnsigned(number, order.count);
    adds = adds ? make.bitAnd(adds, isThere) : isThere;
  }
  auto choice =
      scf::IfOp::create(make.builder, make.location, ValueRange(before).getTypes(), adds, true);
  levels.loopCreated(1, choice);
  levels.enter(2, choice.thenBlock());
  inner = 2;
  addBlock(readAt, placesOf(block));
  levels.placeAtEnd(2);
  scf::YieldOp::create(make.builder, make.location, allOf(running));
  make.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(make.builder, make.location, before);
  take(choice.getResults());
  levels.resume(1);
}

StreamedSoftmax::Scores StreamedSoftmax::scoresOf(Value offset) {
  size_t count = own / eight;
  Scores sums(count);
  int64_t sixteens = scores.matrix.getDepth() / 16;
  if (scores.inFours) {
    SmallVector<WarpGroups::Product> products;
    for (int64_t step = 0; step < scores.steps; ++step)
      for (int64_t sixteen = 0; sixteen < sixteens; ++sixteen)
        products.push_back({0, step * rowStep + scores.furtherIn(scores.rows, 0, sixteen),
                            step * columnStep + scores.furtherIn(scores.columns, 0, sixteen)});
    scores.warps.multiplyNow(sums, scores.rows.described, scores.rows.layout(),
                             scores.warps.moved(scores.columns.described, offset),
                             scores.columns.layout(), products);
    return sums;
  }
  for (MatrixUnits::Results &each : sums)
    each.fill(f32(0));
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

/// The number of two of which one may be NaN: such a row's total is NaN whatever its maximum is.
Value StreamedSoftmax::greater(Value a, Value b) {
  return arith::MaxNumFOp::create(make.builder, make.location, a, b);
}

static Value powerOfTwo(Emit &make, Value exponent) {
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, make.builder.getF32Type(),
                                       make.builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"),
                                       exponent)
      .getResults();
}

/// exp(x - base); the difference first, since a hidden score may be the type's lowest number.
Value StreamedSoftmax::power(Value x, Value base) {
  return powerOfTwo(make, make.mul(make.sub(x, base), f32(slope)));
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

/// Terms that have a form are no lowest numbers, so that one instruction is enough for exponents.
void StreamedSoftmax::toPowers(Scores &all, const PerRow &base, Running &running) {
  PerRow taken;
  for (unsigned row = 0; row < rowsAThread; ++row)
    taken[row] = make.mul(base[row], f32(-slope));
  for (MatrixUnits::Results &each : all)
    for (unsigned row = 0; row < rowsAThread; ++row)
      for (unsigned side : {0, 1}) {
        Value &score = each[2 * row + side];
        score = form ? powerOfTwo(make, make.fma(score, f32(slope), taken[row]))
                     : power(score, base[row]);
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

/// Powers of sixteen columns as the rows of a product.
MatrixUnits::Fragment StreamedSoftmax::fragmentOf(const Scores &powers, int64_t sixteen) {
  MatrixUnits::Fragment rows;
  for (unsigned half : {0, 1}) {
    const MatrixUnits::Results &each = powers[2 * sixteen + half];
    rows[2 * half] = packed(each[0], each[1]);
    rows[2 * half + 1] = packed(each[2], each[3]);
  }
  return rows;
}

void StreamedSoftmax::addWeighted(Value offset, const Scores &powers, Running &running) {
  SmallVector<MatrixUnits::Fragment> rows;
  for (int64_t sixteen = 0; sixteen < own / 16; ++sixteen)
    rows.push_back(fragmentOf(powers, sixteen));
  if (weighted.inFours) {
    SmallVector<WarpGroups::Product> products;
    for (int64_t sixteen = 0; sixteen < own / 16; ++sixteen)
      products.push_back({0, 0, weighted.furtherIn(weighted.columns, 0, sixteen)});
    return weighted.warps.multiplyNow(running.sums, rows,
                                      weighted.warps.moved(weighted.columns.described, offset),
                                      weighted.columns.layout(), products);
  }
  Value stage = weighted.units.atByte(weighted.ring, offset);
  for (int64_t sixteen = 0; sixteen < own / 16; ++sixteen)
    for (size_t pair = 0; pair < running.sums.size() / 2; ++pair) {
      MatrixUnits::Fragment columns = weighted.load(weighted.columns, stage, pair, sixteen);
      for (bool second : {false, true}) {
        MatrixUnits::Results &sum = running.sums[2 * pair + second];
        sum = weighted.units.multiply(rows[sixteen], columns, second, sum);
      }
    }
}

} // namespace kintsugi::targets
