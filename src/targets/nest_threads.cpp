//===- nest_threads.cpp - A nest shared by a block of threads -------------===//

#include "targets/nest_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using kintsugi::tile::ComputeOp;

namespace kintsugi::targets {

static int64_t accumulatorBytes(ComputeOp nest) {
  int64_t bytes = 0;
  for (Type type : nest.accumulatorTypes())
    bytes = std::max<int64_t>(bytes, llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
  return bytes;
}

int64_t exchangeBytes(ComputeOp nest, int64_t threads, bool neighbours) {
  tile::RegistersAttr registers = nest.getRegisters();
  int64_t spread = registers.getLanes() * registers.getApart();
  if (registers.getLanes() == 1 || (neighbours && spread <= Threads::neighbours))
    return 0;
  if (neighbours && registers.getApart() == 1)
    threads /= Threads::neighbours;
  return threads * accumulatorBytes(nest) * registers.getRows() * registers.getColumns() *
         int64_t(nest.accumulatorTypes().size());
}

/// Loops whose ends a table says are every thread's; the blocks of points inside are spread.
void NestEmitter::emitOverThreads() {
  findChoices();
  unsigned level = 0;
  for (unsigned iterator = 0; iterator < numParallel; ++iterator) {
    std::optional<Run> bounded = boundedRun(iterator);
    if (!bounded)
      continue;
    levels.placeAtEnd(level);
    auto loop = scf::ForOp::create(make.builder, make.location, bounded->begin, bounded->end,
                                   make.integer(make.builder.getI64Type(), 1));
    levels.loopCreated(level, loop);
    levels.enter(++level, loop.getBody());
    setStart(iterator, level, loop.getInductionVar(), 0, 1);
  }
  emitOwnBlocks(level);
}

/// Threads are (outer groups, lanes of a sum, groups between two lanes), the last one side by side.
Value NestEmitter::laneNumber() {
  Value number = make.shiftRight(scope.threads->number, llvm::Log2_32(splitApart));
  return make.bitAnd(number, make.integer(number.getType(), splitLanes - 1));
}

Value NestEmitter::groupNumber() {
  Value number = scope.threads->number;
  if (splitLanes == 1)
    return number;
  Type i32 = number.getType();
  Value outer = make.shiftRight(number, llvm::Log2_32(splitApart * splitLanes));
  Value inner = make.bitAnd(number, make.integer(i32, splitApart - 1));
  return make.add(make.shiftLeft(outer, llvm::Log2_32(splitApart)), inner);
}

int64_t NestEmitter::blocksOfAll() {
  int64_t blocks = 1;
  for (unsigned iterator = 0; iterator < numParallel; ++iterator)
    if (nest.boundedPosition(iterator) < 0)
      blocks *= blocksAlong(iterator);
  return blocks;
}

/// That blocks are counted in.
Type NestEmitter::countType() {
  bool isWide = blocksOfAll() + scope.threads->count > INT32_MAX;
  return make.builder.getIntegerType(isWide ? 64 : 32);
}

/// Real threads each run the code; a worker that stands for them goes from one to the next.
void NestEmitter::forEachThread(unsigned level, llvm::function_ref<void(unsigned)> emit) {
  if (scope.threads->areReal())
    return emit(level);
  levels.placeAtEnd(level);
  Type i32 = make.builder.getI32Type();
  auto loop = scf::ForOp::create(make.builder, make.location, make.integer(i32, 0),
                                 make.integer(i32, scope.threads->count), make.integer(i32, 1));
  levels.loopCreated(level, loop);
  levels.enter(level + 1, loop.getBody());
  levels.place(level + 1);
  scope.threads->number = loop.getInductionVar();
  emit(level + 1);
  levels.resume(level);
}

/// All that the body reads at this block of points, ahead of what is made of it: a GPU waits for a
/// value where it is needed first, and stores keep later reads behind them.
void NestEmitter::readBlock() {
  for (Operation &op : nest.getBody().front()) {
    bool isRead = isa<tile::ReadOp>(op) && !partsOfChoices.contains(&op);
    if (!isRead && !choices.contains(&op))
      continue;
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned vector = 0; vector < vectors; ++vector)
        evaluate(op.getResult(0), {row, vector});
  }
}

/// Block after block, as many at a time as there are threads.
void NestEmitter::emitOwnBlocks(unsigned level) {
  if (splitIterator >= 0)
    return emitSharedBlocks(level);
  forEachThread(level, [&](unsigned inner) {
    int64_t blocks = blocksOfAll(), threads = scope.threads->count, together = 1;
    if (!nest.isReduction())
      together = loops::blocksTogether(blocks, threads, int64_t(rows) * vectors);
    assert(together <= mostBlocksTogether && "levels enough");
    levels.placeAtEnd(inner);
    Type type = countType();
    Value first = make.resize(scope.threads->number, type);
    Block *block = levels.block(inner);
    if (blocks != together * threads) {
      auto loop = scf::ForOp::create(make.builder, make.location, first, make.integer(type, blocks),
                                     make.integer(type, threads * together));
      levels.loopCreated(inner, loop);
      first = loop.getInductionVar();
      block = loop.getBody();
    }
    llvm::SmallVector<llvm::SmallVector<IteratorState>> copies;
    for (int64_t copy = 0; copy < together; ++copy) {
      unsigned own = inner + 1 + copy;
      levels.enter(own, block);
      levels.place(own);
      Value number = copy ? make.add(first, make.integer(type, copy * threads)) : first;
      setBlock(number, own);
      if (!nest.isReduction())
        readBlock();
      copies.push_back(iterators);
    }
    for (auto [copy, starts] : llvm::enumerate(copies)) {
      iterators = starts;
      pointLevel = inner + 1 + copy;
      emitPoint(pointLevel);
    }
  });
}

/// The same for groups of threads that share a sum. All stay to the end, since they wait for each
/// other; what is past the last block is not stored.
void NestEmitter::emitSharedBlocks(unsigned level) {
  Type type = countType();
  int64_t blocks = blocksOfAll(), groups = scope.threads->count / splitLanes;
  levels.placeAtEnd(level);
  if (blocks <= groups) {
    Block *block = levels.block(level);
    levels.enter(level + 1, block);
    return emitSharedBlock(level + 1, make.integer(type, 0));
  }
  auto loop = scf::ForOp::create(make.builder, make.location, make.integer(type, 0),
                                 make.integer(type, blocks), make.integer(type, groups));
  levels.loopCreated(level, loop);
  levels.enter(level + 1, loop.getBody());
  emitSharedBlock(level + 1, loop.getInductionVar());
}

void NestEmitter::emitSharedBlock(unsigned level, Value round) {
  if (scope.threads->areReal()) {
    setSharedBlock(level, round);
    Accumulators accumulators = reduceAt(level);
    joinThreads(accumulators);
    return emitResults(accumulators);
  }
  forEachThread(level, [&](unsigned inner) {
    setSharedBlock(inner, round);
    leave(reduceAt(inner), scope.threads->number);
  });
  for (unsigned half = splitLanes / 2; half > 0; half /= 2)
    forEachThread(level, [&](unsigned) { joinInMemory(half); });
  forEachThread(level, [&](unsigned inner) {
    setSharedBlock(inner, round);
    emitResults(fetch(scope.threads->number));
  });
}

void NestEmitter::setSharedBlock(unsigned level, Value round) {
  Type type = round.getType();
  levels.place(level);
  Value number = make.add(round, make.resize(groupNumber(), type));
  int64_t blocks = blocksOfAll();
  Value last = make.integer(type, blocks - 1);
  Value isFirstLane = make.equal(laneNumber(), make.integer(make.builder.getI32Type(), 0));
  storesHere = make.bitAnd(isFirstLane, make.lessUnsigned(number, make.integer(type, blocks)));
  pointLevel = level;
  setBlock(make.select(make.lessUnsigned(number, last), number, last), level);
}

/// Fixes the iterators to a block by its number, neighbours along the last one. Where an extent is
/// no multiple, the last block starts earlier and computes some points again.
void NestEmitter::setBlock(Value number, unsigned level) {
  for (unsigned iterator = numParallel; iterator-- > 0;) {
    if (nest.boundedPosition(iterator) >= 0)
      continue;
    int64_t blocks = blocksAlong(iterator), step = stepAlong(iterator);
    if (blocks == 1) {
      setStart(iterator, 0, {}, 0, 0);
      continue;
    }
    levels.place(level);
    Value count = make.integer(number.getType(), blocks);
    Value start = arith::RemUIOp::create(make.builder, make.location, number, count);
    number = arith::DivUIOp::create(make.builder, make.location, number, count);
    start = make.mul(start, make.integer(start.getType(), step));
    int64_t extent = iterators[iterator].extent, last = extent - step;
    if (extent % step != 0) {
      Value end = make.integer(start.getType(), last);
      start = make.select(make.lessUnsigned(start, end), start, end);
    }
    if (start.getType().getIntOrFloatBitWidth() < 64)
      start = arith::ExtUIOp::create(make.builder, make.location, make.builder.getI64Type(), start);
    setStart(iterator, level, start, 0, extent % step == 0 ? step : std::gcd(step, last));
  }
}

/// So many steps of a sum at a time, whose moves are under way together; what is left of them
/// without a loop.
void NestEmitter::emitThreadReduction(unsigned iterator, unsigned level,
                                      Accumulators &accumulators) {
  if (static_cast<int>(iterator) == splitIterator)
    return emitSharedReduction(iterator, level, accumulators);
  int64_t extent = iterators[iterator].extent;
  bool isInnermost = iterator + 1 == iterators.size();
  std::optional<Run> bounded = boundedRun(iterator);
  levels.placeAtEnd(level);
  if (bounded)
    return emitReductionLoop(iterator, level, *bounded, 1, accumulators, {0});
  int64_t together = isInnermost ? stepsTogether(1) : 1;
  bool isUnrolled = iterators.size() - iterator <= size_t(nest.getRegisters().getUnroll());
  int64_t inLoop = isUnrolled || extent <= together ? 0 : extent / together * together;
  if (inLoop > 0)
    emitReductionLoop(iterator, level, constantRun(inLoop), together, accumulators,
                      llvm::to_vector(llvm::seq<int64_t>(0, together)));
  for (int64_t index = inLoop; index < extent; ++index)
    emitReductionAt(iterator, level, index, accumulators);
}

/// Each lane has `run` terms in a row, then those that lie all lanes' runs further, and in the end
/// single ones.
void NestEmitter::emitSharedReduction(unsigned iterator, unsigned level,
                                      Accumulators &accumulators) {
  constexpr int64_t mostInRow = 128; // Of terms without a loop.
  Type i64 = make.builder.getI64Type();
  int64_t extent = iterators[iterator].extent, run = splitRun, step = run * splitLanes;
  int64_t steps = extent / step, together = stepsTogether(run);
  int64_t results = int64_t(rows) * vectors;
  int64_t inLoop = steps * run * results <= mostInRow ? 0 : steps / together * together;
  levels.placeAtEnd(level);
  Value lane = arith::ExtUIOp::create(make.builder, make.location, i64, laneNumber());
  Value first = run > 1 ? make.mul(lane, make.integer(i64, run)) : lane;
  if (inLoop > 0) {
    llvm::SmallVector<int64_t> offsets;
    for (int64_t copy = 0; copy < together; ++copy)
      for (int64_t term = 0; term < run; ++term)
        offsets.push_back(copy * step + term);
    emitReductionLoop(iterator, level, {first, make.integer(i64, inLoop * step)}, step * together,
                      accumulators, offsets, run);
  }
  for (int64_t number = inLoop; number < steps; ++number)
    for (int64_t term = 0; term < run; ++term) {
      levels.resume(level);
      setStart(iterator, level, first, number * step + term, run);
      emitReduction(iterator + 1, level, accumulators);
    }
  int64_t done = steps * step;
  if (extent == done)
    return;
  levels.resume(level);
  if ((extent - done) * results <= mostInRow * splitLanes)
    return emitSharedRest(iterator, level, lane, done, accumulators);
  levels.placeAtEnd(level);
  Value rest = make.add(lane, make.integer(i64, done));
  emitReductionLoop(iterator, level, {rest, make.integer(i64, extent)}, splitLanes, accumulators,
                    {0}, 1);
}

/// Terms from `done` on, one for each lane at a time, without a branch that would keep them from
/// being asked for together with those before: lanes past the end take the last one and drop it.
void NestEmitter::emitSharedRest(unsigned iterator, unsigned level, Value lane, int64_t done,
                                 Accumulators &accumulators) {
  Type i64 = lane.getType();
  for (int64_t extent = iterators[iterator].extent; done < extent; done += splitLanes) {
    levels.resume(level);
    levels.placeAtEnd(level);
    Value last = make.integer(i64, extent - 1), own = make.add(lane, make.integer(i64, done));
    Value isPast = make.lessUnsigned(last, own), term = make.select(isPast, last, own);
    Accumulators before = accumulators;
    levels.enter(level + 1, levels.block(level)); // Another start than that of the terms before.
    setStart(iterator, level + 1, term, 0, 1);
    emitReduction(iterator + 1, level + 1, accumulators);
    levels.placeAtEnd(level + 1);
    for (auto [values, old] : llvm::zip_equal(accumulators, before))
      for (auto [value, kept] : llvm::zip_equal(values, old))
        value = make.select(isPast, kept, value);
  }
}

int64_t NestEmitter::stepsTogether(int64_t run) const {
  return loops::stepsTogether(run, int64_t(rows) * vectors);
}

/// Of the running values of all threads that share a sum, in a tree of fixed order; the first lane
/// has the whole. Neighbours hand their values on, farther ones meet in memory.
void NestEmitter::joinThreads(Accumulators &accumulators) {
  unsigned half = splitLanes / 2;
  if (joinsInRows())
    return joinRows(accumulators);
  if (half * splitApart >= Threads::neighbours) {
    joinThroughMemory(accumulators, half);
    while (half * splitApart >= Threads::neighbours)
      half /= 2;
  }
  joinNeighbours(accumulators, half);
}

/// Those of each so many, and of half as many each time.
void NestEmitter::joinNeighbours(Accumulators &accumulators, unsigned half) {
  for (; half > 0; half /= 2)
    for (Tuple &values : accumulators) {
      Tuple others;
      for (Value value : values)
        others.push_back(scope.threads->fromNeighbour(make.builder, value, half * splitApart));
      values = combiner.join(values, others);
    }
}

/// Whether the lanes of a sum are several rows of neighbours.
bool NestEmitter::joinsInRows() const {
  return scope.threads->areReal() && splitApart == 1 && splitLanes > Threads::neighbours;
}

/// Each row of neighbours, and then what each of them leaves in memory.
void NestEmitter::joinRows(Accumulators &accumulators) {
  constexpr unsigned neighbours = Threads::neighbours;
  unsigned inGroup = splitLanes / neighbours;
  joinNeighbours(accumulators, neighbours / 2);
  scope.threads->wait(make.builder); // Slots may still be read from before.
  Value number = scope.threads->number;
  Type i32 = number.getType();
  Value row = make.shiftRight(number, llvm::Log2_32(neighbours));
  Value inRow = make.bitAnd(number, make.integer(i32, neighbours - 1));
  {
    auto choice = scf::IfOp::create(make.builder, make.location,
                                    make.equal(inRow, make.integer(i32, 0)), false);
    OpBuilder::InsertionGuard guard(make.builder);
    make.builder.setInsertionPointToStart(choice.thenBlock());
    leave(accumulators, row);
  }
  scope.threads->wait(make.builder);
  Value ofGroup = make.bitAnd(row, make.integer(i32, -int64_t(inGroup)));
  accumulators =
      fetch(make.add(ofGroup, make.bitAnd(number, make.integer(i32, int64_t(inGroup) - 1))));
  joinNeighbours(accumulators, inGroup / 2);
}

/// `place`: of a thread, or of its row where rows meet.
Value NestEmitter::exchangePlace(unsigned slot, Value place) {
  Type i32 = place.getType();
  int64_t bytes = accumulatorBytes(nest);
  int64_t places = scope.threads->count / (joinsInRows() ? Threads::neighbours : 1);
  Value offset =
      make.add(make.mul(place, make.integer(i32, bytes)), make.integer(i32, slot * places * bytes));
  return LLVM::GEPOp::create(make.builder, make.location, scope.threads->exchange.getType(),
                             make.builder.getI8Type(), scope.threads->exchange,
                             ArrayRef<LLVM::GEPArg>(offset));
}

/// Running values, for others to read.
void NestEmitter::leave(const Accumulators &accumulators, Value place) {
  unsigned slot = 0;
  for (const Tuple &values : accumulators)
    for (Value value : values)
      LLVM::StoreOp::create(make.builder, make.location, value, exchangePlace(slot++, place));
}

NestEmitter::Accumulators NestEmitter::fetch(Value place) {
  Accumulators accumulators(rows * vectors);
  unsigned slot = 0;
  for (Tuple &values : accumulators)
    for (Type type : nest.accumulatorTypes())
      values.push_back(
          LLVM::LoadOp::create(make.builder, make.location, type, exchangePlace(slot++, place)));
  return accumulators;
}

/// The first lanes' values become theirs and those of the lanes `half` on.
void NestEmitter::joinInMemory(unsigned half) {
  Value own = scope.threads->number;
  Type i32 = own.getType();
  Value joins = make.lessUnsigned(laneNumber(), make.integer(i32, half));
  auto choice = scf::IfOp::create(make.builder, make.location, joins, false);
  OpBuilder::InsertionGuard guard(make.builder);
  make.builder.setInsertionPointToStart(choice.thenBlock());
  Accumulators first = fetch(own);
  Accumulators second = fetch(make.add(own, make.integer(i32, half * splitApart)));
  for (auto [values, others] : llvm::zip_equal(first, second))
    values = combiner.join(values, others);
  leave(first, own);
}

/// Halves while a partner is no neighbour. All wait first: slots may still be read from before.
void NestEmitter::joinThroughMemory(Accumulators &accumulators, unsigned half) {
  scope.threads->wait(make.builder);
  leave(accumulators, scope.threads->number);
  for (; half * splitApart >= Threads::neighbours; half /= 2) {
    scope.threads->wait(make.builder);
    joinInMemory(half);
  }
  accumulators = fetch(scope.threads->number);
}

} // namespace kintsugi::targets
