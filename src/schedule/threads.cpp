#include "schedule/threads.h"

#include "schedule/fuse.h"
#include "schedule/loop_order.h"
#include "schedule/matrix.h"
#include "schedule/scratch.h"
#include "schedule/streamed_softmax.h"
#include "schedule/traffic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace kintsugi::schedule {

using namespace te;

namespace {

constexpr int warp = 32;
constexpr int64_t lineElements = 32;   ///< Of 4 bytes, in what a warp moves at once.
constexpr unsigned mostRegisters = 64; ///< Of running values.
constexpr int64_t mostJoinBytes = 32 << 10;

constexpr int registersACore = 65536;

/// That a thread needs, about.
int registersOf(const RegisterTile &tile) {
  return 40 + 2 * int(tile.rows * tile.vectors * tile.columns);
}

/// Of the running values of one result.
int64_t joinBytesOf(const LoopNest &nest) {
  if (!nest.reduction)
    return 0;
  return bitsOf(nest.reduction->accumulator) / 8 *
         (nest.reduction->combiner == Combiner::SoftmaxStats ? 2 : 1);
}

/// Threads that are no neighbours join what they have summed through memory.
int64_t bytesOfJoin(const RegisterTile &tile, int threads, int64_t bytesOfResult) {
  bool inMemory = tile.lanes > 1 && tile.lanes * tile.apart > unsigned(warp);
  return inMemory ? int64_t(tile.rows) * tile.columns * threads * bytesOfResult : 0;
}

class ThreadChoice {
public:
  ThreadChoice(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers, int threads)
      : nest(nest), threads(threads), numParallel(nest.parallel.size()),
        numIterators(numParallel + nest.numReductions()) {
    collect(nest.bodies, bodyReads);
    collect(nest.epilogue, epilogueReads);
    for (const Expr &body : nest.bodies)
      usesOf(body);
    for (const Expr &finish : nest.epilogue)
      epilogueOperations += operationsOf(finish);
    for (unsigned k = 0; k < numIterators; ++k)
      destinationStrides.push_back(k < numParallel ? strideOf(nest.destinationIndex, k) : 0);
    joinBytes = joinBytesOf(nest);
  }

  BlockCycles choose(RegisterTile &best) {
    consider(RegisterTile(), best);
    considerRegisters(best);
    if (canSplit())
      considerSplits(best);
    return bestCycles;
  }

private:
  struct Read {
    Expr expr;
    llvm::SmallVector<int64_t, 8> strides; ///< By iterator.
  };
  struct Operation {
    double cost;
    uint64_t uses;
  };

  void collect(llvm::ArrayRef<Expr> exprs, llvm::SmallVector<Read> &reads) const {
    for (const Expr &expr : exprs)
      expr.walk([&](const Expr &e) {
        if (e.kind() != ExprKind::Read || LoopNest::isAccumulator(e.readValue()) ||
            llvm::any_of(reads, [&](const Read &read) { return read.expr == e; }))
          return;
        reads.push_back({e, {}});
        for (unsigned k = 0; k < numIterators; ++k)
          reads.back().strides.push_back(strideOf(e.readIndices()[0], k));
      });
  }

  /// The iterators that change an expression of the body; notes its operations on the way.
  uint64_t usesOf(const Expr &expr) {
    uint64_t uses = 0;
    auto add = [&](const Index &index) {
      for (unsigned k = 0; k < numIterators; ++k)
        uses |= uint64_t(index.uses(k)) << k;
    };
    if (expr.kind() == ExprKind::Read)
      for (const Index &index : expr.readIndices())
        add(index);
    if (expr.kind() == ExprKind::Index)
      add(expr.indexValue());
    double below = 0;
    for (const Expr &operand : expr.operands()) {
      uses |= usesOf(operand);
      below += operationsOf(operand);
    }
    if (double own = operationsOf(expr) - below; own > 0)
      operations.push_back({own, uses});
    return uses;
  }

  bool canUnroll(unsigned k) const { return nest.extentOf(k) > 1 && !nest.spanOf(k); }

  void considerRegisters(RegisterTile &best) {
    for (unsigned v = 0; v < numParallel; ++v) {
      if (!canUnroll(v))
        continue;
      RegisterTile tile;
      tile.vectorIterator = v;
      for (tile.vectors = 2; tile.vectors <= 8; tile.vectors *= 2) {
        if (tile.vectors > nest.extentOf(v) || (!nest.reduction && tile.vectors > 4))
          break;
        consider(tile, best);
        if (nest.reduction)
          considerRows(tile, 8, best);
      }
    }
  }

  void considerRows(RegisterTile tile, unsigned most, RegisterTile &best) {
    for (unsigned u = 0; u < numParallel; ++u) {
      if (int(u) == tile.vectorIterator || !canUnroll(u))
        continue;
      tile.rowIterator = u;
      for (tile.rows = 2; tile.rows <= most; tile.rows *= 2) {
        if (tile.rows > nest.extentOf(u) || tile.rows * tile.vectors > mostRegisters)
          break;
        consider(tile, best);
      }
    }
  }

  /// The first of several greatest keys could not be told if threads had them apart.
  bool canSplit() const {
    return nest.reduction && nest.reduction->combiner != Combiner::ArgMax &&
           nest.reduction->combiner != Combiner::ArgMin;
  }

  void considerSplits(RegisterTile &best) {
    for (unsigned k = numParallel; k < numIterators; ++k) {
      if (!canUnroll(k))
        continue;
      considerSplitBlocks(k, best);
      RegisterTile tile;
      tile.vectorIterator = k;
      for (unsigned apart : {1, warp})
        for (unsigned lanes = 2; lanes * apart <= unsigned(threads); lanes *= 2) {
          if (lanes > nest.extentOf(k))
            break;
          tile.lanes = lanes;
          tile.apart = apart;
          tile.rowIterator = -1;
          tile.rows = 1;
          if (!fitsJoin(tile))
            continue;
          consider(tile, best);
          for (unsigned u = 0; u < numParallel; ++u) {
            if (!canUnroll(u))
              continue;
            tile.rowIterator = u;
            for (tile.rows = 2; tile.rows <= 4 && tile.rows <= nest.extentOf(u); tile.rows *= 2)
              if (fitsJoin(tile))
                consider(tile, best);
          }
        }
    }
  }

  /// A few rows and columns for each group of lanes, each of which stands in a warp of its own.
  void considerSplitBlocks(unsigned k, RegisterTile &best) {
    RegisterTile tile;
    tile.vectorIterator = k;
    tile.apart = warp;
    tile.columnIterator = int(numParallel) - 1;
    if (numParallel < 2 || !canUnroll(numParallel - 1))
      return;
    for (unsigned u = 0; u + 1 < numParallel; ++u)
      for (tile.lanes = 2; tile.lanes <= 16; tile.lanes *= 2)
        for (auto [rows, columns] : {std::pair{2u, 4u}, {4u, 2u}, {4u, 4u}, {8u, 4u}}) {
          tile.rowIterator = u;
          tile.rows = rows;
          tile.columns = columns;
          if (canUnroll(u) && rows <= nest.extentOf(u) &&
              columns <= nest.extentOf(numParallel - 1) && tile.lanes <= nest.extentOf(k) &&
              tile.lanes * tile.apart <= unsigned(threads) && fitsJoin(tile))
            consider(tile, best);
        }
  }

  bool fitsJoin(const RegisterTile &tile) const {
    return bytesOfJoin(tile, threads, joinBytes) <= mostJoinBytes;
  }

  bool isSplit(const RegisterTile &tile) const { return tile.vectorIterator >= int(numParallel); }

  /// The iterator whose points stand side by side in a thread, and how many of them.
  std::pair<int, unsigned> columnsOf(const RegisterTile &tile) const {
    return isSplit(tile) ? std::pair{tile.columnIterator, tile.columns}
                         : std::pair{tile.vectorIterator, tile.vectors};
  }

  double blocksOf(const RegisterTile &tile, unsigned k) const {
    return std::ceil(double(nest.extentOf(k)) / double(tile.stepOf(k)));
  }

  void consider(const RegisterTile &tile, RegisterTile &best) {
    if (threads * registersOf(tile) > registersACore)
      return;
    BlockCycles cycles = estimate(tile);
    if (cycles.worth() >= bestCycles.worth() * 0.999)
      return;
    bestCycles = cycles;
    best = tile;
  }

  /// Lines that a warp touches for one element of each thread; what is alike for all is one.
  double linesOf(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) const {
    double lines = 1;
    int64_t left = warp;
    auto spread = [&](int64_t stride, int64_t step, int64_t count) {
      int64_t along = std::min(left, count);
      left = (left + along - 1) / along;
      if (stride == 0 || along <= 1)
        return;
      double distance =
          stride == irregular ? lineElements : std::abs(double(stride)) * double(step);
      lines *= std::max(1.0, std::min(1.0, distance / lineElements) * double(along));
    };
    if (isSplit(tile) && tile.apart == 1)
      spread(strides[tile.vectorIterator], 1, tile.lanes);
    for (unsigned k = numParallel; k-- > 0 && left > 1;)
      spread(strides[k], tile.stepOf(k), int64_t(blocksOf(tile, k)));
    return std::min<double>(lines, warp);
  }

  struct Moves {
    double instructions = 0;
    double lines = 0;
  };

  /// Of all reads in one step. Elements side by side in a thread move four at a time.
  Moves movesOf(llvm::ArrayRef<Read> reads, const RegisterTile &tile) const {
    Moves moves;
    for (const Read &read : reads) {
      double copies = 1, together = 1;
      auto [column, columns] = columnsOf(tile);
      if (column >= 0 && read.strides[column] != 0) {
        copies *= columns;
        if (read.strides[column] == 1 && nest.extentOf(column) % columns == 0)
          together = std::min(4u, columns);
      }
      bool areStepsApart = isSplit(tile) && tile.apart == 1;
      if (together == 1 && movesWithSteps(read) && !areStepsApart)
        together = 4;
      if (tile.rowIterator >= 0 && read.strides[tile.rowIterator] != 0)
        copies *= tile.rows;
      double lines = linesOf(read.strides, tile);
      moves.instructions += copies / together;
      moves.lines += copies * (lines > 1 ? std::max(1.0, lines / together) : 1 / together);
    }
    return moves;
  }

  /// Whether steps of the innermost sum that are taken together read side by side.
  bool movesWithSteps(const Read &read) const {
    unsigned last = numIterators - 1;
    return nest.numReductions() > 0 && read.strides.size() > last && read.strides[last] == 1 &&
           nest.extentOf(last) % 4 == 0 && !nest.spanOf(last);
  }

  double arithmeticOf(const RegisterTile &tile) const {
    uint64_t reduced = ((uint64_t(1) << nest.numReductions()) - 1) << numParallel;
    auto [column, columns] = columnsOf(tile);
    double total = nest.reduction ? double(tile.rows) * columns : 0, inside = 0;
    for (const Operation &operation : operations) {
      if (nest.reduction && !(operation.uses & reduced))
        continue;
      auto changes = [&](int k) { return k >= 0 && operation.uses >> k & 1; };
      inside += operation.cost * (changes(column) ? columns : 1) *
                (changes(tile.rowIterator) ? tile.rows : 1);
    }
    return std::max(total, inside);
  }

  BlockCycles estimate(const RegisterTile &tile) const {
    constexpr double schedulers = 4, step = 2, waiting = 60, start = 600;
    double items = tile.lanes, steps = 1;
    for (unsigned k = 0; k < numParallel; ++k)
      items *= blocksOf(tile, k);
    for (unsigned k = numParallel; k < numIterators; ++k)
      steps *= blocksOf(tile, k);
    steps *= nest.share();
    double rounds = std::ceil(items / threads);
    double warps = std::ceil(std::min<double>(items, threads) / warp);
    Moves moves = movesOf(bodyReads, tile), finish = movesOf(epilogueReads, tile);
    double results = double(tile.rows) * columnsOf(tile).second;
    double stored = results * linesOf(destinationStrides, tile);
    double issued = arithmeticOf(tile) + moves.instructions + step;
    double each = steps * std::max(issued / schedulers, moves.lines);
    double join = isSplit(tile) ? joinCycles(tile) : 0;
    double after = results * epilogueOperations + finish.instructions + 10;
    each += std::max((after + join) / schedulers, finish.lines + stored);
    double wait = moves.instructions > 0 ? waiting : 4;
    BlockCycles cycles;
    cycles.busy = rounds * warps * each;
    cycles.alone = std::max(cycles.busy, rounds * (steps * (issued + wait) + after + join)) + start;
    return cycles;
  }

  double joinCycles(const RegisterTile &tile) const {
    double cycles = 0;
    for (unsigned lane = 1; lane < tile.lanes; lane *= 2)
      cycles += (lane * tile.apart < unsigned(warp) ? 30 : 80) * double(tile.rows) * tile.columns;
    return cycles;
  }

  const LoopNest &nest;
  int threads;
  unsigned numParallel, numIterators;
  llvm::SmallVector<Read> bodyReads, epilogueReads;
  llvm::SmallVector<int64_t, 8> destinationStrides;
  llvm::SmallVector<Operation> operations; ///< Of the bodies.
  double epilogueOperations = 0;
  int64_t joinBytes = 0;
  BlockCycles bestCycles{INFINITY, INFINITY};
};

/// Small inner sums are unrolled wholly.
unsigned unrolledInThread(const LoopNest &nest) {
  constexpr int64_t mostExtent = 8, mostCopies = 128;
  int64_t size = int64_t(nest.registers.rows) * nest.registers.vectors;
  unsigned count = 0;
  for (unsigned k = nest.numReductions(); k-- > 0; ++count) {
    unsigned iterator = nest.parallel.size() + k;
    int64_t extent = nest.extentOf(iterator);
    if (int(iterator) == nest.registers.vectorIterator || extent > mostExtent ||
        size * extent > mostCopies || nest.spanOf(iterator))
      break;
    size *= extent;
  }
  return count;
}

} // namespace

BlockCycles chooseThreads(LoopNest &nest, llvm::ArrayRef<Buffer> buffers, int threads) {
  RegisterTile best;
  BlockCycles cycles = ThreadChoice(nest, buffers, threads).choose(best);
  nest.registers = best;
  nest.registers.unrolledReductions = unrolledInThread(nest);
  return cycles;
}

int64_t exchangeBytesOf(const LoopNest &nest, int threads) {
  return nest.matrix ? 0 : bytesOfJoin(nest.registers, threads, joinBytesOf(nest));
}

/// The most that a thread of such nests needs.
static int registersOf(llvm::ArrayRef<LoopNest> nests) {
  int most = 0;
  for (auto [number, nest] : llvm::enumerate(nests)) {
    most = std::max(most, nest.matrix ? registersOf(*nest.matrix) : registersOf(nest.registers));
    if (nest.streamed)
      most = std::max(most, registersOfStream(nest, nests[number + 1], nests[number + 3]));
  }
  return most;
}

double secondsInBlocks(const Schedule &schedule, const BlockCycles &cycles,
                       const machine::Machine &machine) {
  constexpr double launch = 0.5e-6;
  double threads = schedule.threads, tiles = double(schedule.tiles());
  double scratch = double(std::max<int64_t>(1, schedule.scratchBytes));
  double together = std::min({double(machine.threads) / threads,
                              double(registersACore) / (threads * registersOf(schedule.nests)),
                              2 * double(machine.levels.back().bytes) / scratch});
  together = std::max(1.0, std::floor(together));
  double hertz = machine.flopsPerSecond / 256;
  double each = std::ceil(tiles / machine.cores); // Of the busiest core.
  double busy = each * cycles.busy / hertz;
  double alone = std::ceil(each / together) * cycles.alone / hertz;
  double bytes = Traffic(schedule, machine).bytesReadBesideRings() + schedule.bytesWritten;
  const machine::MemoryLevel &shared = machine.levels[machine.levels.size() > 1 ? 1 : 0];
  double moving = bytes / (shared.bytesPerSecond * std::min<double>(tiles, machine.cores));
  double computing = std::max(busy, alone);
  return launch + std::max(computing, moving) + 0.3 * std::min(computing, moving);
}

} // namespace kintsugi::schedule
