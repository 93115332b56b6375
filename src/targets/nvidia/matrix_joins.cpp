//===- matrix_joins.cpp - Sums that warps or blocks have a part of each ---===//

#include "targets/nvidia/matrix_nest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t warp = 32;
static constexpr int64_t fourBytes = 16; ///< Of a thread's four results of 16 x 8.

/// Until all that has a part of this tile's sums is here.
void MatrixNest::waitForAll() {
  if (cluster.blocks > 1)
    cluster.wait();
  else
    scope.threads->wait(make.builder);
}

/// Puts what this warp has summed where the ring was: fours of its threads side by side, by its
/// share, by their number, by its depth.
void MatrixNest::leaveSums(const Sums &sums) {
  int64_t shares = matrix.getDown() * matrix.getAcross();
  levels.placeAtEnd(passLevel);
  scope.threads->wait(make.builder); // The ring is read to the end.
  Value lane =
      make.add(make.shiftLeft(share, llvm::Log2_64(warp)), make.bitAnd(thread, i32(warp - 1)));
  ownSums = units.atByte(ring, make.mul(lane, i32(fourBytes)));
  sumsApart = shares * warp * fourBytes;
  depthsApart = int64_t(sums.size()) * sumsApart;
  Value place = units.atByte(ownSums, make.mul(warpK, i32(depthsApart)));
  auto vector = VectorType::get({4}, make.builder.getF32Type());
  for (auto [number, sum] : llvm::enumerate(sums)) {
    Value four = make.undefined(vector);
    for (unsigned part = 0; part < 4; ++part)
      four = make.withLane(four, sum[part], part);
    LLVM::StoreOp::create(make.builder, make.location, four,
                          units.atByte(place, int64_t(number) * sumsApart), fourBytes);
  }
  waitForAll();
}

/// Of the warps that have parts of the same sums each finishes its share of the results: some of
/// their columns, and where those are few, of their rows.
void MatrixNest::joinParts() {
  constexpr int64_t columnsAtOnce = 2; // See storeFours.
  int64_t across = std::gcd(parts(), resultColumns / columnsAtOnce);
  int64_t down = std::gcd(parts() / across, resultRows), allColumns = resultColumns;
  Value number = warpK;
  if (cluster.blocks > 1)
    number = make.add(make.mul(cluster.rank(), i32(matrix.getWarpsK())), number);
  auto finishes = scf::IfOp::create(make.builder, make.location,
                                    make.lessUnsigned(number, i32(across * down)), false);
  levels.loopCreated(passLevel, finishes);
  resultLevel = passLevel + 1;
  levels.enter(resultLevel, finishes.thenBlock());
  levels.placeAtEnd(resultLevel);
  resultRows /= down;
  resultColumns /= across;
  Value row = make.mul(make.shiftRight(number, llvm::Log2_64(across)), i32(resultRows));
  Value column = make.mul(make.bitAnd(number, i32(across - 1)), i32(resultColumns));
  Sums sums = joinSums(make.add(make.mul(row, i32(allColumns)), column), allColumns);
  laneRow = make.add(laneRow, make.mul(row, i32(blockOf(rows))));
  laneColumn = make.add(laneColumn, make.shiftLeft(column, 3));
  laneFour = make.add(laneFour, make.shiftLeft(column, 3));
  storeResults(sums);
  levels.resume(passLevel);
  levels.placeAtEnd(passLevel);
  if (cluster.blocks > 1) // Until no other block reads what is here.
    cluster.wait();
}

/// What this warp finishes, from the four number `first` on, `apart` fours from row to row: the
/// parts are added in the order of their terms.
MatrixNest::Sums MatrixNest::joinSums(Value first, int64_t apart) {
  auto vector = VectorType::get({4}, make.builder.getF32Type());
  Value from = units.atByte(ownSums, make.mul(first, i32(sumsApart)));
  Sums sums(size_t(resultRows * resultColumns));
  for (int64_t part = 0; part < parts(); ++part) {
    int64_t block = part / matrix.getWarpsK(), warpK = part % matrix.getWarpsK();
    Value place = cluster.blocks > 1 ? cluster.placeIn(i32(block), from) : from;
    for (auto [number, sum] : llvm::enumerate(sums)) {
      int64_t four = int64_t(number) / resultColumns * apart + int64_t(number) % resultColumns;
      Value all = LLVM::LoadOp::create(make.builder, make.location, vector,
                                       units.atByte(place, warpK * depthsApart + four * sumsApart),
                                       fourBytes);
      for (unsigned k = 0; k < 4; ++k)
        sum[k] = part == 0 ? make.lane(all, k) : make.add(sum[k], make.lane(all, k));
    }
  }
  return sums;
}

} // namespace kintsugi::targets
