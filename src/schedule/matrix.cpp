#include "schedule/matrix.h"

#include "schedule/block_seconds.h"
#include "schedule/factor_move.h"
#include "schedule/fuse.h"
#include "schedule/loop_order.h"
#include "schedule/thread_work.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace kintsugi::schedule {

using namespace te;

namespace {

constexpr int64_t chunk = FactorMove::elements;

/// The type that both factors have, or may be rounded to.
std::optional<ElementType> elementOf(const Expr &body, std::optional<ElementType> rounded) {
  std::optional<ElementType> element = rounded;
  for (const Expr &factor : body.operands()) {
    ElementType own = unwidened(factor).type();
    if (own != ElementType::F16 && own != ElementType::BF16)
      continue;
    if (element && *element != own)
      return std::nullopt;
    element = own;
  }
  bool areExact = llvm::all_of(body.operands(), [&](const Expr &factor) {
    return element && unwidened(factor).type() == *element;
  });
  return areExact || rounded ? element : std::nullopt;
}

} // namespace

std::optional<MatrixProduct> matrixProductOf(const LoopNest &nest,
                                             std::optional<ElementType> rounded) {
  if (!nest.reduction || nest.reduction->combiner != Combiner::Sum || nest.bodies.size() != 1 ||
      nest.reduction->accumulator != ElementType::F32 || !nest.spans.empty() || nest.inPasses)
    return std::nullopt;
  const Expr &body = nest.bodies[0];
  if (body.kind() != ExprKind::Binary || body.binaryOp() != BinaryOp::Mul)
    return std::nullopt;
  std::optional<ElementType> element = elementOf(body, rounded);
  if (!element)
    return std::nullopt;
  MatrixProduct product{*element, 1, {}, {}, {}};
  llvm::SmallVector<unsigned> own[2];
  for (unsigned k = 0; k < nest.parallel.size(); ++k) {
    bool first = body.operand(0).uses(k), second = body.operand(1).uses(k);
    if (!first && !second)
      return std::nullopt;
    (first && second ? product.batch : own[second]).push_back(k);
  }
  if (own[0].empty() || own[1].empty())
    return std::nullopt;
  // Columns are what lies side by side in the results.
  product.columnsFactor = own[0].back() > own[1].back() ? 0 : 1;
  product.columns = own[product.columnsFactor];
  product.rows = own[1 - product.columnsFactor];
  auto pointsOf = [&](llvm::ArrayRef<unsigned> iterators) {
    int64_t points = 1;
    for (unsigned k : iterators)
      points *= nest.extentOf(k);
    return points;
  };
  product.numRows = pointsOf(product.rows);
  product.numColumns = pointsOf(product.columns);
  product.numBatch = pointsOf(product.batch);
  for (unsigned k = 0; k < nest.numReductions(); ++k)
    product.depth *= nest.extentOf(nest.parallel.size() + k);
  if (product.numRows == 0 || product.numColumns == 0 || product.numBatch == 0 ||
      product.depth < chunk)
    return std::nullopt;
  return product;
}

namespace {

class MatrixChoice {
public:
  MatrixChoice(const LoopNest &nest, const MatrixProduct &product, const Schedule &schedule,
               const BlockLimits &limits, Wish wish)
      : nest(nest), product(product), buffers(schedule.buffers), threads(schedule.threads),
        limits(limits), wish(wish), tiles(double(schedule.tiles())) {
    const Expr &body = nest.bodies[0];
    const Expr &ofRows = body.operand(1 - product.columnsFactor);
    const Expr &ofColumns = body.operand(product.columnsFactor);
    FactorMove rows = factorMoveOf(ofRows, nest, product.element, product.rows, schedule);
    FactorMove columns = factorMoveOf(ofColumns, nest, product.element, product.columns, schedule);
    rowsMove = rows.instructions;
    columnsMove = columns.instructions;
    rowsComeAlone = rows.isAlone;
    columnsComeAlone = columns.isAlone;
    rowsLieAlong = liesAlongDepth(ofRows);
    columnsLieAlong = liesAlongDepth(ofColumns);
    for (const Expr &finish : nest.epilogue)
      epilogueOperations += operationsOf(finish);
  }

  /// That a thread needs, about.
  int registersOf(const MatrixTile &tile) const {
    int warpRows = tile.rows / tile.down, warpColumns = tile.columns / tile.across;
    int subgroup = threads / int(tile.down * tile.across * tile.warpsK);
    int results = warpRows * warpColumns / subgroup;
    int most = tile.inFours ? 64 + results : 56 + results + warpRows / 4 + warpColumns / 4;
    // Elements that come one by one are all on their way at once, each with its place.
    constexpr double ofElement = 1.5;
    int mostAlone = 64;
    int alone = (rowsComeAlone * tile.rows + columnsComeAlone * tile.columns) * tile.depth;
    return most + int(ofElement * std::min(mostAlone, alone / threads));
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
    return unsigned(std::clamp<int64_t>(stepsOf(tile) + 1, 2, 8));
  }

  /// As many stages as hide the way from memory, or as fit.
  void considerStages(MatrixTile tile, MatrixTile &best) {
    double wanted = std::ceil(arrival(tile) / std::max(busyStep(tile), waitStep(tile))) + 1;
    wanted += tile.inFours ? 1 : 0;
    unsigned most = mostStages(tile);
    tile.stages = unsigned(std::clamp<double>(wanted, 2, most));
    int64_t limit = tile.inFours ? limits.ringBytes : limits.scratchBytes;
    if (const MatrixTile *own = wish.wanted ? std::get_if<MatrixTile>(wish.wanted) : nullptr)
      tile.stages = std::clamp(own->stages, 2u, most); // Those may be any.
    while (tile.stages > 2 && tile.ringBytes() > limit)
      --tile.stages;
    MatrixTile shortest = tile; // For other devices.
    shortest.stages = 2;
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
    int registers = registersOf(tile);
    if (registers > 255 || threads * registers > limits.core.registers ||
        !wish.allows(chosenOf(tile)))
      return;
    BlockCycles cycles = estimate(tile);
    double cost = costOf(cycles, tile);
    wish.tell(cost, chosenOf(withLongRing(tile)));
    if (bestCycles && cost >= bestCost * 0.999)
      return;
    bestCycles = cycles;
    bestCost = cost;
    best = tile;
  }

  /// As BlockCycles::cost, where tiles may be of several blocks: a core may have several.
  double costOf(const BlockCycles &cycles, const MatrixTile &tile) const {
    constexpr double together = 2;
    double alone = std::ceil(tiles / limits.cores);
    double each = std::ceil(tiles * tile.blocks / coresOfClusters(tile.blocks, limits.cores));
    double rounds = std::ceil(each / together) / std::ceil(alone / together);
    return BlockCycles{cycles.busy * each / alone, cycles.alone * rounds}.cost();
  }

  /// Of one block.
  int64_t stepsOf(const MatrixTile &tile) const {
    return llvm::divideCeil(llvm::divideCeil(product.depth, int64_t(tile.depth)), tile.blocks);
  }

  /// Bytes that a core brings in a cycle when those of all blocks do.
  double farBytes(const MatrixTile &tile) const {
    constexpr double ofAll = 6000, mostOfOne = 64, leastOfOne = 35;
    return std::clamp(ofAll / (tiles * tile.blocks), leastOfOne, mostOfOne);
  }

  double stagedChunks(const MatrixTile &tile) const {
    double chunks = double(tile.depth) / double(chunk * threads);
    return chunks * (tile.rows * rowsMove + tile.columns * columnsMove);
  }

  /// Cycles of a core for a step: multiply-adds, bytes through its scratch and from far,
  /// instructions issued.
  double busyStep(const MatrixTile &tile) const {
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
                       cutBytes(tile) / farBytes(tile), issued});
    }
    double moved = stored + warps * sixteens * (warpRows + warpColumns) * 32;
    double onUnits = warpRows / 16 + warpColumns / 16 + warpRows * warpColumns / 128;
    double issued = warps / schedulers * (stagedChunks(tile) + 12 + sixteens * onUnits);
    return std::max({rows * columns * depth / multiplyAdds, moved / scratchBytes,
                     cutBytes(tile) / farBytes(tile), issued});
  }

  /// What is past the last row or column is not brought.
  double bytesBrought(const MatrixTile &tile) const {
    double rows = std::min<double>(tile.rows, double(product.numRows));
    double columns = std::min<double>(tile.columns, double(product.numColumns));
    return (rows + columns) * tile.depth * 2;
  }

  /// As if so many bytes were brought in long pieces: a copy of a warp is slower, the more places
  /// it comes from.
  double cutBytes(const MatrixTile &tile) const {
    return bytesBrought(tile) * (tile.depth < 32 ? 2.7 : tile.depth < 64 ? 1.2 : 1);
  }

  /// Cycles from the start of a step's copies until all have come.
  double arrival(const MatrixTile &tile) const {
    return limits.core.memoryCycles + cutBytes(tile) / farBytes(tile);
  }

  /// What a block alone waits in a step: at the barrier, and from one instruction to the next.
  double waitStep(const MatrixTile &tile) const {
    constexpr double eachDepth = 200, computed = 400;
    bool waitsForReads = rowsMove > FactorMove::border || columnsMove > FactorMove::border;
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

  /// Of a step, by four warps each.
  static double productsInFours(const MatrixTile &tile) {
    return double(tile.rows) / 64 * tile.across * tile.depth / 16;
  }

  /// Cycles of the units for one: it multiplies, and both operands come from scratch.
  static double eachInFours(const MatrixTile &tile) {
    double columns = double(tile.columns) / tile.across;
    return std::max(columns / 2, (64 + columns) / 4);
  }

  BlockCycles estimate(const MatrixTile &tile) const {
    constexpr double start = 600, betweenSteps = 60;
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

  /// Sums go through scratch, of a cluster through that of all its blocks.
  double joining(const MatrixTile &tile) const {
    constexpr double clusterBytes = 10, clusterBarrier = 250;
    const double scratchBytes = limits.core.scratchBytesACycle;
    double bytes = double(tile.rows) * tile.columns * 4 * tile.warpsK;
    bool isCluster = tile.blocks > 1;
    return 2 * (isCluster ? clusterBarrier : barrierCycles) + bytes / scratchBytes +
           bytes / (isCluster ? clusterBytes : scratchBytes);
  }

  static constexpr double barrierCycles = 200;

  const LoopNest &nest;
  const MatrixProduct &product;
  llvm::ArrayRef<Buffer> buffers;
  int threads;
  const BlockLimits &limits;
  Wish wish;
  double tiles;
  double rowsMove = 0, columnsMove = 0, epilogueOperations = 0;
  bool rowsLieAlong = false, columnsLieAlong = false;
  bool rowsComeAlone = false, columnsComeAlone = false;
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

int registersOf(const LoopNest &nest, const Schedule &schedule) {
  std::optional<MatrixProduct> product = matrixProductOf(nest, nest.matrix->element);
  assert(product && "a nest with a matrix tile is a product");
  return MatrixChoice(nest, *product, schedule, {}, {}).registersOf(*nest.matrix);
}

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

} // namespace kintsugi::schedule
