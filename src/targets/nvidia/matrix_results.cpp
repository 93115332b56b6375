//===- matrix_results.cpp - From registers to memory ----------------------===//

#include "targets/nvidia/matrix_nest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kintsugi::targets {

void MatrixNest::storeResults(const Sums &sums) {
  unsigned across = unsigned(resultColumns);
  for (unsigned i = 0; i < 2 * unsigned(resultRows); ++i) {
    int64_t further = i / 2 * blockOf(rows) + i % 2 * 8;
    Coordinates row = pointAt(Rows, laneRow, further, 1, i, resultLevel);
    Value isRow = isPoint(Rows, laneRow, further, resultLevel);
    auto pairOf = [&](unsigned block) {
      const MatrixUnits::Results &all = sums[i / 2 * across + block];
      return Pair{all[i % 2 * 2], all[i % 2 * 2 + 1]};
    };
    for (unsigned block = 0; block < across; block += 2)
      if (!storeFours(row, isRow, block, {pairOf(block), pairOf(block + 1)}))
        for (unsigned k : {0, 1})
          storePair(row, isRow, block + k, pairOf(block + k));
  }
}

/// The values of two results side by side, for each destination.
std::array<SmallVector<Value>, 2> MatrixNest::finishPair(const Coordinates &row, unsigned block,
                                                         const Pair &pair,
                                                         std::array<Coordinates, 2> &column) {
  bool isEven = groups[Columns].extents.back() % 2 == 0;
  Operation *yield = nest.getEpilogue().front().getTerminator();
  std::array<SmallVector<Value>, 2> stored;
  for (unsigned k : {0, 1}) {
    column[k] = isEven && k ? values->shifted(column[0], 1, block * 2 + k)
                            : pointAt(Columns, laneColumn, block * 8 + k, isEven ? 2 : 1,
                                      block * 2 + k, resultLevel);
    values->setResult(pair[k]);
    for (Value value : yield->getOperands())
      stored[k].push_back(values->evaluate(value, resultAt(row, column[k])));
  }
  return stored;
}

/// Two results side by side: their values first, so that the stores stand together.
void MatrixNest::storePair(const Coordinates &row, Value isRow, unsigned block, const Pair &pair) {
  bool isEven = groups[Columns].extents.back() % 2 == 0;
  std::array<Coordinates, 2> column;
  std::array<SmallVector<Value>, 2> stored = finishPair(row, block, pair, column);
  for (unsigned k : {0, 1})
    for (auto [value, destination] : llvm::zip_equal(stored[k], nest.getDestinations())) {
      Position where = values->destination(resultAt(row, column[k]));
      Value place = values->address(scope.pointers.lookup(destination), where, value.getType());
      Value isColumn = isPoint(Columns, laneColumn, block * 8 + (isEven ? 0 : k), resultLevel);
      storeIf(isRow, isColumn, value, place, alignmentAt(where, value.getType()));
    }
}

/// Of 16 bits, a thread's two results are too few for a whole sector of memory: of two blocks it
/// leaves its neighbour those of one, and takes the neighbour's of the other, beside its own.
/// False: four results don't lie so.
bool MatrixNest::storeFours(const Coordinates &row, Value isRow, unsigned block,
                            const std::array<Pair, 2> &pairs) {
  constexpr int64_t atOnce = 4;
  unsigned last = groups[Columns].iterators.back();
  if (groups[Columns].extents.back() % atOnce != 0 || values->strideOfDestination(last) != 1)
    return false;
  constexpr unsigned numbers = 4096; // Past those of pairs.
  Coordinates four = pointAt(Columns, laneFour, block * 8, atOnce, numbers + block, resultLevel);
  Position where = values->destination(resultAt(row, four));
  for (Value destination : nest.getDestinations()) {
    Type type = cast<MemRefType>(destination.getType()).getElementType();
    if (type.getIntOrFloatBitWidth() != 16 || alignmentAt(where, type) < 8)
      return false;
  }
  std::array<Coordinates, 2> column;
  std::array<SmallVector<Value>, 2> stored[2] = {finishPair(row, block, pairs[0], column),
                                                 finishPair(row, block + 1, pairs[1], column)};
  Value isColumn = isPoint(Columns, laneFour, block * 8, resultLevel);
  for (auto [number, destination] : llvm::enumerate(nest.getDestinations())) {
    levels.place(resultLevel);
    Value words[2];
    for (unsigned k : {0, 1})
      words[k] = word(stored[k][0][number], stored[k][1][number]);
    Value other = units.fromNeighbour(make.select(isOdd, words[0], words[1]));
    Value four = make.undefined(VectorType::get({2}, make.builder.getI32Type()));
    four = make.withLane(four, make.select(isOdd, other, words[0]), 0);
    four = make.withLane(four, make.select(isOdd, words[1], other), 1);
    Type type = stored[0][0][number].getType();
    Value place = values->address(scope.pointers.lookup(destination), where, type);
    storeIf(isRow, isColumn, four, place, 8);
  }
  return true;
}

/// Two values of 16 bits in one of 32.
Value MatrixNest::word(Value first, Value second) {
  Value both = make.undefined(VectorType::get({2}, first.getType()));
  both = make.withLane(make.withLane(both, first, 0), second, 1);
  return LLVM::BitcastOp::create(make.builder, make.location, make.builder.getI32Type(), both);
}

void MatrixNest::storeIf(Value isRow, Value isColumn, Value value, Value place,
                         unsigned alignment) {
  levels.place(resultLevel);
  OpBuilder::InsertionGuard guard(make.builder);
  if (isRow || isColumn) {
    Value both = isRow && isColumn ? make.bitAnd(isRow, isColumn) : isRow ? isRow : isColumn;
    auto choice = scf::IfOp::create(make.builder, make.location, both, false);
    make.builder.setInsertionPointToStart(choice.thenBlock());
  }
  LLVM::StoreOp::create(make.builder, make.location, value, place, alignment);
}

PointValues::Point MatrixNest::resultAt(const Coordinates &row, const Coordinates &column) const {
  PointValues::Point all{};
  all[Batch] = &batch;
  all[Rows] = &row;
  all[Columns] = &column;
  return all;
}

} // namespace kintsugi::targets
