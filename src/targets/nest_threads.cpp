//===- nest_threads.cpp - A nest shared by a block of threads -------------===//

#include "targets/nest_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  return threads * accumulatorBytes(nest) * registers.getRows() * registers.getColumns() *
         int64_t(nest.accumulatorTypes().size());
}

int64_t NestEmitter::stepAlong(unsigned iterator) const {
  if (static_cast<int>(iterator) == vectorIterator)
    return vectors;
  return static_cast<int>(iterator) == rowIterator ? rows : 1;
}

int64_t NestEmitter::blocksAlong(unsigned iterator) const {
  return llvm::divideCeil(iterators[iterator].extent, stepAlong(iterator));
}

/// Loops whose ends a table says are every thread's; the blocks of points inside are spread.
void NestEmitter::emitOverThreads() {
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

/// Block after block, as many at a time as there are threads.
void NestEmitter::emitOwnBlocks(unsigned level) {
  if (splitIterator >= 0)
    return emitSharedBlocks(level);
  forEachThread(level, [&](unsigned inner) {
    levels.placeAtEnd(inner);
    Type type = countType();
    Value first = make.resize(scope.threads->number, type);
    auto loop =
        scf::ForOp::create(make.builder, make.location, first, make.integer(type, blocksOfAll()),
                           make.integer(type, scope.threads->count));
    levels.loopCreated(inner, loop);
    levels.enter(inner + 1, loop.getBody());
    setBlock(loop.getInductionVar(), inner + 1);
    pointLevel = inner + 1;
    emitPoint(inner + 1);
  });
}

/// The same for groups of threads that share a sum. All stay to the end, since they wait for each
/// other; what is past the last block is not stored.
void NestEmitter::emitSharedBlocks(unsigned level) {
  Type type = countType();
  levels.placeAtEnd(level);
  auto loop = scf::ForOp::create(make.builder, make.location, make.integer(type, 0),
                                 make.integer(type, blocksOfAll()),
                                 make.integer(type, scope.threads->count / splitLanes));
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
    leave(reduceAt(inner));
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

void NestEmitter::emitThreadReduction(unsigned iterator, unsigned level,
                                      Accumulators &accumulators) {
  constexpr unsigned most = 4; // Steps at a time, whose moves are under way together.
  int64_t extent = iterators[iterator].extent;
  bool isInnermost = iterator + 1 == iterators.size();
  std::optional<Run> bounded = boundedRun(iterator);
  levels.placeAtEnd(level);
  Run run = bounded ? *bounded : constantRun(extent);
  int64_t step = 1;
  bool isInPieces = false;
  if (static_cast<int>(iterator) == splitIterator) {
    step = splitLanes;
    Type i64 = make.builder.getI64Type();
    Value lane = arith::ExtUIOp::create(make.builder, make.location, i64, laneNumber());
    if (!bounded && splitApart > 1 && extent % (splitLanes * most) == 0) {
      // Lanes that don't read side by side anyway have their part in one piece.
      step = 1;
      Value part = make.integer(i64, extent / splitLanes);
      run.begin = make.mul(lane, part);
      run.end = make.add(run.begin, part);
      isInPieces = true;
    } else {
      run.begin = bounded ? make.add(run.begin, lane) : lane;
    }
  } else if (!bounded && (extent == 1 ||
                          iterators.size() - iterator <= size_t(nest.getRegisters().getUnroll()))) {
    for (int64_t index = 0; index < extent; ++index)
      emitReductionAt(iterator, level, index, accumulators);
    return;
  }
  bool isMultiple = isInPieces || (!bounded && extent % (step * most) == 0 && extent > step * most);
  emitReductionLoop(iterator, level, run, step, accumulators, isMultiple && isInnermost ? most : 1);
}

/// Of the running values of all threads that share a sum, in a tree of fixed order; the first lane
/// has the whole. Farther ones meet in memory, neighbours hand their values on.
void NestEmitter::joinThreads(Accumulators &accumulators) {
  unsigned half = splitLanes / 2;
  if (half * splitApart >= Threads::neighbours) {
    joinThroughMemory(accumulators, half);
    while (half * splitApart >= Threads::neighbours)
      half /= 2;
  }
  for (; half > 0; half /= 2)
    for (Tuple &values : accumulators) {
      Tuple others;
      for (Value value : values)
        others.push_back(scope.threads->fromNeighbour(make.builder, value, half * splitApart));
      values = combiner.join(values, others);
    }
}

Value NestEmitter::exchangePlace(unsigned slot, Value thread) {
  Type i32 = thread.getType();
  int64_t bytes = accumulatorBytes(nest);
  Value offset = make.add(make.mul(thread, make.integer(i32, bytes)),
                          make.integer(i32, slot * scope.threads->count * bytes));
  return LLVM::GEPOp::create(make.builder, make.location, scope.threads->exchange.getType(),
                             make.builder.getI8Type(), scope.threads->exchange,
                             ArrayRef<LLVM::GEPArg>(offset));
}

/// This thread's running values, for others to read.
void NestEmitter::leave(const Accumulators &accumulators) {
  unsigned slot = 0;
  for (const Tuple &values : accumulators)
    for (Value value : values)
      LLVM::StoreOp::create(make.builder, make.location, value,
                            exchangePlace(slot++, scope.threads->number));
}

NestEmitter::Accumulators NestEmitter::fetch(Value thread) {
  Accumulators accumulators(rows * vectors);
  unsigned slot = 0;
  for (Tuple &values : accumulators)
    for (Type type : nest.accumulatorTypes())
      values.push_back(
          LLVM::LoadOp::create(make.builder, make.location, type, exchangePlace(slot++, thread)));
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
  leave(first);
}

/// Halves while a partner is no neighbour. All wait first: slots may still be read from before.
void NestEmitter::joinThroughMemory(Accumulators &accumulators, unsigned half) {
  scope.threads->wait(make.builder);
  leave(accumulators);
  for (; half * splitApart >= Threads::neighbours; half /= 2) {
    scope.threads->wait(make.builder);
    joinInMemory(half);
  }
  accumulators = fetch(scope.threads->number);
}

} // namespace kintsugi::targets
