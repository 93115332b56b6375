//===- matrix_cycles.h - The cycles of a product on matrix units ------------===//
//
// What a block of threads takes for a product (loops/matrix_product.h) with a matrix tile: cycles
// of the units, bytes through scratch and from far, instructions, and what the block waits.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_MATRIX_CYCLES_H
#define KINTSUGI_COST_MATRIX_CYCLES_H

#include "cost/block_cycles.h"
#include "loops/block_memory.h"
#include "loops/matrix_product.h"

namespace kintsugi::cost {

class MatrixCycles {
public:
  /// Of a product that is the nest; all outlive this.
  MatrixCycles(const loops::LoopNest &nest, const loops::MatrixProduct &product,
               const loops::Schedule &schedule, const loops::BlockLimits &limits,
               const loops::FactorMoves &moves);

  /// Of each block that a tile has.
  BlockCycles of(const loops::MatrixTile &tile) const;
  /// As BlockCycles::cost, where tiles may be of several blocks: a core may have several.
  double costOf(const BlockCycles &cycles, const loops::MatrixTile &tile) const;
  /// Of one block.
  int64_t stepsOf(const loops::MatrixTile &tile) const;
  /// Cycles of a core for a step: multiply-adds, bytes through its scratch and from far,
  /// instructions issued.
  double busyStep(const loops::MatrixTile &tile) const;
  /// Cycles from the start of a step's copies until all have come.
  double arrival(const loops::MatrixTile &tile) const;
  /// What a block alone waits in a step: at the barrier, and from one instruction to the next.
  double waitStep(const loops::MatrixTile &tile) const;

private:
  /// Bytes that a core brings in a cycle when those of all blocks do.
  double farBytes(const loops::MatrixTile &tile) const;
  double stagedChunks(const loops::MatrixTile &tile) const;
  /// Bytes of traffic for each byte of a factor, by the length of its contiguous runs: boxes come
  /// run by run, and a sector of 32 bytes comes as a whole. Fitted to convolutions on an H200.
  double trafficFactor(const loops::FactorMove &move, const loops::MatrixTile &tile) const;
  /// Of each byte of a factor so many. What is past the last row or column is not brought.
  double bytesBrought(const loops::MatrixTile &tile, double ofRows, double ofColumns) const;
  /// What memory and the L2 cache move for a step: where many blocks ask for more than they give.
  double trafficBytes(const loops::MatrixTile &tile) const;
  /// As if so many bytes were brought in long pieces: a copy of a warp is slower, the more places
  /// it comes from.
  double cutBytes(const loops::MatrixTile &tile) const;
  /// Of a step, by four warps each.
  static double productsInFours(const loops::MatrixTile &tile);
  /// Cycles of the units for one: it multiplies, and both operands come from scratch.
  static double eachInFours(const loops::MatrixTile &tile);
  /// Sums go through scratch, of a cluster through that of all its blocks.
  double joining(const loops::MatrixTile &tile) const;

  const loops::MatrixProduct &product;
  const int threads;
  const loops::BlockLimits &limits;
  const loops::FactorMoves &moves;
  const double tiles;
  double epilogueOperations = 0;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_MATRIX_CYCLES_H
