#include "targets/nvidia/matrix_nest.h"

#include "loops/schedule.h"
#include "targets/elementwise.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t chunk = 8; ///< Elements in 16 bytes.
static constexpr int64_t warp = 32;

SmallVector<tile::ReadOp> readsOf(Value value) {
  SmallVector<Value> pending{value};
  SmallVector<tile::ReadOp> reads;
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto read = dyn_cast<tile::ReadOp>(op))
      reads.push_back(read);
    llvm::append_range(pending, op->getOperands());
  }
  return reads;
}

MatrixNest::MatrixNest(KernelScope &scope, tile::ComputeOp nest, const BlockFrame &frame,
                       Levels &levels)
    : scope(scope), nest(nest), matrix(*nest.getMatrix()), make(scope.builder), levels(levels),
      units(scope.builder, matrix.getElement()), warps(scope.builder, matrix.getElement()),
      bulk(scope.builder), resources(frame.bulk),
      cluster(scope.builder, blocksOf(matrix, frame.isHopper)),
      inFours(frame.isHopper && matrix.getInFours()), thread(scope.threads->number),
      threads(scope.threads->count), resultRows(matrix.getRows() / matrix.getDown() / 16),
      resultColumns(matrix.getColumns() / matrix.getAcross() / 8) {
  levels.placeAtEnd(0);
  group();
  stages = stagesWithin(frame.scratchBytes);
  stepsAhead = inFours && stages > 2 ? stages - 2 : stages - 1; // See loops::MatrixTile::ahead.
  ring = units.atByte(units.sharedPointer(frame.scratch), matrix.getRing());
}

/// Iterators by what they change: rows, columns, both factors, the sum.
void MatrixNest::group() {
  auto product =
      nest.getBody().front().getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  assert(product && "a nest of products");
  Value factors[2] = {product.getLhs(), product.getRhs()};
  unsigned ofColumns = matrix.getColumnsFactor();
  groups.resize(PointValues::numGroups);
  auto add = [&](Group group, unsigned iterator) {
    groups[group].iterators.push_back(iterator);
    groups[group].extents.push_back(nest.extentOf(iterator));
  };
  PointValues bare(scope, nest, levels, {});
  for (unsigned k = 0; k < nest.numParallel(); ++k) {
    bool inRows = bare.dependsOn(factors[1 - ofColumns], k);
    bool inColumns = bare.dependsOn(factors[ofColumns], k);
    add(inRows && inColumns ? Batch : inColumns ? Columns : Rows, k);
  }
  for (unsigned k = nest.numParallel(); k < nest.numIterators(); ++k)
    add(Depth, k);
  values.emplace(scope, nest, levels, groups);
  rows.group = Rows;
  rows.factor = factors[1 - ofColumns];
  rows.size = matrix.getRows();
  columns.group = Columns;
  columns.factor = factors[ofColumns];
  columns.size = matrix.getColumns();
  steps = llvm::divideCeil(groups[Depth].points(), matrix.getDepth());
  mostSteps = llvm::divideCeil(steps, cluster.blocks);
  for (Operand *operand : {&rows, &columns})
    chooseMoves(*operand);
  if (inFours && matrix.getInBulk() && resources)
    chooseBoxes();
  rows.offset = 0;
  columns.offset = rows.bytes();
  stageBytes = columns.offset + columns.bytes();
}

/// As the tile has it, or where devices may have less memory than it was chosen for as many as fit:
/// of a product of its own. Attention has another ring, of which loops::streamBytes tells.
int64_t MatrixNest::stagesWithin(int64_t scratchBytes) const {
  int64_t all = matrix.getStages();
  if (inFours || !matrix.getInFours())
    return all;
  return std::min(all, (scratchBytes - int64_t(matrix.getRing())) / stageBytes);
}

/// Lines follow the iterator along which all reads of a factor lie side by side. Those of terms
/// have 2 to the power of something points: others have lines of points, however they lie.
void MatrixNest::chooseMoves(Operand &operand) {
  if (auto widened = operand.factor.getDefiningOp<arith::ExtFOp>())
    if (widened.getIn().getType() == matrix.getElement())
      operand.factor = widened.getIn();
  SmallVector<tile::ReadOp> reads = readsOf(operand.factor);
  auto liesAlong = [&](Group group) {
    unsigned last = groups[group].iterators.back();
    bool moves = false;
    for (tile::ReadOp read : reads) {
      std::optional<int64_t> stride = values->strideOf(read, last);
      if (stride != 0 && stride != 1)
        return false;
      moves |= stride == 1;
    }
    return moves;
  };
  auto isWhole = [&](Group group) { return groups[group].extents.back() % chunk == 0; };
  bool alongDepth = liesAlong(Depth), alongPoints = liesAlong(operand.group);
  operand.alongDepth = !alongPoints || !llvm::isPowerOf2_64(operand.size) ||
                       (alongDepth && (isWhole(Depth) || !isWhole(operand.group)));
  operand.inChunks = (operand.alongDepth ? alongDepth : alongPoints) &&
                     isWhole(operand.alongDepth ? Depth : operand.group);
  int64_t depth = matrix.getDepth();
  operand.lines = operand.alongDepth ? operand.size : depth;
  operand.chunks = (operand.alongDepth ? depth : operand.size) / chunk;
  operand.pitch =
      matrix.getInFours() ? std::min<int64_t>(operand.chunks * 16, 128) : operand.chunks * 16 + 16;
  if (isDirect(operand))
    operand.direct = operand.factor.getDefiningOp<tile::ReadOp>();
}

bool MatrixNest::isDirect(const Operand &operand) const {
  auto read = operand.factor.getDefiningOp<tile::ReadOp>();
  if (!read || !operand.inChunks || read.getElement().getType() != matrix.getElement() ||
      cast<MemRefType>(read.getBuffer().getType()).getMemorySpaceAsInt() != 0)
    return false;
  unsigned along = groups[operand.alongDepth ? Depth : operand.group].iterators.back();
  return values->strideOf(read, along) == 1 &&
         (!read.getMask() || !values->dependsOn(read.getMask(), along));
}

Value MatrixNest::least(Value a, int64_t most) {
  Value limit = i32(most);
  return make.select(make.lessUnsigned(a, limit), a, limit);
}

void MatrixNest::emit() {
  assert(stages >= std::min<int64_t>(2, matrix.getStages()) && "see loops::BlockMemory::elsewhere");
  findLanes();
  findSteps();
  emitPasses();
}

/// Blocks of a cluster have as many steps each, or one more.
void MatrixNest::findSteps() {
  if (cluster.blocks == 1)
    return;
  levels.placeAtEnd(0);
  auto cut = [&](Value rank) {
    return make.shiftRight(make.mul(rank, i32(steps)), llvm::Log2_64(cluster.blocks));
  };
  Value rank = cluster.rank();
  firstStep = cut(rank);
  numSteps = make.sub(cut(make.add(rank, i32(1))), firstStep);
}

/// What this thread of its warp tells the units (matrix_units.h), and which results it has.
void MatrixNest::findLanes() {
  levels.placeAtEnd(0);
  Value number = make.shiftRight(thread, 5);
  if (inFours)
    number = warps.uniform(number);
  int64_t shares = matrix.getDown() * matrix.getAcross(), four = matrix.getInFours() ? 4 : 1;
  share = make.bitAnd(number, i32(shares - 1));
  warpK = make.shiftRight(number, llvm::Log2_64(shares));
  number = make.shiftRight(share, llvm::Log2_64(four));
  Value down = make.shiftRight(number, llvm::Log2_64(matrix.getAcross()));
  Value across = make.bitAnd(number, i32(matrix.getAcross() - 1));
  Value firstRow = make.mul(down, i32(matrix.getRows() / matrix.getDown() * four));
  Value firstColumn = make.mul(across, i32(matrix.getColumns() / matrix.getAcross()));
  if (inFours) {
    Value firstTerm = make.shiftLeft(warpK, 4);
    describe(rows, firstRow, firstTerm);
    describe(columns, firstColumn, firstTerm);
  }
  firstRow = make.add(firstRow, make.shiftLeft(make.bitAnd(share, i32(four - 1)), 4));
  findLanesAt(firstRow, firstColumn, make.shiftLeft(warpK, 4));
}

/// The same of a warp whose share begins at those places.
void MatrixNest::findLanesAt(Value firstRow, Value firstColumn, Value firstTerm) {
  Value lane = make.bitAnd(thread, i32(warp - 1));
  if (!inFours) {
    findLanesOf(rows, firstRow, firstTerm, lane);
    findLanesOf(columns, firstColumn, firstTerm, lane);
  }
  laneRow = make.add(firstRow, make.shiftRight(lane, 2));
  laneColumn = make.add(firstColumn, make.shiftLeft(make.bitAnd(lane, i32(3)), 1));
  Value odd = make.bitAnd(lane, i32(1));
  laneFour = make.add(make.add(firstColumn, make.shiftLeft(make.bitAnd(lane, i32(2)), 1)),
                      make.shiftLeft(odd, 3));
  isOdd = make.equal(odd, i32(1));
}

/// Of the operand's points, the warp has those from the `first` on.
void MatrixNest::findLanesOf(Operand &operand, Value first, Value firstTerm, Value lane) {
  Value low3 = make.bitAnd(lane, i32(7)), low4 = make.bitAnd(lane, i32(15));
  Value bit3 = make.bitAnd(make.shiftRight(lane, 3), i32(1)), bit4 = make.shiftRight(lane, 4);
  Value low3bit4 = make.add(low3, make.shiftLeft(bit4, 3));
  bool isRows = operand.group == Rows, turned = matrix.getInFours();
  int64_t warpsK = matrix.getWarpsK(), depth = matrix.getDepth();
  if (operand.alongDepth) {
    Value line = make.add(first, isRows ? low4 : low3bit4);
    Value element = make.add(make.shiftLeft(isRows ? bit4 : bit3, 3), firstTerm);
    for (int64_t at = 0; at < (turned ? depth : 1); at += 16 * warpsK)
      operand.lanes.push_back(placeIn(operand, line, make.add(element, i32(at))));
    return;
  }
  Value line = make.add(isRows ? low3bit4 : low4, firstTerm);
  Value element = make.add(first, make.shiftLeft(isRows ? bit3 : bit4, 3));
  int64_t points = operand.size / (isRows ? matrix.getDown() : matrix.getAcross());
  for (int64_t block = 0; block < (turned ? points / 16 : 1); ++block)
    operand.lanes.push_back(
        placeIn(operand, line, make.add(element, i32(block * blockOf(operand)))));
}

/// Bytes from an operand's start in a stage.
Value MatrixNest::placeIn(const Operand &operand, Value line, Value element) {
  Value at = make.mul(line, i32(operand.pitch)), bytes = make.shiftLeft(element, 1);
  if (!matrix.getInFours())
    return make.add(at, bytes);
  at = make.add(at, make.bitAnd(bytes, i32(operand.pitch - 1)));
  Value turn = make.bitAnd(make.shiftRight(at, 7), i32(operand.pitch / 16 - 1));
  at = make.bitXor(at, make.shiftLeft(turn, 4));
  if (operand.chunks * 16 <= operand.pitch)
    return at;
  return make.add(
      at, make.mul(make.shiftRight(bytes, llvm::Log2_64(operand.pitch)), i32(operand.apart())));
}

/// From the first block's first terms to others, for four warps.
int64_t MatrixNest::furtherIn(const Operand &operand, int64_t block, int64_t sixteen) const {
  int64_t along = operand.alongDepth ? sixteen * 32 : block * blockOf(operand) * 2;
  int64_t line = operand.alongDepth ? block * blockOf(operand) : sixteen * 16;
  return line * operand.pitch + along / operand.pitch * operand.apart() + along % operand.pitch;
}

/// A warp's terms go on in the same 128 bytes: it has one, two or four of the sixteens there.
void MatrixNest::describe(Operand &operand, Value first, Value terms) {
  Value start = units.atByte(ring, operand.offset);
  Value line = operand.alongDepth ? first : terms;
  Value bytes = make.shiftLeft(operand.alongDepth ? terms : first, 1);
  Value at =
      make.add(make.mul(line, i32(operand.pitch)), make.bitAnd(bytes, i32(operand.pitch - 1)));
  Value beyond = make.shiftRight(bytes, llvm::Log2_64(operand.pitch));
  at = make.add(at, make.mul(beyond, i32(operand.apart())));
  operand.described = warps.operandAt(units.atByte(start, at), operand.layout());
}

void MatrixNest::emitPasses() {
  int64_t down = llvm::divideCeil(groups[Rows].points(), rows.size);
  int64_t across = llvm::divideCeil(groups[Columns].points(), columns.size);
  int64_t passes = down * across * groups[Batch].points();
  levels.placeAtEnd(0);
  if (hasBoxes())
    arrivals = units.sharedPointer(resources->arrivals(stages));
  if (passes == 1) {
    if (hasBoxes() && !isFirstNest())
      releaseRing();
    batch = values->split(groups[Batch], i32(0), 0, 0, 0);
    return emitPass();
  }
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), i32(passes), i32(1));
  levels.loopCreated(0, loop);
  levels.enter(1, loop.getBody());
  passLevel = 1;
  levels.place(1);
  Value pass = loop.getInductionVar();
  auto digit = [&](int64_t extent) -> Value {
    if (extent == 1)
      return {};
    Value number = arith::RemUIOp::create(make.builder, make.location, pass, i32(extent));
    pass = arith::DivUIOp::create(make.builder, make.location, pass, i32(extent));
    return number;
  };
  if (Value number = digit(across))
    columnStart = make.mul(number, i32(columns.size));
  if (Value number = digit(down))
    rowStart = make.mul(number, i32(rows.size));
  batch = values->split(groups[Batch], pass, 1, 1, 0);
  releaseRing();
  if (hasBoxes())
    restartArrivals();
  emitPass();
}

/// Until nobody reads it any more, nor what was there before.
void MatrixNest::releaseRing() {
  if (hasBoxes())
    warps.publish();
  scope.threads->wait(make.builder);
}

void MatrixNest::emitPass() {
  fillRing();
  Sums sums = emitSteps();
  resultLevel = passLevel;
  if (parts() == 1)
    return storeResults(sums);
  leaveSums(sums);
  joinParts();
}

/// The steps ahead of the first.
void MatrixNest::fillRing() {
  int64_t ahead = stepsAhead, filled = std::min(ahead, mostSteps);
  unsigned level = passLevel + 1;
  levels.placeAtEnd(passLevel);
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), i32(filled), i32(1));
  levels.loopCreated(passLevel, loop);
  levels.enter(level, loop.getBody());
  levels.place(level);
  Value number = loop.getInductionVar();
  Value place = make.mul(number, i32(placesApart()));
  bool areAll = filled <= steps / cluster.blocks;
  stageIf(areAll ? Value() : make.lessUnsigned(number, numSteps), number, place, level);
  levels.placeAtEnd(level);
  commit();
  levels.resume(passLevel);
  levels.placeAtEnd(passLevel);
  for (int64_t empty = filled; empty < ahead; ++empty)
    commit();
}

/// Ends a step's copies of this thread's own.
void MatrixNest::commit() {
  if (!hasBoxes())
    units.commit();
}

/// Stages a step of this block's where the condition holds; null: it does.
void MatrixNest::stageIf(Value condition, Value number, Value place, unsigned level) {
  Value step = firstStep ? make.add(firstStep, number) : number;
  if (!condition)
    return stage(step, place, level);
  auto choice = scf::IfOp::create(make.builder, make.location, condition, false);
  levels.loopCreated(level, choice);
  levels.enter(level + 1, choice.thenBlock());
  stage(step, place, level + 1);
  levels.resume(level);
}

MatrixNest::Sums MatrixNest::emitSteps() {
  int64_t ahead = stepsAhead, apart = placesApart();
  unsigned level = passLevel + 1;
  size_t count = size_t(resultRows) * resultColumns;
  Value end = numSteps ? numSteps : i32(steps);
  levels.placeAtEnd(passLevel);
  SmallVector<Value> carried(count * 4, make.number(make.builder.getF32Type(), 0));
  carried.push_back(i32(0));
  carried.push_back(i32(ahead * apart));
  if (hasBoxes())
    carried.push_back(i32(0)); // The parity of what is waited for.
  auto loop = scf::ForOp::create(make.builder, make.location, i32(0), end, i32(1), carried);
  levels.loopCreated(passLevel, loop);
  levels.enter(level, loop.getBody());
  levels.placeAtEnd(level);
  ValueRange arguments = loop.getRegionIterArgs();
  Sums sums(count);
  for (size_t k = 0; k < count * 4; ++k)
    sums[k / 4][k % 4] = arguments[k];
  Value readAt = arguments[count * 4], writeAt = arguments[count * 4 + 1];
  if (!hasBoxes()) {
    units.waitForAllBut(ahead - 1);
    if (inFours)
      warps.publish();
  }
  scope.threads->wait(make.builder);
  auto stageNext = [&] {
    if (mostSteps > ahead) {
      Value next = make.add(loop.getInductionVar(), i32(ahead));
      stageIf(make.lessUnsigned(next, end), next, writeAt, level);
    }
    levels.placeAtEnd(level);
    commit();
  };
  if (hasBoxes()) { // To be asked for ahead of products, which a thread waits to start.
    stageNext();
    bulk.waitFor(arrivalOf(readAt), arguments[count * 4 + 2]);
  }
  if (inFours)
    startStep(offsetOf(readAt), sums);
  if (!hasBoxes())
    stageNext();
  if (inFours) // What is under way reads the stage that comes last in the ring.
    warps.waitForAllBut(stages - 1 - ahead);
  else
    multiplyStep(readAt, sums);
  auto following = [&](Value place) {
    Value next = make.add(place, i32(apart));
    return make.select(make.equal(next, i32(stages * apart)), i32(0), next);
  };
  SmallVector<Value> yielded;
  for (const MatrixUnits::Results &each : sums)
    llvm::append_range(yielded, each);
  yielded.push_back(following(readAt));
  yielded.push_back(following(writeAt));
  if (hasBoxes()) {
    Value parity = arguments[count * 4 + 2];
    Value starts = make.equal(yielded[count * 4], i32(0));
    yielded.push_back(make.select(starts, make.bitXor(parity, i32(1)), parity));
  }
  scf::YieldOp::create(make.builder, make.location, yielded);
  for (size_t k = 0; k < count * 4; ++k)
    sums[k / 4][k % 4] = loop.getResult(k);
  levels.resume(passLevel);
  if (inFours) {
    levels.placeAtEnd(passLevel);
    warps.finish(sums);
  }
  return sums;
}

/// Four warps start on a step's products.
void MatrixNest::startStep(Value offset, Sums &sums) {
  SmallVector<WarpGroups::Product> products;
  for (int64_t sixteen = 0; sixteen < matrix.getDepth() / 16; sixteen += matrix.getWarpsK())
    for (int64_t block = 0; block < matrix.getRows() / matrix.getDown() / 16; ++block)
      products.push_back(
          {unsigned(block), furtherIn(rows, block, sixteen), furtherIn(columns, 0, sixteen)});
  warps.multiply(sums, matrix.getColumns() / matrix.getAcross(),
                 warps.moved(rows.described, offset), rows.layout(),
                 warps.moved(columns.described, offset), columns.layout(), products);
}

void MatrixNest::multiplyStep(Value offset, Sums &sums) {
  unsigned down = matrix.getRows() / matrix.getDown() / 16;
  unsigned across = matrix.getColumns() / matrix.getAcross() / 16;
  Value stage = units.atByte(ring, offset);
  for (int64_t sixteen = 0; sixteen < matrix.getDepth() / 16; sixteen += matrix.getWarpsK()) {
    SmallVector<MatrixUnits::Fragment> left, right;
    for (unsigned block = 0; block < down; ++block)
      left.push_back(load(rows, stage, block, sixteen));
    for (unsigned block = 0; block < across; ++block)
      right.push_back(load(columns, stage, block, sixteen));
    for (unsigned i = 0; i < down; ++i)
      for (unsigned j = 0; j < 2 * across; ++j) {
        MatrixUnits::Results &sum = sums[i * 2 * across + j];
        sum = units.multiply(left[i], right[j / 2], j % 2, sum);
      }
  }
}

MatrixUnits::Fragment MatrixNest::load(const Operand &operand, Value stage, int64_t block,
                                       int64_t sixteen) {
  bool alongDepth = operand.alongDepth, turned = matrix.getInFours();
  int64_t line = alongDepth ? block * blockOf(operand) : sixteen * 16;
  int64_t element = turned ? 0 : (alongDepth ? sixteen : block) * 16;
  Value lane = operand.lanes[!turned ? 0 : alongDepth ? sixteen / matrix.getWarpsK() : block];
  int64_t at = operand.offset + line * operand.pitch + element * 2;
  return units.load(units.atByte(units.atByte(stage, lane), at), !alongDepth);
}

} // namespace kintsugi::targets
