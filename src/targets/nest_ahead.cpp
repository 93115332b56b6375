//===- nest_ahead.cpp - What a nest asks memory for before it reads it ------===//

#include "targets/nest_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kintsugi::targets {

static void prefetch(Emit &make, Value place, bool forNearest) {
  constexpr unsigned forReading = 0, toAllLevels = 3, toAllButTheNearest = 2, asData = 1;
  LLVM::Prefetch::create(make.builder, make.location, place, forReading,
                         forNearest ? toAllLevels : toAllButTheNearest, asData);
}

/// The place of an element in its line is the number of the row whose line is asked for: while a
/// sum goes through a line, all rows have their turn.
void NestEmitter::askForRowAhead(tile::ReadOp op, const Position &where, unsigned level) {
  Type element = op.getElement().getType();
  ArrayRef<int64_t> ahead = *op.getAhead();
  Type wide = make.builder.getI64Type();
  int64_t inLine = lineBytes / alignmentOf(element);
  Value ofFirst = address(scope.pointers.lookup(op.getBuffer()), where, element, ahead[0]);
  Value position = positions.scalar(where);
  levels.place(level);
  Value row = make.bitAnd(position, make.integer(wide, inLine - 1));
  Value further = make.mul(row, make.integer(wide, ahead[2] - 1));
  prefetch(make,
           LLVM::GEPOp::create(make.builder, make.location,
                               LLVM::LLVMPointerType::get(make.builder.getContext()), element,
                               ofFirst, ArrayRef<LLVM::GEPArg>(further)),
           ahead[1]);
}

/// One of the vectors in a line asks for the line that lies as far on as the read says.
void NestEmitter::askAhead(tile::ReadOp op, const Position &where, Point point, unsigned level,
                           int64_t further) {
  Type element = op.getElement().getType();
  ArrayRef<int64_t> ahead = *op.getAhead();
  unsigned inLine = std::max<unsigned>(1, lineBytes / (lanes * alignmentOf(element)));
  unsigned number = point.row * vectors + point.vector;
  if (number % inLine != 0)
    return;
  Value pointer = scope.pointers.lookup(op.getBuffer());
  Value place = address(pointer, where, element, further + ahead[0]);
  levels.place(level);
  prefetch(make, place, ahead[1]);
}

bool NestEmitter::asksByShares(tile::ReadOp op) {
  return op.getAhead() && (*op.getAhead())[3] >= 0;
}

/// Which of all blocks that come back to what a read reads this one is, and how many they are.
std::pair<Value, int64_t> NestEmitter::shareOf(tile::ReadOp op, unsigned level) {
  levels.placeAtEnd(level);
  Type i64 = make.builder.getI64Type();
  Value number = make.integer(i64, 0);
  int64_t count = 1;
  for (unsigned iterator = (*op.getAhead())[3]; iterator < numParallel; ++iterator) {
    const IteratorState &state = iterators[iterator];
    int64_t step = stepAlong(iterator), blocks = blocksAlong(iterator);
    if (dependsOn(op.getElement(), iterator) || !state.start.position.base.value || blocks == 1)
      continue;
    // The last block may start earlier than a step after the one before.
    Value start = make.add(state.start.position.base.value,
                           make.integer(i64, state.start.position.constant + step - 1));
    Value own = arith::DivUIOp::create(make.builder, make.location, start, make.integer(i64, step));
    number = make.add(make.mul(number, make.integer(i64, blocks)), own);
    count *= blocks;
  }
  return {number, count};
}

/// Shares are cut along the innermost reduction that is a loop.
void NestEmitter::askForShares(unsigned iterator, unsigned level) {
  for (unsigned inner = iterator + 1; inner < iterators.size(); ++inner)
    if (iterators.size() - inner > static_cast<size_t>(nest.getRegisters().getUnroll()) &&
        iterators[inner].extent > 1)
      return;
  for (tile::ReadOp op : nest.getBody().front().getOps<tile::ReadOp>()) {
    if (!asksByShares(op))
      continue;
    auto [number, count] = shareOf(op, level);
    int64_t extent = iterators[iterator].extent;
    Type i64 = make.builder.getI64Type();
    Value length = make.integer(i64, llvm::divideCeil(extent, count));
    Value all = make.integer(i64, extent), begin = make.mul(number, length);
    Value end = make.add(begin, length);
    end = make.select(make.less(end, all), end, all);
    auto loop = scf::ForOp::create(make.builder, make.location, begin, end, make.integer(i64, 1));
    levels.loopCreated(level, loop);
    levels.enter(level + 1, loop.getBody());
    setStart(iterator, level + 1, loop.getInductionVar(), 0, 1);
    askForStep(op, iterator + 1, level + 1);
    levels.resume(level);
  }
}

/// For what one step of the sum reads of all the block's rows and vectors.
void NestEmitter::askForStep(tile::ReadOp op, unsigned iterator, unsigned level) {
  if (iterator < iterators.size()) {
    for (int64_t index = 0; index < iterators[iterator].extent; ++index) {
      setStart(iterator, level, {}, index, 0);
      askForStep(op, iterator + 1, level);
    }
    return;
  }
  for (unsigned row = 0; row < (dependsOn(op.getElement(), rowIterator) ? rows : 1); ++row)
    for (unsigned vector = 0; vector < vectors; ++vector) {
      Position where = position(op.getMap(), op.getIndices(), {row, vector});
      if (!where.lanes && where.stride == 1)
        askAhead(op, where, {row, vector}, level);
    }
}

} // namespace kintsugi::targets
