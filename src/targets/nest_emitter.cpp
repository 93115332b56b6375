//===- nest_emitter.cpp - The loops of a nest -----------------------------===//

#include "targets/nest_emitter.h"

#include "targets/elementwise.h"
#include "targets/interleave.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using kintsugi::tile::CombinerKind;
using kintsugi::tile::ComputeOp;

namespace kintsugi::targets {

/// Beside the iterators' bits: what comes of the reduction at a point.
static constexpr uint64_t onPoint = 1ull << 63;

/// As many running values as there are registers for masks, less what else masks are for.
static NaNWatch watchOf(const KernelScope &scope, tile::RegistersAttr registers) {
  constexpr int64_t most = 6;
  if (scope.threads || registers.getRows() * registers.getVectors() > most)
    return NaNWatch::None;
  return scope.hasAllMasks ? NaNWatch::Masks : NaNWatch::Lanes;
}

NestEmitter::NestEmitter(KernelScope &scope, ComputeOp nest, Block *block)
    : scope(scope), nest(nest), make(scope.builder),
      levels(scope.builder, nest.numIterators() + 4 + mostBlocksTogether, block),
      lanes(nest.getRegisters().getLanes()), vectors(nest.getRegisters().getVectors()),
      rows(nest.getRegisters().getRows()), numParallel(nest.numParallel()),
      vectorIterator(nest.getRegisters().getVector()), rowIterator(nest.getRegisters().getRow()),
      positions(scope.builder, levels, scope.threads ? 1 : lanes),
      combiner(scope.builder, nest.getCombiner().value_or(CombinerKind::Sum), scope.imports,
               scope.units(), nest.getPayloadOrder(), watchOf(scope, nest.getRegisters())) {
  if (!scope.threads || lanes == 1)
    return;
  splitIterator = vectorIterator;
  splitLanes = lanes;
  splitRun = vectors;
  splitApart = nest.getRegisters().getApart();
  vectorIterator = nest.getRegisters().getColumn();
  vectors = nest.getRegisters().getColumns();
  lanes = 1;
}

/// Shrinks the register tile to the iterators: a part of a vector is masked, but no vector or row
/// is empty.
void NestEmitter::chooseShape() {
  for (unsigned iterator = 0; iterator < nest.numIterators(); ++iterator)
    iterators.push_back({nest.extentOf(iterator)});
  if (rowIterator >= 0)
    rows = std::min<int64_t>(rows, iterators[rowIterator].extent);
  active.assign(vectors, lanes);
  if (!vectorIsParallel())
    return;
  int64_t extent = iterators[vectorIterator].extent;
  if (nest.isReduction())
    setColumns(std::min<int64_t>(extent, int64_t(lanes) * vectors));
  else
    setColumns(extent <= lanes ? extent
                               : int64_t(lanes) * std::min<int64_t>(vectors, extent / lanes));
}

/// A block of so many points along the vectors: the last vector may be a part of one.
void NestEmitter::setColumns(int64_t columns) {
  vectors = std::max<int64_t>(1, llvm::divideCeil(columns, lanes));
  active.assign(vectors, lanes);
  active.back() = columns - int64_t(vectors - 1) * lanes;
}

void NestEmitter::findDependences(Region &region) {
  Block &block = region.front();
  uint64_t parallel = (1ull << numParallel) - 1;
  bool isEpilogue = &region == &nest.getEpilogue();
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    bool isAccumulator = isEpilogue && number >= numParallel;
    dependences[argument] = isAccumulator ? parallel | onPoint : 1ull << number;
  }
  for (Operation &op : block.without_terminator()) {
    uint64_t all = 0;
    for (Value operand : op.getOperands())
      all |= dependencesOf(operand);
    dependences[op.getResult(0)] = all;
  }
}

uint64_t NestEmitter::dependencesOf(Value value) const { return dependences.lookup(value); }

bool NestEmitter::dependsOn(Value value, int iterator) const {
  return iterator >= 0 && (dependencesOf(value) >> iterator & 1);
}

bool NestEmitter::isVector(Value value) const {
  return lanes > 1 && dependsOn(value, vectorIterator);
}

unsigned NestEmitter::levelOf(Value value) const {
  unsigned level = dependencesOf(value) & onPoint ? pointLevel : 0;
  for (unsigned iterator = 0; iterator < iterators.size(); ++iterator)
    if (dependsOn(value, iterator))
      level = std::max(level, iterators[iterator].level);
  return level;
}

/// What is constant of an iterator's value has no level that would forget it; it is part of the
/// key, as a digit.
Levels::Key NestEmitter::keyOf(Value value, Point point) const {
  uintptr_t digits = 0;
  for (unsigned iterator = 0; iterator < iterators.size(); ++iterator) {
    if (iterator < numParallel && static_cast<int>(iterator) != vectorIterator)
      continue;
    int64_t constant = iterators[iterator].start.position.constant;
    digits =
        digits * (iterators[iterator].extent + 1) + (dependsOn(value, iterator) ? constant + 1 : 0);
  }
  return {{value.getAsOpaquePointer(), reinterpret_cast<const void *>(digits)},
          int64_t(point.row) << 32 | point.vector};
}

NestEmitter::Point NestEmitter::canonical(Value value, Point point) const {
  return {dependsOn(value, rowIterator) ? point.row : 0,
          dependsOn(value, vectorIterator) ? point.vector : 0};
}

void NestEmitter::emit() {
  chooseShape();
  for (unsigned iterator = 0; iterator < numParallel; ++iterator)
    if (iterators[iterator].extent == 0)
      return;
  findDependences(nest.getBody());
  if (nest.isReduction())
    findDependences(nest.getEpilogue());
  if (scope.threads)
    return emitOverThreads();
  if (nest.getPasses())
    return emitPasses();
  emitParallel(0, 0);
}

/// All passes but the last in a loop, which leave running values behind; then the last.
void NestEmitter::emitPasses() {
  int64_t last = iterators[numParallel].extent - 1;
  Type i64 = make.builder.getI64Type();
  levels.placeAtEnd(0);
  auto loop = scf::ForOp::create(make.builder, make.location, make.integer(i64, 0),
                                 make.integer(i64, last), make.integer(i64, 1));
  levels.loopCreated(0, loop);
  levels.enter(1, loop.getBody());
  pass = loop.getInductionVar();
  setStart(numParallel, 1, pass, 0, 1);
  emitParallel(0, 1);
  pass = {};
  levels.resume(0);
  setStart(numParallel, 0, {}, last, 0);
  emitParallel(0, 0);
}

void NestEmitter::setStart(unsigned iterator, unsigned level, Value value, int64_t constant,
                           int64_t multiple) {
  IteratorState &state = iterators[iterator];
  state.level = level;
  state.start = {};
  state.start.position.base = {value, level};
  state.start.position.constant = constant;
  state.start.multiple = multiple;
  state.start.range = {0, state.extent - 1};
}

int64_t NestEmitter::stepAlong(unsigned iterator) const {
  if (static_cast<int>(iterator) == vectorIterator)
    return int64_t(lanes) * vectors;
  return static_cast<int>(iterator) == rowIterator ? rows : 1;
}

int64_t NestEmitter::blocksAlong(unsigned iterator) const {
  return llvm::divideCeil(iterators[iterator].extent, stepAlong(iterator));
}

/// Blocks of `step` points. Where the extent is no multiple, sums finish with a narrower block
/// along their vectors; otherwise the last block starts earlier and computes some points again.
void NestEmitter::emitParallel(unsigned iterator, unsigned level) {
  if (iterator == numParallel)
    return emitPoint(level);
  int64_t extent = iterators[iterator].extent, step = std::min(extent, stepAlong(iterator));
  bool alongVectors = static_cast<int>(iterator) == vectorIterator;
  int64_t tail = alongVectors && nest.isReduction() ? extent % step : 0;
  emitBlocks(iterator, level, extent - tail, step);
  if (!tail)
    return;
  unsigned wide = vectors;
  setColumns(tail);
  levels.resume(level);
  setStart(iterator, level, {}, extent - tail, 0);
  emitParallel(iterator + 1, level);
  vectors = wide;
  active.assign(vectors, lanes);
}

NestEmitter::Run NestEmitter::constantRun(int64_t end) {
  Type i64 = make.builder.getI64Type();
  return {make.integer(i64, 0), make.integer(i64, end)};
}

/// A number of the table, cut to the extent: a table is data, and data may say anything.
Value NestEmitter::clampedBound(Value bound, int64_t extent) {
  Value number = evaluate(bound, {});
  levels.place(0);
  Type i64 = make.builder.getI64Type();
  number = make.resize(number, i64);
  Value zero = make.integer(i64, 0), last = make.integer(i64, extent);
  number = make.select(make.less(number, zero), zero, number);
  return make.select(make.less(last, number), last, number);
}

std::optional<NestEmitter::Run> NestEmitter::boundedRun(unsigned iterator) {
  int position = nest.boundedPosition(iterator);
  if (position < 0)
    return std::nullopt;
  int64_t extent = iterators[iterator].extent;
  return Run{clampedBound(nest.getBounds()[2 * position], extent),
             clampedBound(nest.getBounds()[2 * position + 1], extent)};
}

void NestEmitter::emitBlocks(unsigned iterator, unsigned level, int64_t extent, int64_t step) {
  std::optional<Run> bounded = boundedRun(iterator);
  if (step == extent && !bounded) {
    setStart(iterator, level, {}, 0, 0);
    return emitParallel(iterator + 1, level);
  }
  levels.placeAtEnd(level);
  Type i64 = make.builder.getI64Type();
  Run run = bounded ? *bounded : constantRun(extent);
  auto loop =
      scf::ForOp::create(make.builder, make.location, run.begin, run.end, make.integer(i64, step));
  levels.loopCreated(level, loop);
  levels.enter(level + 1, loop.getBody());
  Value start = loop.getInductionVar();
  int64_t last = extent - step;
  if (extent % step != 0) {
    levels.place(level + 1);
    Value end = make.integer(i64, last);
    start = make.select(make.less(start, end), start, end);
  }
  setStart(iterator, level + 1, start, 0, extent % step == 0 ? step : std::gcd(step, last));
  emitParallel(iterator + 1, level + 1);
}

void NestEmitter::emitPoint(unsigned level) {
  if (!nest.isReduction()) {
    emitStores(nest.getBody().front());
    if (level > 0 && vectors > 1 && !scope.threads)
      interleave(*levels.block(level));
    return;
  }
  Accumulators accumulators = reduceAt(level);
  if (pass)
    return storePartials(accumulators);
  if (vectorIterator >= static_cast<int>(numParallel))
    joinVectors(accumulators);
  emitResults(accumulators);
}

/// The running values of a point, at the end of its level.
NestEmitter::Accumulators NestEmitter::reduceAt(unsigned level) {
  Accumulators accumulators = nest.getPasses() ? partialValues(level) : startValues(level);
  bool isEmpty = llvm::is_contained(nest.getReduction(), 0);
  if (!isEmpty)
    emitReduction(numParallel + nest.getPasses(), level, accumulators);
  levels.resume(level);
  levels.place(level);
  return accumulators;
}

void NestEmitter::emitResults(const Accumulators &accumulators) {
  results.clear();
  for (const Tuple &values : accumulators)
    results.push_back(combiner.finish(values));
  emitStores(nest.getEpilogue().front());
}

void NestEmitter::emitStores(Block &region) {
  bool alongParallel = vectorIterator < static_cast<int>(numParallel);
  Operation *yield = region.getTerminator();
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned vector = 0; vector < (alongParallel ? vectors : 1); ++vector)
      for (unsigned destination = 0; destination < yield->getNumOperands(); ++destination)
        store(yield->getOperand(destination), destination, {row, vector});
}

NestEmitter::Accumulators NestEmitter::startValues(unsigned level) {
  if (tile::isArgForm(*nest.getCombiner()) && !llvm::is_contained(nest.getReduction(), 0))
    return firstElements(level);
  Accumulators accumulators;
  levels.placeAtEnd(level);
  accumulators.assign(rows * vectors, neutral());
  return accumulators;
}

Tuple NestEmitter::neutral() {
  SmallVector<Type> types;
  for (Type type : nest.accumulatorTypes())
    types.push_back(lanes > 1 ? Type(VectorType::get({lanes}, type)) : type);
  return combiner.neutral(types);
}

/// What an arg form starts with, for the payload of a neutral key would be made up. Lanes past the
/// end have none, and come last.
NestEmitter::Accumulators NestEmitter::firstElements(unsigned level) {
  Accumulators accumulators;
  bool alongVectors = vectorIterator >= static_cast<int>(numParallel);
  SmallVector<unsigned> all = active;
  for (unsigned iterator = numParallel; iterator < iterators.size(); ++iterator)
    setStart(iterator, level, {}, 0, 0);
  for (unsigned vector = 0; alongVectors && vector < vectors; ++vector)
    active[vector] =
        std::clamp<int64_t>(iterators[vectorIterator].extent - int64_t(vector) * lanes, 0, lanes);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned vector = 0; vector < vectors; ++vector) {
      Point point = {row, vector};
      Tuple first;
      for (Value value : nest.bodyValues())
        if (!alongVectors || active[vector] > 0)
          first.push_back(asVector(value, point));
      levels.placeAtEnd(level);
      if (first.empty())
        first = neutral();
      else if (alongVectors && !allActive(point))
        for (auto [value, none] : llvm::zip(first, neutral()))
          value = make.select(make.firstLanes(lanes, active[vector]), value, none);
      accumulators.push_back(first);
    }
  active = all;
  return accumulators;
}

/// What the passes before left in the destination; neutral in the first.
NestEmitter::Accumulators NestEmitter::partialValues(unsigned level) {
  Accumulators accumulators = startValues(level);
  levels.placeAtEnd(level);
  Value isFirst = pass ? make.equal(pass, make.integer(pass.getType(), 0)) : Value();
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned vector = 0; vector < vectors; ++vector) {
      Value &value = accumulators[row * vectors + vector][0];
      Value before = loadPartial({row, vector}, level);
      value = isFirst ? make.select(isFirst, value, before) : before;
    }
  return accumulators;
}

void NestEmitter::storePartials(const Accumulators &accumulators) {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned vector = 0; vector < vectors; ++vector)
      storeAt(accumulators[row * vectors + vector][0], 0, {row, vector});
}

void NestEmitter::emitReduction(unsigned iterator, unsigned level, Accumulators &accumulators) {
  if (iterator == iterators.size())
    return accumulate(level, accumulators);
  if (scope.threads)
    return emitThreadReduction(iterator, level, accumulators);
  int64_t extent = iterators[iterator].extent;
  if (static_cast<int>(iterator) == vectorIterator)
    return emitVectorReduction(iterator, level, accumulators);
  bool isUnrolled =
      iterators.size() - iterator <= static_cast<size_t>(nest.getRegisters().getUnroll());
  std::optional<Run> bounded = boundedRun(iterator);
  if (bounded || (!isUnrolled && extent > 1)) {
    askForShares(iterator, level);
    levels.placeAtEnd(level);
    return emitReductionLoop(iterator, level, bounded ? *bounded : constantRun(extent), 1,
                             accumulators, {0});
  }
  for (int64_t index = 0; index < extent; ++index)
    emitReductionAt(iterator, level, index, accumulators);
}

/// One step with a constant iterator: no loop, and no level of its own.
void NestEmitter::emitReductionAt(unsigned iterator, unsigned level, int64_t index,
                                  Accumulators &accumulators) {
  levels.resume(level);
  setStart(iterator, level, {}, index, 0);
  emitReduction(iterator + 1, level, accumulators);
}

void NestEmitter::emitReductionLoop(unsigned iterator, unsigned level, Run run, int64_t step,
                                    Accumulators &accumulators, ArrayRef<int64_t> offsets,
                                    int64_t multiple) {
  levels.placeAtEnd(level);
  SmallVector<Value> flat;
  for (const Tuple &values : accumulators)
    flat.append(values.begin(), values.end());
  Type i64 = make.builder.getI64Type();
  auto loop = scf::ForOp::create(make.builder, make.location, run.begin, run.end,
                                 make.integer(i64, step), flat);
  levels.loopCreated(level, loop);
  auto assign = [&](ValueRange values) {
    unsigned next = 0;
    for (Tuple &tuple : accumulators)
      for (Value &value : tuple)
        value = values[next++];
  };
  assign(loop.getRegionIterArgs());
  levels.enter(level + 1, loop.getBody());
  for (int64_t offset : offsets) {
    levels.resume(level + 1);
    setStart(iterator, level + 1, loop.getInductionVar(), offset, multiple ? multiple : step);
    emitReduction(iterator + 1, level + 1, accumulators);
  }
  flat.clear();
  for (const Tuple &values : accumulators)
    flat.append(values.begin(), values.end());
  make.builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(make.builder, make.location, flat);
  assign(loop.getResults());
}

/// Full blocks of vectors, then what is left with its last vector masked.
void NestEmitter::emitVectorReduction(unsigned iterator, unsigned level,
                                      Accumulators &accumulators) {
  int64_t extent = iterators[iterator].extent, step = int64_t(lanes) * vectors;
  int64_t full = extent / step * step, rest = extent - full;
  if (full > step) {
    levels.placeAtEnd(level);
    emitReductionLoop(iterator, level, constantRun(full), step, accumulators, {0});
  } else if (full == step)
    emitReductionAt(iterator, level, 0, accumulators);
  if (rest == 0)
    return;
  for (unsigned vector = 0; vector < vectors; ++vector)
    active[vector] = std::clamp<int64_t>(rest - int64_t(vector) * lanes, 0, lanes);
  emitReductionAt(iterator, level, full, accumulators);
  active.assign(vectors, lanes);
}

void NestEmitter::accumulate(unsigned level, Accumulators &accumulators) {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned vector = 0; vector < vectors; ++vector)
      if (active[vector] > 0) {
        Tuple &values = accumulators[row * vectors + vector];
        values = accumulateOne(level, values, {row, vector});
        keep(level, {row, vector}, values);
      }
}

Tuple NestEmitter::accumulateOne(unsigned level, const Tuple &before, Point point) {
  Value body = nest.bodyValues()[0];
  auto product = body.getDefiningOp<arith::MulFOp>();
  bool isFused = product && *nest.getCombiner() == CombinerKind::Sum &&
                 body.getType().getIntOrFloatBitWidth() >= 32;
  Tuple after;
  if (isFused) {
    Value left = asVector(product.getLhs(), point), right = asVector(product.getRhs(), point);
    levels.placeAtEnd(level);
    after = {make.fma(left, right, before[0])};
  } else {
    Tuple values;
    for (Value value : nest.bodyValues())
      values.push_back(asVector(value, point));
    levels.placeAtEnd(level);
    after = combiner.join(before, combiner.lift(values));
  }
  if (!allActive(point) && vectorIterator >= static_cast<int>(numParallel))
    for (auto [value, old] : llvm::zip(after, before))
      value = make.select(make.firstLanes(lanes, active[point.vector]), value, old);
  return after;
}

/// Vectors of a row are joined in pairs, then the lanes of what is left.
void NestEmitter::joinVectors(Accumulators &accumulators) {
  Accumulators joined;
  for (unsigned row = 0; row < rows; ++row) {
    SmallVector<Tuple> current(accumulators.begin() + row * vectors,
                               accumulators.begin() + (row + 1) * vectors);
    while (current.size() > 1) {
      SmallVector<Tuple> next;
      for (size_t pair = 0; pair + 1 < current.size(); pair += 2)
        next.push_back(combiner.joinApart(current[pair], current[pair + 1]));
      if (current.size() % 2)
        next.push_back(current.back());
      current = std::move(next);
    }
    joined.push_back(lanes > 1 ? combiner.joinLanes(current[0]) : current[0]);
  }
  accumulators = std::move(joined);
}

} // namespace kintsugi::targets
