//===- streamed_joins.cpp - What threads of a streamed softmax join -------===//

#include "targets/nvidia/streamed_softmax.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t warp = 32, rowsAWarp = 16;

Value StreamedSoftmax::amongFour(Value value, llvm::function_ref<Value(Value, Value)> join) {
  for (int64_t bit : {1, 2}) {
    Value other = scores.units.fromNeighbour(make.bitcast(value, make.builder.getI32Type()), bit);
    value = join(value, make.bitcast(other, make.builder.getF32Type()));
  }
  return value;
}

Value StreamedSoftmax::joinPlace(Value from, int64_t slot) {
  return scores.units.atByte(from, slot * scores.matrix.getDown() * warp * 16);
}

/// What the other groups have summed comes through the ring's memory; the first adds it in their
/// order, and goes on alone.
void StreamedSoftmax::joinGroups() {
  levels.placeAtEnd(0);
  scores.units.waitForAllBut(0);     // Where nothing is open, the rows may be on their way still.
  scope.threads->wait(make.builder); // The ring is read to the end.
  Value isFirst = make.equal(group, i32(0));
  auto others = scf::IfOp::create(make.builder, make.location, isFirst, true);
  {
    OpBuilder::InsertionGuard guard(make.builder);
    make.builder.setInsertionPointToStart(others.elseBlock());
    leave();
  }
  levels.placeAtEnd(0);
  scope.threads->wait(make.builder);
  auto choice = scf::IfOp::create(make.builder, make.location, isFirst, false);
  levels.loopCreated(0, choice);
  resultLevel = 1;
  levels.enter(resultLevel, choice.thenBlock());
  levels.placeAtEnd(resultLevel);
  takeFromOthers();
}

/// Sums, then the rows' maxima and totals.
void StreamedSoftmax::leave() {
  int64_t slots = running.sums.size() + 1;
  Value from = scores.units.atByte(
      scores.units.atByte(scores.ring, exchange),
      make.mul(make.sub(group, i32(1)), i32(slots * scores.matrix.getDown() * warp * 16)));
  auto put = [&](int64_t slot, const MatrixUnits::Results &values) {
    Value all = make.undefined(VectorType::get({4}, make.builder.getF32Type()));
    for (unsigned part = 0; part < 4; ++part)
      all = make.withLane(all, values[part], part);
    LLVM::StoreOp::create(make.builder, make.location, all, joinPlace(from, slot), 16);
  };
  for (auto [slot, sum] : llvm::enumerate(running.sums))
    put(slot, sum);
  put(slots - 1, {running.maximum[0], running.maximum[1], running.total[0], running.total[1]});
}

void StreamedSoftmax::takeFromOthers() {
  int64_t slots = running.sums.size() + 1;
  Value from = scores.units.atByte(scores.ring, exchange);
  auto get = [&](int64_t other, int64_t slot) {
    Value all = LLVM::LoadOp::create(make.builder, make.location,
                                     VectorType::get({4}, make.builder.getF32Type()),
                                     joinPlace(from, other * slots + slot), 16);
    return MatrixUnits::Results{make.lane(all, 0), make.lane(all, 1), make.lane(all, 2),
                                make.lane(all, 3)};
  };
  for (int64_t other = 0; other < across - 1; ++other) {
    MatrixUnits::Results rows = get(other, slots - 1);
    PerRow kept, added;
    for (unsigned row = 0; row < rowsAThread; ++row) {
      Value most = greater(running.maximum[row], rows[row]);
      Value base = baseOf(most);
      kept[row] = power(running.maximum[row], base);
      added[row] = power(rows[row], base);
      running.maximum[row] = most;
      running.total[row] =
          make.fma(rows[rowsAThread + row], added[row], make.mul(running.total[row], kept[row]));
    }
    for (auto [slot, sum] : llvm::enumerate(running.sums)) {
      MatrixUnits::Results theirs = get(other, slot);
      for (unsigned part = 0; part < 4; ++part)
        sum[part] = make.fma(theirs[part], added[part / 2], make.mul(sum[part], kept[part / 2]));
    }
  }
}

/// A warp all of whose rows are beyond the last is done: it would read the statistics of the last
/// row, which another warp stores. Any other warp that has rows beyond the last has that one too.
void StreamedSoftmax::leaveRowless() {
  int64_t points = scores.groups[MatrixNest::Rows].points();
  if (llvm::alignTo(points, rowsAWarp) >= uint64_t(scores.matrix.getRows()))
    return;
  levels.placeAtEnd(resultLevel);
  auto choice = scf::IfOp::create(make.builder, make.location,
                                  make.lessUnsigned(firstRow, i32(points)), false);
  levels.loopCreated(resultLevel, choice);
  ++resultLevel;
  levels.enter(resultLevel, choice.thenBlock());
  levels.placeAtEnd(resultLevel);
}

/// The last product's epilogue reads them, of rows that are this warp's own.
void StreamedSoftmax::storeStats() {
  levels.placeAtEnd(resultLevel);
  Value isFirst = make.equal(make.bitAnd(scope.threads->number, i32(3)), i32(0));
  for (unsigned row = 0; row < rowsAThread; ++row) {
    levels.placeAtEnd(resultLevel);
    Value total = amongFour(running.total[row], [&](Value a, Value b) { return make.add(a, b); });
    Value maximum = running.maximum[row];
    if (form)
      maximum = make.mul(maximum, f32(form->scale));
    // With an infinite maximum, exp(x - m) of the greatest is NaN, and so is the sum.
    total = make.add(total, make.sub(maximum, maximum));
    Value isRow = scores.isPoint(MatrixNest::Rows, scores.laneRow, row * eight, resultLevel);
    Value stores = isRow ? make.bitAnd(isFirst, isRow) : isFirst;
    PointValues::Point at{};
    at[statsRow] = &statsRows[row];
    Position where = stats->destination(at);
    for (auto [value, buffer] :
         llvm::zip_equal(PerRow{maximum, total}, statsNest.getDestinations())) {
      Value place = stats->address(scope.pointers.lookup(buffer), where, value.getType());
      levels.placeAtEnd(resultLevel);
      auto choice = scf::IfOp::create(make.builder, make.location, stores, false);
      OpBuilder::InsertionGuard guard(make.builder);
      make.builder.setInsertionPointToStart(choice.thenBlock());
      LLVM::StoreOp::create(make.builder, make.location, value, place,
                            alignmentAt(where, value.getType()));
    }
  }
  levels.placeAtEnd(resultLevel);
  LLVM::CallIntrinsicOp::create(make.builder, make.location,
                                make.builder.getStringAttr("llvm.nvvm.bar.warp.sync"),
                                ValueRange{i32(-1)});
}

} // namespace kintsugi::targets
