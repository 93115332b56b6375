#include "search/matrix.h"

#include "cost/block_seconds.h"
#include "cost/matrix_cycles.h"
#include "loops/block_registers.h"
#include "loops/factor_move.h"
#include "loops/loop_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

constexpr int64_t chunk = FactorMove::elements;

class MatrixChoice {
public:
  MatrixChoice(const LoopNest &nest, const MatrixProduct &product, const Schedule &schedule,
               const BlockLimits &limits, Wish wish)
      : nest(nest), product(product), buffers(schedule.buffers), threads(schedule.threads),
        limits(limits), wish(wish), tiles(double(schedule.tiles())),
        moves(factorMovesOf(nest, product, schedule)),
        cycles(nest, product, schedule, limits, moves) {
    const Expr &body = nest.bodies[0];
    rowsLieAlong = liesAlongDepth(body.operand(1 - product.columnsFactor));
    columnsLieAlong = liesAlongDepth(body.operand(product.columnsFactor));
  }

  std::optional<BlockCycles> choose(MatrixTile &best) {
    unsigned warps = unsigned(threads / limits.core.subgroup);
    for (unsigned warpsK : {1u, 2u, 4u})
      for (unsigned down = 1; down * warpsK <= warps; down *= 2) {
        for (unsigned warpRows : {16, 32, 48, 64})
          for (unsigned warpColumns : {16, 32, 48, 64, 96, 128})
            considerDepths({down, warps / down / warpsK, warpsK, false}, warpRows, warpColumns,
                           best);
        if (limits.ringBytes == 0 || down % 4 != 0)
          continue;
        for (unsigned warpRows : {16, 32, 48})
          for (unsigned warpColumns : {16, 32, 64, 96, 128, 192, 256})
            considerDepths({down, warps / down / warpsK, warpsK, true}, warpRows, warpColumns,
                           best);
      }
    if (bestCycles && !wish.wanted)
      best = withLongRing(best);
    best.inBulk = best.inFours && limits.bulk; // Estimated as if threads copied all.
    return bestCycles;
  }

private:
  /// Whether each point's terms are staged side by side, as many lines as there are points: of
  /// lines of terms there are 2 to the power of something (see targets/nvidia/matrix_nest).
  bool liesAlongDepth(const Expr &factor) const {
    unsigned last = nest.parallel.size() + nest.numReductions() - 1;
    if (nest.extentOf(last) % chunk != 0)
      return false;
    bool all = true, any = false;
    factor.walk([&](const Expr &e) {
      if (e.kind() != ExprKind::Read)
        return;
      int64_t stride =
          buffers[e.readValue().number].packable ? 1 : strideOf(e.readIndices()[0], last);
      all &= stride == 0 || stride == 1;
      any |= stride == 1;
    });
    return all && any;
  }

  /// Three sixteens, or twice or four times as many, where a tile has just so many lines.
  static bool isThreefold(unsigned size) { return size % 3 == 0; }
  bool fits(const MatrixTile &tile, unsigned warpRows, unsigned warpColumns) const {
    return (!isThreefold(warpRows) || (rowsLieAlong && product.numRows == tile.rows)) &&
           (!isThreefold(warpColumns) || (columnsLieAlong && product.numColumns == tile.columns));
  }

  struct Warps {
    unsigned down, across, warpsK;
    bool inFours;
  };

  void considerDepths(Warps warps, unsigned warpRows, unsigned warpColumns, MatrixTile &best) {
    MatrixTile tile;
    tile.element = product.element;
    tile.columnsFactor = product.columnsFactor;
    tile.down = warps.down;
    tile.across = warps.across;
    tile.warpsK = warps.warpsK;
    tile.inFours = warps.inFours;
    tile.rows = warpRows * tile.down;
    tile.columns = warpColumns * tile.across;
    constexpr unsigned mostResults = 64 * 64; // Of a warp: 128 registers of each thread.
    bool isTooLarge = (tile.rows > 16 * tile.down && tile.rows >= 2 * product.numRows) ||
                      (tile.columns > 16 * tile.across && tile.columns >= 2 * product.numColumns);
    if (warpRows * warpColumns > mostResults || isTooLarge || !fits(tile, warpRows, warpColumns))
      return;
    for (tile.depth = 16 * tile.warpsK; tile.depth <= 128; tile.depth *= 2) {
      bool isWhole = tile.rows * tile.depth % (chunk * threads) == 0 &&
                     tile.columns * tile.depth % (chunk * threads) == 0;
      if (!isWhole || (tile.depth > 16 && tile.depth >= 2 * product.depth) ||
          (tile.depth > 64 && tile.warpsK == 1))
        continue;
      for (tile.blocks = 1; tile.blocks <= limits.blocks; tile.blocks *= 2)
        if (tile.blocks == 1 || product.depth >= int64_t(tile.depth) * tile.blocks)
          considerStages(tile, best);
    }
  }

  unsigned mostStages(const MatrixTile &tile) const {
    return unsigned(std::clamp<int64_t>(cycles.stepsOf(tile) + 1, fewestStages, 8));
  }

  /// As many stages as hide the way from memory, or as fit.
  void considerStages(MatrixTile tile, MatrixTile &best) {
    double wanted =
        std::ceil(cycles.arrival(tile) / std::max(cycles.busyStep(tile), cycles.waitStep(tile))) +
        1;
    wanted += tile.inFours ? 1 : 0;
    unsigned most = mostStages(tile);
    tile.stages = unsigned(std::clamp<double>(wanted, fewestStages, most));
    int64_t limit = tile.inFours ? limits.ringBytes : limits.scratchBytes;
    if (const MatrixTile *own = wish.wanted ? std::get_if<MatrixTile>(wish.wanted) : nullptr)
      tile.stages = std::clamp(own->stages, fewestStages, most); // Those may be any.
    while (tile.stages > fewestStages && tile.ringBytes() > limit)
      --tile.stages;
    MatrixTile shortest = tile; // For other devices.
    shortest.stages = fewestStages;
    if (tile.ringBytes() <= limit && shortest.ringBytes() <= limits.scratchBytes)
      consider(tile, best);
  }

  /// Blocks have uneven shares of the way from memory, which the estimate does not know: where no
  /// other block works meanwhile, more is on its way than it asks for.
  MatrixTile withLongRing(MatrixTile tile) const {
    constexpr unsigned more = 2;
    bool isAlone = tiles * tile.blocks <= coresOfClusters(tile.blocks, limits.cores);
    if (!tile.inFours || !isAlone)
      return tile;
    tile.stages = std::min(mostStages(tile), tile.stages + more);
    while (tile.ringBytes() > limits.ringBytes)
      --tile.stages;
    return tile;
  }

  void consider(const MatrixTile &tile, MatrixTile &best) {
    int registers = registersOf(tile, threads, moves);
    if (registers > 255 || threads * registers > limits.core.registers ||
        !wish.allows(chosenOf(tile)))
      return;
    BlockCycles own = cycles.of(tile);
    double cost = cycles.costOf(own, tile);
    wish.tell(cost, chosenOf(withLongRing(tile)));
    if (bestCycles && cost >= bestCost * 0.999)
      return;
    bestCycles = own;
    bestCost = cost;
    best = tile;
  }

  const LoopNest &nest;
  const MatrixProduct &product;
  llvm::ArrayRef<Buffer> buffers;
  int threads;
  const BlockLimits &limits;
  Wish wish;
  double tiles;
  const FactorMoves moves;
  const MatrixCycles cycles;
  bool rowsLieAlong = false, columnsLieAlong = false;
  std::optional<BlockCycles> bestCycles;
  double bestCost = 0;
};

/// The iterator of the sum along which a factor's elements lie side by side, as chunks of one move;
/// any that has chunks, where only constants do, which are packed.
std::optional<unsigned> chunkedDepth(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers) {
  std::optional<unsigned> found, ofConstant;
  for (unsigned k = 0; k < nest.numReductions(); ++k) {
    unsigned iterator = nest.parallel.size() + k;
    if (nest.extentOf(iterator) % chunk != 0)
      continue;
    ofConstant = ofConstant.value_or(k);
    nest.bodies[0].walk([&](const Expr &e) {
      if (!found && e.kind() == ExprKind::Read && !buffers[e.readValue().number].packable &&
          strideOf(e.readIndices()[0], iterator) == 1)
        found = k;
    });
  }
  return found ? found : ofConstant;
}

} // namespace

std::optional<BlockCycles> chooseMatrix(LoopNest &nest, const MatrixProduct &product,
                                        const Schedule &schedule, const BlockLimits &limits,
                                        Wish wish) {
  if (std::optional<unsigned> depth = chunkedDepth(nest, schedule.buffers))
    moveReductionInnermost(nest, *depth, schedule.space.size());
  MatrixTile tile;
  std::optional<BlockCycles> cycles =
      MatrixChoice(nest, product, schedule, limits, wish).choose(tile);
  if (cycles)
    nest.matrix = tile;
  return cycles;
}

} // namespace kintsugi::search
