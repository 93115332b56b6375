#include "schedule/threads.h"

#include "schedule/fuse.h"
#include "schedule/loop_order.h"
#include "schedule/matrix.h"
#include "schedule/packing.h"
#include "schedule/scratch.h"
#include "schedule/streamed_softmax.h"
#include "schedule/traffic.h"
#include "schedule/warp_moves.h"
#include "schedule/warp_walk.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::schedule {

using namespace te;

namespace {

constexpr int warp = WarpWalk::threads;
constexpr int64_t mostTogether = 16;   ///< Bytes that a thread moves at once.
constexpr unsigned mostRegisters = 64; ///< Of running values.
constexpr int64_t mostJoinBytes = 32 << 10;
/// Bytes that a thread asks for before it uses the first of them.
constexpr double mostUnderWay = 128;

constexpr int registersACore = 65536;

/// That a thread needs, about: running values, and what is on its way to them.
int registersOf(const RegisterTile &tile, bool isSum) {
  int results = int(tile.rows * tile.columns);
  if (tile.lanes == 1)
    return (isSum ? 40 : 32) + (isSum ? 2 : 1) * results * int(tile.vectors);
  return 28 + 2 * results + int(tile.vectors * stepsTogether(tile.vectors, results)) * results / 2;
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
  int64_t places = tile.apart == 1 ? threads / warp : threads;
  return inMemory ? int64_t(tile.rows) * tile.columns * places * bytesOfResult : 0;
}

class ThreadChoice {
public:
  ThreadChoice(const LoopNest &nest, const Schedule &schedule)
      : nest(nest), schedule(schedule), threads(schedule.threads),
        numParallel(nest.parallel.size()), numIterators(numParallel + nest.numReductions()) {
    collect(nest.bodies, bodyReads);
    collect(nest.epilogue, epilogueReads);
    for (const Expr &body : nest.bodies)
      usesOf(body);
    for (const Expr &finish : nest.epilogue)
      epilogueOperations += operationsOf(finish);
    for (unsigned k = 0; k < numIterators; ++k)
      destination.strides.push_back(k < numParallel ? strideOf(nest.destinationIndex, k) : 0);
    const Buffer &stored = schedule.buffers[nest.destinations[0]];
    destination.bytes = bytesOfElement(stored.type);
    destination.isFar = stored.home == Home::Memory;
    noteAlignment(destination, nest.destinationIndex);
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
  using Strides = llvm::SmallVector<int64_t, 8>; ///< By iterator.

  struct Access {
    Strides strides;
    int64_t bytes = 4;    ///< Of an element.
    bool isFar = false;   ///< Not in scratch.
    Strides alignedAlong; ///< Elements that blocks along each iterator start at a multiple of.
  };
  struct Read : Access {
    explicit Read(Expr expr) : expr(std::move(expr)) {}

    Expr expr;
    std::optional<Strides> packed; ///< Once it lies as threads that share a sum read it in rows.
    double elements = 0;           ///< That differ, of all that the nest reads.
  };
  struct Operation {
    double cost;
    uint64_t uses;
  };

  void collect(llvm::ArrayRef<Expr> exprs, std::vector<Read> &reads) const {
    for (const Expr &expr : exprs)
      expr.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read && !LoopNest::isAccumulator(e.readValue()) &&
            llvm::none_of(reads, [&](const Read &read) { return read.expr == e; }))
          reads.push_back(readOf(e));
      });
  }

  Read readOf(const Expr &expr) const {
    const Buffer &buffer = schedule.buffers[expr.readValue().number];
    Read read(expr);
    read.strides = stridesOf(expr.readIndices()[0]);
    read.bytes = bytesOfElement(buffer.type);
    read.isFar = buffer.home == Home::Memory;
    noteAlignment(read, expr.readIndices()[0]);
    read.elements = 1;
    for (unsigned k = 0; k < numIterators; ++k)
      if (read.strides[k] != 0)
        read.elements *= double(nest.extentOf(k));
    read.elements = std::min(read.elements, double(buffer.elements));
    if (!buffer.packable || buffer.packing || !read.isFar || !nest.reduction)
      return read;
    if (auto packed = packReadInOrder(nest, schedule.space, expr.readIndices()[0], buffer.elements))
      read.packed = stridesOf(packed->position);
    return read;
  }

  void noteAlignment(Access &access, const Index &position) const {
    for (unsigned k = 0; k < numIterators; ++k)
      access.alignedAlong.push_back(
          access.strides[k] == 1
              ? alignedElements(nest, schedule.space, position, k, mostTogether / access.bytes)
              : 1);
  }

  Strides stridesOf(const Index &position) const {
    Strides strides;
    for (unsigned k = 0; k < numIterators; ++k)
      strides.push_back(strideOf(position, k));
    return strides;
  }

  /// Operations that special units take off what an expression costs without.
  static double savedByUnits(const Expr &expr) {
    if (expr.kind() == ExprKind::Unary && expr.unaryOp() == UnaryOp::Exp)
      return 5;
    return expr.kind() == ExprKind::Binary && expr.binaryOp() == BinaryOp::Div ? 2 : 0;
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
    if (double own = operationsOf(expr) - below - savedByUnits(expr); own > 0)
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
        if (tile.vectors > nest.extentOf(v))
          break;
        consider(tile, best);
        considerRows(tile, nest.reduction ? 8 : 4, best);
      }
    }
  }

  /// Rows share what does not change with them, or are turned to columns.
  bool servesRows(const RegisterTile &tile, unsigned u) const {
    return nest.reduction || llvm::any_of(bodyReads, [&](const Read &read) {
             bool isTurned = read.strides[u] == 1 && destination.strides[u] != 1;
             return read.strides[tile.vectorIterator] != 0 && (read.strides[u] == 0 || isTurned);
           });
  }

  void considerRows(RegisterTile tile, unsigned most, RegisterTile &best) {
    for (unsigned u = 0; u < numParallel; ++u) {
      if (int(u) == tile.vectorIterator || !canUnroll(u) || !servesRows(tile, u))
        continue;
      tile.rowIterator = u;
      for (tile.rows = 2; tile.rows <= most; tile.rows *= 2) {
        if (tile.rows > nest.extentOf(u) || tile.rows * tile.vectors > mostRegisters ||
            (!nest.reduction && nest.extentOf(u) % tile.rows != 0))
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
      for (unsigned run : {8, 4, 2, 1}) { // Of equals, the one of fewer moves.
        if (run > 1 && (k + 1 < numIterators || !readsInRuns(k, run)))
          continue;
        for (unsigned apart : {1, warp})
          considerLanes(k, run, apart, best);
      }
    }
  }

  /// Whether some read has so many terms in a row in one move.
  bool readsInRuns(unsigned k, unsigned run) const {
    return llvm::any_of(bodyReads, [&](const Read &read) {
      return read.bytes * run <= mostTogether &&
             (read.strides[k] == 1 || (read.packed && (*read.packed)[k] == 1));
    });
  }

  void considerLanes(unsigned k, unsigned run, unsigned apart, RegisterTile &best) {
    RegisterTile tile;
    tile.vectorIterator = k;
    tile.vectors = run;
    tile.apart = apart;
    for (unsigned lanes = 2; lanes * apart <= unsigned(threads); lanes *= 2) {
      if (int64_t(lanes) * run > nest.extentOf(k))
        break;
      tile.lanes = lanes;
      tile.rowIterator = tile.columnIterator = -1;
      tile.rows = tile.columns = 1;
      if (fitsJoin(tile))
        consider(tile, best);
      for (unsigned u = 0; u < numParallel; ++u) {
        if (!canUnroll(u))
          continue;
        tile.rowIterator = u;
        for (tile.rows = 2; tile.rows <= 4 && tile.rows <= nest.extentOf(u); tile.rows *= 2)
          if (fitsJoin(tile))
            consider(tile, best);
      }
      tile.rowIterator = -1;
      tile.rows = 1;
      if (apart == 1 || numParallel == 0 || !canUnroll(numParallel - 1))
        continue;
      tile.columnIterator = int(numParallel) - 1;
      for (tile.columns = 2; tile.columns <= 8; tile.columns *= 2)
        if (tile.columns <= nest.extentOf(numParallel - 1) && fitsJoin(tile))
          consider(tile, best);
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

  void countBlocks(const RegisterTile &tile) {
    blocks.clear();
    for (unsigned k = 0; k < numIterators; ++k)
      blocks.push_back(std::ceil(double(nest.extentOf(k)) / double(tile.stepOf(k))));
    walk = WarpWalk();
    if (isSplit(tile) && tile.apart == 1)
      walk.add(tile.vectorIterator, tile.vectors, tile.lanes);
    for (unsigned k = numParallel; k-- > 0 && !walk.isFull();)
      walk.add(k, tile.stepOf(k), int64_t(blocks[k]));
  }

  void consider(const RegisterTile &tile, RegisterTile &best) {
    if (threads * registersOf(tile, nest.reduction.has_value()) > registersACore)
      return;
    countBlocks(tile);
    double enough = bestCycles.worth() * 0.999;
    Arithmetic work = workOf(tile);
    if (leastCycles(work).worth() >= enough)
      return;
    BlockCycles cycles = estimate(tile, work);
    if (cycles.worth() >= enough)
      return;
    cycles.scattered = scatteredBytes(tile);
    if (cycles.worth() >= enough)
      return;
    bestCycles = cycles;
    best = tile;
  }

  /// How it moves with the iterators under a choice.
  static const Strides &stridesOf(const Read &read, const RegisterTile &tile) {
    return read.packed && readsPacked(tile) ? *read.packed : read.strides;
  }

  /// Lines or turns of banks for `inMove` elements of each thread of a warp, which lie so.
  double turnsOf(const Access &access, const Strides &strides, double inMove) const {
    if (!access.isFar)
      if (auto turns =
              walk.turnsOf(strides, access.bytes, int64_t(inMove) * access.bytes, knownTurns))
        return *turns;
    return walk.linesOf(strides, access.bytes);
  }

  struct Moves {
    double instructions = 0;
    double lines = 0;
    double bytes = 0; ///< Of a thread.
    double wait = 0;  ///< From asking to having.
  };

  /// How many elements a thread has in one move, of so many in a row along an iterator.
  static double together(const Access &access, unsigned along, int64_t inRow) {
    return double(std::gcd(inRow, access.alignedAlong[along]));
  }

  /// Of all reads in one step.
  Moves movesOf(llvm::ArrayRef<Read> reads, const RegisterTile &tile) const {
    constexpr double far = 700, cached = 60, near = 30;
    constexpr double instruction = 0.25; ///< Of a line's time.
    Moves moves;
    for (const Read &read : reads) {
      const Strides &strides = stridesOf(read, tile);
      double copies = 1, inMove = 1;
      auto [column, columns] = columnsOf(tile);
      if (column >= 0 && strides[column] != 0) {
        copies *= columns;
        if (strides[column] == 1 && nest.extentOf(column) % columns == 0)
          inMove = together(read, column, columns);
      }
      if (isSplit(tile) && strides[tile.vectorIterator] != 0) {
        copies *= tile.vectors;
        if (strides[tile.vectorIterator] == 1) {
          bool isPacked = read.packed && readsPacked(tile);
          inMove = std::max(
              inMove, isPacked ? double(std::min<int64_t>(tile.vectors, mostTogether / read.bytes))
                               : together(read, tile.vectorIterator, tile.vectors));
        }
      } else if (inMove == 1 && movesWithSteps(strides)) {
        inMove = together(read, numIterators - 1, 4);
      }
      if (tile.rowIterator >= 0 && strides[tile.rowIterator] != 0) {
        copies *= tile.rows;
        if (inMove == 1 && strides[tile.rowIterator] == 1)
          inMove = together(read, tile.rowIterator, tile.rows);
      }
      double lines = turnsOf(read, strides, inMove);
      moves.bytes += copies * double(read.bytes);
      moves.instructions += copies / inMove;
      moves.lines += (lines + instruction) * copies / inMove;
      double times = std::max(1.0, timesRead(strides, tile, copies) / read.elements);
      double wait = read.isFar
                        ? cached + (far - cached) * std::min(1.0, sharedBy(strides, tile) / times)
                        : near;
      moves.wait = std::max(moves.wait, wait);
    }
    return moves;
  }

  /// Elements that all threads ask for, one in each of their copies.
  double timesRead(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile, double copies) const {
    double times = copies;
    for (unsigned k = 0; k < numIterators; ++k)
      times *= int(k) == tile.vectorIterator && isSplit(tile)
                   ? double(nest.extentOf(k)) / tile.vectors
                   : blocks[k];
    return isSplit(tile) && strides[tile.vectorIterator] == 0 ? times * tile.vectors : times;
  }

  /// How many threads want an element at the same time, and wait for it together.
  double sharedBy(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) const {
    double items = tile.lanes, differ = 1;
    for (unsigned k = 0; k < numParallel; ++k) {
      items *= blocks[k];
      differ *= strides[k] != 0 ? blocks[k] : 1;
    }
    if (isSplit(tile) && strides[tile.vectorIterator] != 0)
      differ *= tile.lanes;
    double active = std::min<double>(items, threads);
    return active / std::min(active, differ);
  }

  /// Whether steps of the innermost sum that are taken together read side by side.
  bool movesWithSteps(llvm::ArrayRef<int64_t> strides) const {
    unsigned last = numIterators - 1;
    return nest.numReductions() > 0 && strides.size() > last && strides[last] == 1 &&
           nest.extentOf(last) % 4 == 0 && !nest.spanOf(last);
  }

  double arithmeticOf(const RegisterTile &tile) const {
    uint64_t reduced = ((uint64_t(1) << nest.numReductions()) - 1) << numParallel;
    auto [column, columns] = columnsOf(tile);
    unsigned terms = isSplit(tile) ? tile.vectors : 1;
    double total = nest.reduction ? double(tile.rows) * columns * terms : 0, inside = 0;
    for (const Operation &operation : operations) {
      if (nest.reduction && !(operation.uses & reduced))
        continue;
      auto changes = [&](int k) { return k >= 0 && operation.uses >> k & 1; };
      inside += operation.cost * (changes(column) ? columns : 1) *
                (changes(tile.rowIterator) ? tile.rows : 1) *
                (isSplit(tile) && changes(tile.vectorIterator) ? terms : 1);
    }
    return std::max(total, inside);
  }

  static constexpr double schedulers = 4, step = 2, start = 600;
  static constexpr double places = 20; ///< Of a block: where it stands, and its elements lie.

  /// What a block does besides moving.
  struct Arithmetic {
    double rounds, warps; ///< Of blocks of points, and in each of them.
    double steps = 1;
    double each;    ///< Of a step.
    double results; ///< Of a thread.
    double join = 0, joining = 0;
  };

  Arithmetic workOf(const RegisterTile &tile) const {
    Arithmetic work;
    double items = tile.lanes;
    for (unsigned k = 0; k < numParallel; ++k)
      items *= blocks[k];
    for (unsigned k = numParallel; k < numIterators; ++k)
      work.steps *= blocks[k];
    work.steps *= nest.share();
    work.rounds = std::ceil(items / threads);
    work.warps = std::ceil(std::min<double>(items, threads) / warp);
    work.each = arithmeticOf(tile);
    work.results = double(tile.rows) * columnsOf(tile).second;
    if (isSplit(tile)) {
      work.join = joinCycles(tile);
      work.joining = joinInstructions(tile);
    }
    return work;
  }

  /// If moves took no time: each term is one of the estimate's, so that it is never more.
  BlockCycles leastCycles(const Arithmetic &work) const {
    double issued = work.each + step, after = work.results * epilogueOperations + places;
    BlockCycles cycles;
    cycles.busy =
        work.rounds * work.warps * ((work.steps * issued + after + work.joining) / schedulers);
    cycles.alone =
        std::max(cycles.busy, work.rounds * (work.steps * issued + after + work.join)) + start;
    return cycles;
  }

  /// All but what is scattered.
  BlockCycles estimate(const RegisterTile &tile, const Arithmetic &work) const {
    constexpr double move = 2; ///< Of what another instruction takes.
    auto [rounds, warps, steps, arithmetic, results, join, joining] = work;
    Moves moves = movesOf(bodyReads, tile), finish = movesOf(epilogueReads, tile);
    double issued = arithmetic + move * moves.instructions + step;
    double after = results * epilogueOperations + move * finish.instructions +
                   move * results / elementsStored(tile) + places;
    double each = std::max((steps * issued + after + joining) / schedulers,
                           steps * moves.lines + finish.lines + linesStored(tile, results));
    double trips = std::max(steps / stepsAtOnce(tile), steps * moves.bytes / mostUnderWay);
    double waits = std::max(moves.wait * std::ceil(trips), finish.wait);
    BlockCycles cycles;
    cycles.busy = rounds * warps * each;
    // Operations on a point wait for each other; those of a sum's many results don't.
    double chain = nest.reduction ? 0 : 3 * arithmetic / results;
    double own = rounds * (steps * issued + after + join) +
                 std::ceil(rounds / double(blocksAtOnce(tile))) * (waits + chain);
    cycles.alone = std::max(cycles.busy, own) + start;
    return cycles;
  }

  double scatteredBytes(const RegisterTile &tile) const {
    double points = 1;
    for (unsigned k = 0; k < numParallel; ++k)
      points *= double(nest.extentOf(k));
    // Moves of the same lines meet near the threads on their way from memory, not to it.
    double bytes = scatteredBytes(destination, destination.strides, points, mostTogether, tile);
    for (const Read &read : bodyReads)
      bytes +=
          scatteredBytes(read, stridesOf(read, tile), read.elements, WarpWalk::lineBytes, tile);
    return bytes;
  }

  /// Of lines that a warp touches at once, what its threads do not want; each wants `most` bytes.
  double scatteredBytes(const Access &access, const Strides &strides, double elements, int64_t most,
                        const RegisterTile &tile) const {
    if (!access.isFar)
      return 0;
    double inRow = 1;
    for (auto [iterator, points] : {columnsOf(tile), std::pair{tile.rowIterator, tile.rows},
                                    std::pair{tile.vectorIterator, tile.vectors}})
      if (iterator >= 0 && strides[iterator] == 1)
        inRow = std::max(inRow, double(points));
    double differ = walk.differing(strides);
    double wanted = differ * std::min(inRow * double(access.bytes), double(most));
    double touched = walk.linesOf(strides, access.bytes) * double(WarpWalk::lineBytes);
    return differ == 1 ? 0 : elements * double(access.bytes) * std::max(0.0, touched / wanted - 1);
  }

  /// Results that a thread stores in one move.
  double elementsStored(const RegisterTile &tile) const {
    auto [column, columns] = columnsOf(tile);
    bool isInRow = column >= 0 && destination.strides[column] == 1 && !isSplit(tile) &&
                   nest.extentOf(column) % columns == 0;
    return isInRow ? together(destination, column, columns) : 1;
  }

  double linesStored(const RegisterTile &tile, double results) const {
    double inMove = elementsStored(tile);
    return results * (turnsOf(destination, destination.strides, inMove) + 0.25) / inMove;
  }

  double stepsAtOnce(const RegisterTile &tile) const {
    if (!nest.reduction)
      return 1;
    double results = double(tile.rows) * columnsOf(tile).second;
    return double(stepsTogether(isSplit(tile) ? tile.vectors : 1, int64_t(results)));
  }

  int64_t blocksAtOnce(const RegisterTile &tile) const {
    if (nest.reduction)
      return 1;
    int64_t all = 1;
    for (unsigned k = 0; k < numParallel; ++k)
      all *= int64_t(blocks[k]);
    return blocksTogether(all, threads, int64_t(tile.rows) * tile.vectors);
  }

  static double halvesOf(const RegisterTile &tile) { return llvm::Log2_32(tile.lanes); }

  double joinInstructions(const RegisterTile &tile) const {
    constexpr double value = 3; ///< Hand it on, take another's, join both.
    return halvesOf(tile) * value * double(tile.rows) * tile.columns;
  }

  /// Neighbours take turns by halves; rows of them meet in memory once, others once a half.
  double joinCycles(const RegisterTile &tile) const {
    constexpr double neighbours = 25, memory = 120, value = 2;
    double values = double(tile.rows) * tile.columns;
    unsigned spread = tile.lanes * tile.apart;
    if (tile.apart == 1)
      return halvesOf(tile) * (neighbours + value * values) +
             (spread > unsigned(warp) ? memory + value * values : 0);
    return halvesOf(tile) * (memory + 4 * value * values);
  }

  const LoopNest &nest;
  const Schedule &schedule;
  int threads;
  unsigned numParallel, numIterators;
  std::vector<Read> bodyReads, epilogueReads;
  Access destination;
  llvm::SmallVector<double, 8> blocks; ///< Along each iterator, of the tile that is considered.
  WarpWalk walk;                       ///< Likewise.
  mutable KnownTurns knownTurns;
  llvm::SmallVector<Operation> operations; ///< Of the bodies.
  double epilogueOperations = 0;
  int64_t joinBytes = 0;
  BlockCycles bestCycles{INFINITY, INFINITY};
};

/// Small inner sums are unrolled wholly.
unsigned unrolledInThread(const LoopNest &nest) {
  constexpr int64_t mostExtent = 8, mostCopies = 128;
  int64_t size = int64_t(nest.registers.rows) * nest.registers.vectors * nest.registers.columns;
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

bool readsPacked(const RegisterTile &tile) { return tile.lanes > 1 && tile.vectors > 1; }

BlockCycles &BlockCycles::operator+=(const BlockCycles &other) {
  busy += other.busy;
  alone += other.alone;
  scattered += other.scattered;
  return *this;
}

BlockCycles chooseThreads(LoopNest &nest, const Schedule &schedule) {
  RegisterTile best;
  BlockCycles cycles = ThreadChoice(nest, schedule).choose(best);
  nest.registers = best;
  nest.registers.unrolledReductions = unrolledInThread(nest);
  return cycles;
}

int64_t exchangeBytesOf(const LoopNest &nest, int threads) {
  return nest.matrix ? 0 : bytesOfJoin(nest.registers, threads, joinBytesOf(nest));
}

int registersOf(const Schedule &schedule) {
  int most = 0;
  const std::vector<LoopNest> &nests = schedule.nests;
  for (auto [number, nest] : llvm::enumerate(nests)) {
    most = std::max(most, nest.matrix ? registersOf(*nest.matrix)
                                      : registersOf(nest.registers, nest.reduction.has_value()));
    if (nest.streamed)
      most = std::max(most, registersOfStream(nest, nests[number + 1], nests[number + 3]));
  }
  return most;
}

int coresOfClusters(unsigned blocks, int cores) { return blocks <= 2 ? cores : cores - cores / 11; }

/// Which share of moving and computing is not done at the same time. Between its waits a block does
/// one or the other: it takes several of them, at different places, to do both.
static double apartShare(const Schedule &schedule, double blocks) {
  bool waits = schedule.nests.size() > 1 && llvm::none_of(schedule.nests, [](const LoopNest &nest) {
                 return nest.matrix.has_value();
               });
  return waits ? 0.15 + 0.85 / blocks : 0.3;
}

double secondsInBlocks(const Schedule &schedule, const BlockCycles &cycles,
                       const machine::Machine &machine) {
  constexpr double launch = 0.5e-6;
  double threads = schedule.threads, tiles = double(schedule.tiles());
  double blocks = double(schedule.blocks());
  double scratch = double(std::max<int64_t>(1, schedule.scratchBytes));
  double together = std::min({double(machine.threads) / threads,
                              double(registersACore) / (threads * registersOf(schedule)),
                              2 * double(machine.levels.back().bytes) / scratch});
  together = std::max(1.0, std::floor(together));
  double hertz = machine.flopsPerSecond / 256;
  int cores = coresOfClusters(unsigned(schedule.blocks() / schedule.tiles()), machine.cores);
  double each = std::ceil(blocks / cores); // Of the busiest core.
  double busy = each * cycles.busy / hertz;
  double alone = std::ceil(each / together) * cycles.alone / hertz;
  Traffic traffic(schedule, machine);
  // What a tile reads first its later nests find near, if there is room for that of all blocks.
  double near = 2 * double(machine.levels.back().bytes) - together * scratch;
  bool staysNear = together * traffic.bytesReadBesideRings(true) <= near * tiles;
  // What else lies in a line is not brought, but a part of one is asked for as a whole one is.
  constexpr double asked = 0.25;
  double bytes = schedule.bytesWritten + traffic.bytesReadBesideRings(staysNear) +
                 asked * tiles * cycles.scattered;
  const machine::MemoryLevel &shared = machine.levels[machine.levels.size() > 1 ? 1 : 0];
  double moving = bytes / (shared.bytesPerSecond * std::min<double>(blocks, machine.cores));
  // Blocks that start together have uneven shares of the way; those that follow even them out.
  constexpr double uneven = 0.1;
  moving *= 1 + uneven * std::min(each, together) / each;
  double computing = std::max(busy, alone);
  double apart = apartShare(schedule, std::min(each, together));
  return launch + std::max(computing, moving) + apart * std::min(computing, moving);
}

} // namespace kintsugi::schedule
