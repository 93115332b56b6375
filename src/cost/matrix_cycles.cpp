#include "cost/matrix_cycles.h"

#include "cost/block_seconds.h"
#include "loops/fuse.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace kintsugi::cost {

using namespace loops;

static constexpr int64_t chunk = FactorMove::elements;
static constexpr double barrierCycles = 200;

MatrixCycles::MatrixCycles(const LoopNest &nest, const MatrixProduct &product,
                           const Schedule &schedule, const BlockLimits &limits,
                           const FactorMoves &moves)
    : product(product), threads(schedule.threads), limits(limits), moves(moves),
      tiles(double(schedule.tiles())) {
  for (const te::Expr &finish : nest.epilogue)
    epilogueOperations += operationsOf(finish);
}

double MatrixCycles::costOf(const BlockCycles &cycles, const MatrixTile &tile) const {
  constexpr double together = 2;
  double alone = std::ceil(tiles / limits.cores);
  double each = std::ceil(tiles * tile.blocks / coresOfClusters(tile.blocks, limits.cores));
  double rounds = std::ceil(each / together) / std::ceil(alone / together);
  return BlockCycles{cycles.busy * each / alone, cycles.alone * rounds}.cost();
}

int64_t MatrixCycles::stepsOf(const MatrixTile &tile) const {
  return llvm::divideCeil(llvm::divideCeil(product.depth, int64_t(tile.depth)), tile.blocks);
}

double MatrixCycles::farBytes(const MatrixTile &tile) const {
  constexpr double ofAll = 6000, mostOfOne = 64, leastOfOne = 35;
  return std::clamp(ofAll / (tiles * tile.blocks), leastOfOne, mostOfOne);
}

double MatrixCycles::stagedChunks(const MatrixTile &tile) const {
  double chunks = double(tile.depth) / double(chunk * threads);
  return chunks * (tile.rows * moves.rows.instructions + tile.columns * moves.columns.instructions);
}

double MatrixCycles::busyStep(const MatrixTile &tile) const {
  const double multiplyAdds = limits.core.matrixMultiplyAdds;
  const double scratchBytes = limits.core.scratchBytesACycle, schedulers = limits.core.schedulers;
  double rows = tile.rows, columns = tile.columns, depth = tile.depth;
  double stored = (rows + columns) * depth * 2; // Zeros, where nothing is brought.
  double warps = threads / limits.core.subgroup, sixteens = depth / 16 / tile.warpsK;
  double warpRows = rows / tile.down, warpColumns = columns / tile.across;
  if (tile.inFours) {
    double issued = warps / schedulers * (stagedChunks(tile) + 20 + 2 * depth / 16);
    double moved = stored + productsInFours(tile) * (64 + columns / tile.across) * 32;
    return std::max({productsInFours(tile) * eachInFours(tile), moved / scratchBytes,
                     trafficBytes(tile) / farBytes(tile), issued});
  }
  double moved = stored + warps * sixteens * (warpRows + warpColumns) * 32;
  double onUnits = warpRows / 16 + warpColumns / 16 + warpRows * warpColumns / 128;
  double issued = warps / schedulers * (stagedChunks(tile) + 12 + sixteens * onUnits);
  return std::max({rows * columns * depth / multiplyAdds, moved / scratchBytes,
                   trafficBytes(tile) / farBytes(tile), issued});
}

/// By the length of contiguous runs.
static double perByte(int64_t bytes) { return bytes < 64 ? 2.7 : bytes < 128 ? 1.2 : 1; }

double MatrixCycles::trafficFactor(const FactorMove &move, const MatrixTile &tile) const {
  double byDepth = perByte(2 * int64_t(tile.depth));
  if (move.instructions > FactorMove::border)
    return byDepth;
  constexpr int64_t sector = 32;
  int64_t bytes = 2 * (move.isAlongSum ? std::min<int64_t>(move.run, tile.depth) : move.run);
  bool inBoxes = tile.inFours && limits.bulk;
  double ofHalfSectors = inBoxes ? 4.5 : 2;
  double byRun = bytes < sector ? ofHalfSectors : inBoxes ? perByte(bytes) : 1;
  return std::max(byDepth, byRun);
}

double MatrixCycles::bytesBrought(const MatrixTile &tile, double ofRows, double ofColumns) const {
  double rows = std::min<double>(tile.rows, double(product.numRows));
  double columns = std::min<double>(tile.columns, double(product.numColumns));
  return (rows * ofRows + columns * ofColumns) * tile.depth * 2;
}

double MatrixCycles::trafficBytes(const MatrixTile &tile) const {
  return bytesBrought(tile, trafficFactor(moves.rows, tile), trafficFactor(moves.columns, tile));
}

double MatrixCycles::cutBytes(const MatrixTile &tile) const {
  return bytesBrought(tile, 1, 1) * perByte(2 * int64_t(tile.depth));
}

double MatrixCycles::arrival(const MatrixTile &tile) const {
  return limits.core.memoryCycles + cutBytes(tile) / farBytes(tile);
}

double MatrixCycles::waitStep(const MatrixTile &tile) const {
  constexpr double eachDepth = 200, computed = 400;
  bool waitsForReads = moves.rows.instructions > FactorMove::border ||
                       moves.columns.instructions > FactorMove::border;
  if (tile.inFours) {
    constexpr double latency = 60;
    double barrier = 60 + 30 * double(threads / limits.core.subgroup);
    double products = productsInFours(tile) / (tile.down / 4 * tile.across * tile.warpsK);
    bool waits = tile.ahead() + 1 == tile.stages;
    return barrier + stagedChunks(tile) + (waitsForReads ? computed : 0) +
           (waits ? latency + products * eachInFours(tile) : 0);
  }
  return eachDepth * tile.depth / 16 / tile.warpsK + barrierCycles + stagedChunks(tile) +
         (waitsForReads ? computed : 0);
}

double MatrixCycles::productsInFours(const MatrixTile &tile) {
  return double(tile.rows) / 64 * tile.across * tile.depth / 16;
}

double MatrixCycles::eachInFours(const MatrixTile &tile) {
  double columns = double(tile.columns) / tile.across;
  return std::max(columns / 2, (64 + columns) / 4);
}

BlockCycles MatrixCycles::of(const MatrixTile &tile) const {
  constexpr double start = 900, betweenSteps = 60;
  constexpr double latency = 2.8; // Of one instruction of a warp after the other.
  double rows = tile.rows, columns = tile.columns;
  double busy = busyStep(tile);
  double waits = std::max(waitStep(tile), arrival(tile) / tile.ahead());
  double passes = std::ceil(double(product.numRows) / rows) *
                  std::ceil(double(product.numColumns) / columns) * double(product.numBatch);
  double steps = double(stepsOf(tile));
  double own = rows * columns / threads / tile.blocks; // Results of a thread.
  double join = tile.warpsK * tile.blocks > 1 ? joining(tile) : 0;
  double results =
      own * (epilogueOperations + 8) * threads / limits.core.subgroup / limits.core.schedulers +
      join;
  double waiting = own * (epilogueOperations + 3) * latency + join;
  BlockCycles cycles;
  cycles.busy = passes * (steps * busy + results);
  cycles.alone = passes * (steps * (std::max(busy, waits) + betweenSteps) +
                           std::max(results, waiting) + limits.core.memoryCycles + start);
  return cycles;
}

double MatrixCycles::joining(const MatrixTile &tile) const {
  constexpr double clusterBytes = 10, clusterBarrier = 250;
  const double scratchBytes = limits.core.scratchBytesACycle;
  double bytes = double(tile.rows) * tile.columns * 4 * tile.warpsK;
  bool isCluster = tile.blocks > 1;
  return 2 * (isCluster ? clusterBarrier : barrierCycles) + bytes / scratchBytes +
         bytes / (isCluster ? clusterBytes : scratchBytes);
}

} // namespace kintsugi::cost
