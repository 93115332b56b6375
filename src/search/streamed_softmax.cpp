#include "search/streamed_softmax.h"

#include "cost/thread_work.h"
#include "loops/block_registers.h"
#include "loops/factor_move.h"
#include "loops/loop_order.h"
#include "loops/scratch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

constexpr int64_t unitRows = 16, chunk = 8;

bool isNarrow(ElementType type) { return isFloat(type) && bitsOf(type) == 16; }

class Streamed {
public:
  Streamed(llvm::MutableArrayRef<LoopNest> nests, Schedule &schedule, const BlockLimits &limits,
           Wish wish)
      : scores(nests[0]), stats(nests[1]), powers(nests[2]), weighted(nests[3]), schedule(schedule),
        limits(limits), wish(wish) {}

  bool matches() {
    return findProducts() && areStats() && arePowers() && areWeights() && serveNothingElse();
  }

  std::optional<BlockCycles> choose() {
    std::optional<BlockCycles> best;
    int64_t uniform = uniformColumns();
    unsigned warps = schedule.threads / limits.core.subgroup;
    for (unsigned across = 1; across <= warps; across *= 2)
      for (int64_t own : {32, 64, 128})
        for (unsigned stages : {2, 3}) {
          consider({warps / across, across, false}, own, stages, uniform, best);
          if (limits.ringBytes > 0 && across == 1 && warps % 4 == 0)
            consider({warps, across, true}, own, stages, uniform, best);
        }
    return best;
  }

  void mark(ThreadMemo &memo) {
    for (unsigned buffer : {scoresBuffer(), powersBuffer()})
      schedule.buffers[buffer].standsIn = true;
    scores.streamed = true;
    for (LoopNest *nest : {&stats, &powers})
      chooseThreads(*nest, schedule, limits.core, memo);
  }

private:
  unsigned scoresBuffer() const { return scores.destinations[0]; }
  unsigned powersBuffer() const { return powers.destinations[0]; }

  bool findProducts() {
    std::optional<MatrixProduct> ofScores = matrixProductOf(scores, limits.rounded),
                                 ofWeighted = matrixProductOf(weighted, limits.rounded);
    if (!ofScores || !ofWeighted || ofScores->numBatch != 1 || ofWeighted->numBatch != 1)
      return false;
    scoresProduct = *ofScores;
    weightedProduct = *ofWeighted;
    rows = scoresProduct.numRows;
    columns = scoresProduct.numColumns;
    keysMove = moveOf(scores, scoresProduct);
    valuesMove = moveOf(weighted, weightedProduct);
    return scoresProduct.element == weightedProduct.element && weightedProduct.numRows == rows &&
           weightedProduct.depth == columns && weighted.numReductions() == 1 &&
           isInScratch(scores) &&
           isRowMajor(scores.destinationIndex, scores, scoresProduct.rows, 0,
                      scoresProduct.columns);
  }

  /// Of what the columns' factor needs beyond a copy, the instructions of a thread for a chunk.
  double moveOf(const LoopNest &nest, const MatrixProduct &product) const {
    const Expr &factor = nest.bodies[0].operand(product.columnsFactor);
    FactorMove move = factorMoveOf(factor, nest, product.element, product.columns, schedule);
    return std::max(0.0, move.instructions - FactorMove::border);
  }

  bool isInScratch(const LoopNest &nest) const {
    return llvm::all_of(nest.destinations, [&](unsigned destination) {
      return schedule.buffers[destination].home == Home::Scratch;
    });
  }

  /// Whether a position is the number of a nest's point, by `rows` and then `inner`; of some
  /// iterator each.
  static bool isRowMajor(const Index &position, const LoopNest &nest, llvm::ArrayRef<unsigned> rows,
                         int64_t start, llvm::ArrayRef<unsigned> inner = {}) {
    if (!position.isAffine() || position.constantTerm() != start)
      return false;
    size_t terms = 0;
    int64_t stride = 1;
    for (llvm::ArrayRef<unsigned> iterators : {inner, rows})
      for (unsigned iterator : llvm::reverse(iterators)) {
        if (nest.extentOf(iterator) > 1 && position.coefficientOf(iterator) != stride)
          return false;
        terms += position.coefficientOf(iterator) != 0;
        stride *= nest.extentOf(iterator);
      }
    return terms == position.terms().size();
  }

  /// Whether every read of `buffer` in `expr` is at the element of the scores' shape where the
  /// iterators are.
  static bool readsAtPoint(const Expr &expr, unsigned buffer, const LoopNest &nest,
                           llvm::ArrayRef<unsigned> rows, llvm::ArrayRef<unsigned> inner) {
    bool isThere = true;
    expr.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && e.readValue().number == buffer)
        isThere &= isRowMajor(e.readIndices()[0], nest, rows, 0, inner);
    });
    return isThere;
  }

  static llvm::SmallVector<unsigned> firstOnes(unsigned count) {
    return llvm::to_vector(llvm::seq<unsigned>(0, count));
  }

  int64_t pointsOf(const LoopNest &nest, llvm::ArrayRef<unsigned> iterators) const {
    int64_t points = 1;
    for (unsigned iterator : iterators)
      points *= nest.extentOf(iterator);
    return points;
  }

  bool areStats() const {
    llvm::SmallVector<unsigned> own = firstOnes(stats.parallel.size());
    if (!stats.reduction || stats.reduction->combiner != Combiner::SoftmaxStats ||
        stats.reduction->accumulator != ElementType::F32 || stats.numReductions() != 1 ||
        !stats.spans.empty() || stats.extentOf(own.size()) != columns ||
        pointsOf(stats, own) != rows || !isInScratch(stats) ||
        !isRowMajor(stats.destinationIndex, stats, own, 0))
      return false;
    for (auto [number, finish] : llvm::enumerate(stats.epilogue))
      if (finish.kind() != ExprKind::Read || finish.readValue() != LoopNest::accumulator(number) ||
          finish.type() != ElementType::F32)
        return false;
    return stats.bodies[0].type() == ElementType::F32 &&
           readsAtPoint(stats.bodies[0], scoresBuffer(), stats, own, {unsigned(own.size())});
  }

  /// exp(x - m), rounded, of the same x: both nests number rows and columns alike.
  bool arePowers() const {
    unsigned last = powers.parallel.size() - 1;
    if (powers.reduction || powers.parallel.size() != stats.parallel.size() + 1 ||
        powers.extentOf(last) != columns || !powers.spans.empty() || !isInScratch(powers))
      return false;
    for (unsigned k = 0; k < last; ++k)
      if (powers.extentOf(k) != stats.extentOf(k))
        return false;
    llvm::SmallVector<unsigned> own = firstOnes(last);
    const Expr *power = &powers.bodies[0];
    if (power->kind() != ExprKind::Cast || power->type() != scoresProduct.element)
      return false;
    power = &power->operand(0);
    if (power->kind() != ExprKind::Unary || power->unaryOp() != UnaryOp::Exp)
      return false;
    const Expr &difference = power->operand(0);
    if (difference.kind() != ExprKind::Binary || difference.binaryOp() != BinaryOp::Sub ||
        difference.type() != ElementType::F32 || difference.operand(0) != stats.bodies[0])
      return false;
    const Expr &maximum = difference.operand(1);
    return maximum.kind() == ExprKind::Read &&
           maximum.readValue().number == stats.destinations[0] &&
           isRowMajor(maximum.readIndices()[0], powers, own, 0) &&
           isRowMajor(powers.destinationIndex, powers, own, 0, {last});
  }

  /// Whether the rows' factor of the last product is a power.
  bool areWeights() const {
    const Expr &factor = weighted.bodies[0].operand(1 - weightedProduct.columnsFactor);
    if (factor.kind() != ExprKind::Cast || factor.operand(0).kind() != ExprKind::Read)
      return false;
    const Expr &read = factor.operand(0);
    return read.readValue().number == powersBuffer() && isNarrow(read.type()) &&
           isRowMajor(read.readIndices()[0], weighted, weightedProduct.rows, 0,
                      {unsigned(weighted.parallel.size())});
  }

  /// Whether the nests' buffers are read where these nests read them alone.
  bool serveNothingElse() const {
    for (const LoopNest *nest : {&scores, &stats, &powers, &weighted})
      for (unsigned buffer : buffersRead(*nest)) {
        bool isOfScores = buffer == scoresBuffer() && nest != &stats && nest != &powers;
        bool isOfPowers = buffer == powersBuffer() && nest != &weighted;
        bool isOfStats = llvm::is_contained(stats.destinations, buffer) && nest == &scores;
        if (isOfScores || isOfPowers || isOfStats)
          return false;
      }
    const Expr &values = weighted.bodies[0].operand(weightedProduct.columnsFactor);
    bool isApart = true;
    values.walk([&](const Expr &e) {
      isApart &= e.kind() != ExprKind::Read || e.readValue().number != powersBuffer();
    });
    return isApart && llvm::none_of(schedule.nests, [&](const LoopNest &nest) {
             return llvm::is_contained(buffersRead(nest), scoresBuffer()) ||
                    llvm::is_contained(buffersRead(nest), powersBuffer());
           });
  }

  static int64_t depthOf(int64_t terms) {
    for (int64_t depth : {64, 32})
      if (terms % depth == 0)
        return depth;
    return terms > 32 ? 64 : terms > 16 ? 32 : 16;
  }

  /// How many neighbouring columns, from a multiple of that on, are shown or hidden together for
  /// all rows of a tile: all blocks that divide it may be left out. 0: there is no such condition.
  int64_t uniformColumns() const {
    const Expr &score = scores.epilogue[0];
    if (score.kind() != ExprKind::Select || !score.operand(2).isLiteral() ||
        score.operand(2).literalFloat() != -INFINITY || score.operand(0).kind() != ExprKind::Read)
      return 0;
    const Expr &condition = score.operand(0);
    int64_t uniform = 0;
    for (const Term &term : condition.readIndices()[0].terms())
      uniform = std::gcd(uniform, uniformColumnsOf(term.atom));
    return schedule.buffers[condition.readValue().number].home == Home::Memory ? uniform : 1;
  }

  /// 0: all; 1: none, or rows differ.
  int64_t uniformColumnsOf(const Atom &atom) const {
    if (atom.kind != AtomKind::Iterator && atom.kind != AtomKind::FloorDiv)
      return 1;
    Index index = atom.kind == AtomKind::Iterator ? Index::iterator(atom.iterator) : atom.operand;
    int64_t divisor = atom.kind == AtomKind::Iterator ? 1 : atom.divisor;
    if (!index.isAffine() || index.constantTerm() != 0)
      return 1;
    int64_t stride = 1, uniform = 0;
    for (unsigned column : llvm::reverse(scoresProduct.columns)) {
      if (index.uses(column)) // Alone, or with what only the origins change.
        uniform = index.asIterator() == int(column) ? std::gcd(uniform, stride * divisor) : 1;
      stride *= scores.extentOf(column);
    }
    for (unsigned row : scoresProduct.rows)
      if (index.uses(row) && !areRowsOfOneBlock(index, row, divisor))
        return 1;
    return uniform;
  }

  /// Whether (origin + row) / divisor is the same for all rows of any tile, or for those from a
  /// multiple of `rowsOpenTogether` on.
  bool areRowsOfOneBlock(const Index &index, unsigned row, int64_t divisor) const {
    for (unsigned d = 0; d < schedule.space.size(); ++d) {
      const TileDimension &dimension = schedule.space[d];
      if (index == Index::iterator(scores.originIterator(d)) + Index::iterator(row))
        return scores.extentOf(row) == dimension.size && dimension.extent % dimension.size == 0 &&
               (divisor % dimension.size == 0 ||
                (divisor % rowsOpenTogether == 0 && dimension.size % rowsOpenTogether == 0 &&
                 row == scoresProduct.rows.back()));
    }
    return index.asIterator() == int(row) && scores.extentOf(row) <= divisor;
  }

  struct Warps {
    unsigned down, across;
    bool inFours;
  };

  /// `own`: columns of a block that a warp has.
  void consider(Warps warps, int64_t own, unsigned stages, int64_t uniform,
                std::optional<BlockCycles> &best) {
    auto [down, across, inFours] = warps;
    int64_t block = own * across, most = std::max<int64_t>(columns, 32);
    if (rows > unitRows * down || (down > 1 && unitRows * down >= 2 * rows) || block >= 2 * most)
      return;
    MatrixTile first, second;
    first.element = second.element = scoresProduct.element;
    first.columnsFactor = scoresProduct.columnsFactor;
    second.columnsFactor = weightedProduct.columnsFactor;
    first.inFours = second.inFours = inFours;
    first.down = second.down = down;
    first.across = second.warpsK = across;
    first.rows = second.rows = unitRows * down;
    first.columns = second.depth = block;
    first.depth = depthOf(scoresProduct.depth);
    second.columns = std::max<int64_t>(unitRows, llvm::PowerOf2Ceil(weightedProduct.numColumns));
    first.stages = second.stages = stages;
    auto isShared = [&](const MatrixTile &tile) {
      return tile.columns * tile.depth % (chunk * schedule.threads) == 0 &&
             tile.rows * tile.depth % (chunk * schedule.threads) == 0;
    };
    int registers = registersOfStream(scores, stats, first, second);
    constexpr int mostRegisters = 255;
    constexpr int64_t mostBlocks = 1024; // In a list.
    bool skips = uniform > 1 && uniform % block == 0 && columns % block == 0 &&
                 columns / block <= mostBlocks;
    int64_t bytes = streamBytes(first, second, scoresProduct.depth, skips ? columns / block : 0,
                                limits.core.subgroup);
    if (!isShared(first) || !isShared(second) || bytes > limits.scratchBytes ||
        registers > mostRegisters || registers * schedule.threads > limits.core.registers ||
        !wish.allows(chosenOf(first)))
      return;
    BlockCycles cycles = estimate(first, second, skips);
    wish.tell(cycles.cost(), chosenOf(first));
    if (best && cycles.cost() >= best->cost() * 0.98)
      return;
    best = cycles;
    scores.matrix = first;
    weighted.matrix = second;
    scores.skipsBlocks = skips;
  }

  /// Of the units, of what comes through scratch and from far, and of instructions, which a warp
  /// alone issues at a quarter of a scheduler's rate.
  BlockCycles estimate(const MatrixTile &first, const MatrixTile &second, bool skips) const {
    const machine::BlockCore &core = limits.core;
    const double multiplyAdds = core.matrixMultiplyAdds, scratchBytes = core.scratchBytesACycle;
    const double schedulers = core.schedulers, exponentials = core.exponentials;
    constexpr double farBytes = 35, barrier = 150, latency = 400, fromFar = 900, start = 1500;
    double block = double(first.columns), own = block / first.across;
    double terms = double(llvm::alignTo(scoresProduct.depth, first.depth));
    constexpr double shown = 0.5; // Of blocks, about: constants are not at hand here.
    double values = double(second.columns), steps = std::ceil(double(columns) / block);
    steps *= skips ? shown : 1;
    double brought = block * (terms + values) * 2, rows = double(first.rows);
    double onUnits = rows * block * (terms + values) / multiplyAdds;
    double moved = brought + first.down * brought + rows * terms * 2 * first.across;
    double ofWarp = unitRows * own / core.subgroup * (operationsOf(stats.bodies[0]) + 12) +
                    (terms + values) / 16 * (own / 8) * 1.5;
    if (first.inFours) { // See MatrixChoice: each reads 16 terms of 64 rows, but powers.
      double products = rows / 64 * first.across;
      onUnits = products * (terms / 16 * std::max(own / 2, (64 + own) / 4) + own / 16 * values / 2);
      moved = brought + products * (terms * (64 + own) + own * values) * 2;
      ofWarp = unitRows * own / core.subgroup * (operationsOf(stats.bodies[0]) + 8) + 60;
    }
    double staging = block * (terms * keysMove + values * valuesMove) / (chunk * schedule.threads);
    double issued = (ofWarp + staging) * first.down * first.across / schedulers;
    double busy = std::max(
        {onUnits, moved / scratchBytes, brought / farBytes, rows * block / exponentials, issued});
    double apart = first.inFours ? 3 : schedulers; // From one instruction of a warp to the next.
    double waits = std::max(latency + barrier + apart * ofWarp + staging,
                            (fromFar + brought / farBytes) / (first.stages - 1));
    BlockCycles cycles;
    cycles.busy = steps * busy;
    cycles.alone = steps * std::max(busy, waits) + fromFar + start;
    constexpr double waitForOther = 550; // Of warps that share rows, for what each has found.
    if (first.across > 1)
      cycles.alone += first.across * (values * 2 + waitForOther);
    // Two such blocks on a core took half as long again as one, measured on an H200.
    constexpr double inTheWay = 0.75;
    if (!first.inFours && schedule.tiles() > limits.cores)
      cycles.busy = std::max(cycles.busy, inTheWay * cycles.alone);
    return cycles;
  }

  LoopNest &scores, &stats, &powers, &weighted;
  Schedule &schedule;
  const BlockLimits &limits;
  Wish wish;
  MatrixProduct scoresProduct, weightedProduct;
  int64_t rows = 0, columns = 0;
  double keysMove = 0, valuesMove = 0;
};

} // namespace

std::optional<BlockCycles> streamSoftmax(llvm::MutableArrayRef<LoopNest> nests, Schedule &schedule,
                                         const BlockLimits &limits, ThreadMemo &memo, Wish wish) {
  if (nests.size() < 4)
    return std::nullopt;
  Streamed streamed(nests, schedule, limits, wish);
  if (!streamed.matches())
    return std::nullopt;
  std::optional<BlockCycles> cycles = streamed.choose();
  if (cycles)
    streamed.mark(memo);
  return cycles;
}

} // namespace kintsugi::search
