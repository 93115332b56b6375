#include "cost/thread_cycles.h"

#include "loops/packing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::cost {

using namespace loops;
using namespace te;

/// Bytes that a thread asks for before it uses the first of them.
static constexpr double mostUnderWay = 128;
static constexpr double step = 2, start = 600;
static constexpr double places = 20; ///< Of a block: where it stands, and its elements lie.

/// From start to end. The threads of a block do alike at the same time: most of what one waits for
/// all wait for, and a core's units are idle meanwhile.
static double withWaits(double busy, double own) {
  constexpr double apart = 0.85;
  return std::max(busy, own) + apart * std::min(busy, own) + start;
}

std::optional<BlockCycles> ThreadCycles::below(double enough, const RegisterTile &tile) {
  countBlocks(tile);
  Arithmetic arithmetic = workOf(tile);
  if (leastCycles(arithmetic).cost() >= enough)
    return std::nullopt;
  BlockCycles cycles = estimate(tile, arithmetic);
  if (cycles.cost() >= enough)
    return std::nullopt;
  cycles.scattered = scatteredBytes(tile);
  if (cycles.cost() >= enough)
    return std::nullopt;
  return cycles;
}

void ThreadCycles::countBlocks(const RegisterTile &tile) {
  blocks.clear();
  for (unsigned k = 0; k < numIterators; ++k)
    blocks.push_back(std::ceil(double(nest.extentOf(k)) / double(tile.stepOf(k))));
  walk = WarpWalk(work.core.subgroup);
  if (work.isSplit(tile) && tile.apart == 1)
    walk.add(tile.vectorIterator, tile.vectors, tile.lanes);
  for (unsigned k = numParallel; k-- > 0 && !walk.isFull();)
    walk.add(k, tile.stepOf(k), int64_t(blocks[k]));
}

const ThreadCycles::Walk &ThreadCycles::walkOf(const Read &read, const RegisterTile &tile) {
  return read.packed && readsPacked(tile) ? *read.packed : read;
}

double ThreadCycles::turnsOf(const Access &access, const Walk &its, double inMove) const {
  if (!access.isFar)
    if (auto turns =
            walk.turnsOf(its.strides, access.bytes, int64_t(inMove) * access.bytes, knownTurns))
      return *turns;
  return walk.linesOf(its.slopes, access.bytes);
}

double ThreadCycles::together(const Access &access, unsigned along, int64_t inRow) {
  return double(std::gcd(inRow, access.alignedAlong[along]));
}

ThreadCycles::Moves ThreadCycles::movesOf(llvm::ArrayRef<Read> reads,
                                          const RegisterTile &tile) const {
  const double cached = work.core.cacheCycles;
  constexpr double instruction = 0.25; ///< Of a line's time.
  Moves moves;
  for (const Read &read : reads) {
    const Walk &its = walkOf(read, tile);
    const ThreadWork::Strides &strides = its.strides;
    double copies = 1, inMove = 1;
    auto [column, columns] = work.columnsOf(tile);
    if (column >= 0 && strides[column] != 0) {
      copies *= columns;
      if (strides[column] == 1 && nest.extentOf(column) % columns == 0)
        inMove = together(read, column, columns);
    }
    if (work.isSplit(tile) && strides[tile.vectorIterator] != 0) {
      copies *= tile.vectors;
      if (strides[tile.vectorIterator] == 1) {
        bool isPacked = read.packed && readsPacked(tile);
        inMove =
            std::max(inMove, isPacked ? double(std::min<int64_t>(
                                            tile.vectors, ThreadWork::mostTogether / read.bytes))
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
    double lines = turnsOf(read, its, inMove);
    moves.bytes += copies * double(read.bytes);
    moves.instructions += copies / inMove;
    moves.lines += (lines + instruction) * copies / inMove;
    double times = std::max(1.0, timesRead(strides, tile, copies) / read.elements);
    double wait = read.isFar ? cached + (read.cycles - cached) *
                                            std::min(1.0, sharedBy(strides, tile) / times)
                             : read.cycles;
    moves.wait = std::max(moves.wait, wait);
  }
  return moves;
}

double ThreadCycles::timesRead(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile,
                               double copies) const {
  double times = copies;
  for (unsigned k = 0; k < numIterators; ++k)
    times *= int(k) == tile.vectorIterator && work.isSplit(tile)
                 ? double(nest.extentOf(k)) / tile.vectors
                 : blocks[k];
  return work.isSplit(tile) && strides[tile.vectorIterator] == 0 ? times * tile.vectors : times;
}

double ThreadCycles::sharedBy(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) const {
  double items = tile.lanes, differ = 1;
  for (unsigned k = 0; k < numParallel; ++k) {
    items *= blocks[k];
    differ *= strides[k] != 0 ? blocks[k] : 1;
  }
  if (work.isSplit(tile) && strides[tile.vectorIterator] != 0)
    differ *= tile.lanes;
  double active = std::min<double>(items, threads);
  return active / std::min(active, differ);
}

bool ThreadCycles::movesWithSteps(llvm::ArrayRef<int64_t> strides) const {
  unsigned last = numIterators - 1;
  return nest.numReductions() > 0 && strides.size() > last && strides[last] == 1 &&
         nest.extentOf(last) % 4 == 0 && !nest.spanOf(last);
}

double ThreadCycles::arithmeticOf(const RegisterTile &tile) const {
  uint64_t reduced = ((uint64_t(1) << nest.numReductions()) - 1) << numParallel;
  auto [column, columns] = work.columnsOf(tile);
  unsigned terms = work.isSplit(tile) ? tile.vectors : 1;
  double joined = work.joinOperations * double(tile.rows) * columns * terms, inside = 0;
  for (const ThreadWork::Operation &operation : work.operations) {
    if (nest.reduction && !(operation.uses & reduced))
      continue;
    auto changes = [&](int k) { return k >= 0 && operation.uses >> k & 1; };
    inside += operation.cost * (changes(column) ? columns : 1) *
              (changes(tile.rowIterator) ? tile.rows : 1) *
              (work.isSplit(tile) && changes(tile.vectorIterator) ? terms : 1);
  }
  // A product is added in the instruction that makes it.
  bool isSum = nest.reduction && nest.reduction->combiner == Combiner::Sum;
  return isSum ? std::max(joined, inside) : joined + inside;
}

ThreadCycles::Arithmetic ThreadCycles::workOf(const RegisterTile &tile) const {
  Arithmetic block;
  double items = tile.lanes;
  for (unsigned k = 0; k < numParallel; ++k)
    items *= blocks[k];
  for (unsigned k = numParallel; k < numIterators; ++k)
    block.steps *= blocks[k];
  block.steps *= nest.share();
  block.rounds = std::ceil(items / threads);
  // Those that share a sum all stay, since they wait for each other.
  double active = work.isSplit(tile) ? threads : std::min<double>(items, threads);
  block.warps = std::ceil(active / double(work.core.subgroup));
  block.each = arithmeticOf(tile);
  block.results = double(tile.rows) * work.columnsOf(tile).second;
  if (work.isSplit(tile)) {
    block.join = joinCycles(tile);
    block.joining = joinInstructions(tile);
  }
  return block;
}

BlockCycles ThreadCycles::leastCycles(const Arithmetic &block) const {
  double issued = block.each + step, after = block.results * work.epilogueOperations + places;
  BlockCycles cycles;
  cycles.busy = block.rounds * block.warps *
                ((block.steps * issued + after + block.joining) / work.core.schedulers);
  cycles.alone = withWaits(cycles.busy, block.rounds * (block.steps * issued + after + block.join));
  return cycles;
}

BlockCycles ThreadCycles::estimate(const RegisterTile &tile, const Arithmetic &block) const {
  constexpr double move = 2; ///< Of what another instruction takes.
  auto [rounds, warps, steps, arithmetic, results, join, joining] = block;
  Moves moves = movesOf(work.bodyReads, tile), finish = movesOf(work.epilogueReads, tile);
  double issued = arithmetic + move * moves.instructions + step;
  double after = results * work.epilogueOperations + move * finish.instructions +
                 move * results / elementsStored(tile) + places;
  double each = std::max((steps * issued + after + joining) / work.core.schedulers,
                         steps * moves.lines + finish.lines + linesStored(tile, results));
  double trips = std::max(steps / stepsAtOnce(tile), steps * moves.bytes / mostUnderWay);
  double waits = std::max(moves.wait * std::ceil(trips), finish.wait);
  BlockCycles cycles;
  cycles.busy = rounds * warps * each;
  // Operations on a point wait for each other; those of a sum's many results don't.
  double chain = nest.reduction ? 0 : 3 * arithmetic / results;
  double own = rounds * (steps * issued + after + join) +
               std::ceil(rounds / double(blocksAtOnce(tile))) * (waits + chain);
  cycles.alone = withWaits(cycles.busy, own);
  return cycles;
}

double ThreadCycles::scatteredBytes(const RegisterTile &tile) const {
  double points = 1;
  for (unsigned k = 0; k < numParallel; ++k)
    points *= double(nest.extentOf(k));
  // Moves of the same lines meet near the threads on their way from memory, not to it.
  double bytes =
      scatteredBytes(work.destination, work.destination, points, ThreadWork::mostTogether, tile);
  for (const Read &read : work.bodyReads)
    bytes += scatteredBytes(read, walkOf(read, tile), read.elements, WarpWalk::lineBytes, tile);
  return bytes;
}

double ThreadCycles::scatteredBytes(const Access &access, const Walk &its, double elements,
                                    int64_t most, const RegisterTile &tile) const {
  if (!access.isFar)
    return 0;
  double inRow = 1;
  for (auto [iterator, points] : {work.columnsOf(tile), std::pair{tile.rowIterator, tile.rows},
                                  std::pair{tile.vectorIterator, tile.vectors}})
    if (iterator >= 0 && its.strides[iterator] == 1)
      inRow = std::max(inRow, double(points));
  double differ = walk.differing(its.slopes);
  double wanted = differ * std::min(inRow * double(access.bytes), double(most));
  double touched = walk.linesOf(its.slopes, access.bytes) * double(WarpWalk::lineBytes);
  return differ == 1 ? 0 : elements * double(access.bytes) * std::max(0.0, touched / wanted - 1);
}

double ThreadCycles::elementsStored(const RegisterTile &tile) const {
  auto [column, columns] = work.columnsOf(tile);
  bool isInRow = column >= 0 && work.destination.strides[column] == 1 && !work.isSplit(tile) &&
                 nest.extentOf(column) % columns == 0;
  return isInRow ? together(work.destination, column, columns) : 1;
}

double ThreadCycles::linesStored(const RegisterTile &tile, double results) const {
  const double each = work.destination.isFar ? 2 : 1; // Through the nearest cache, to all cores'.
  double inMove = elementsStored(tile);
  return each * results * (turnsOf(work.destination, work.destination, inMove) + 0.25) / inMove;
}

double ThreadCycles::stepsAtOnce(const RegisterTile &tile) const {
  if (!nest.reduction)
    return 1;
  double results = double(tile.rows) * work.columnsOf(tile).second;
  return double(stepsTogether(work.isSplit(tile) ? tile.vectors : 1, int64_t(results)));
}

int64_t ThreadCycles::blocksAtOnce(const RegisterTile &tile) const {
  if (nest.reduction)
    return 1;
  int64_t all = 1;
  for (unsigned k = 0; k < numParallel; ++k)
    all *= int64_t(blocks[k]);
  return blocksTogether(all, threads, int64_t(tile.rows) * tile.vectors);
}

double ThreadCycles::halvesOf(const RegisterTile &tile) { return llvm::Log2_32(tile.lanes); }

double ThreadCycles::joinInstructions(const RegisterTile &tile) const {
  double handed = 2 * double(work.joinBytes) / 4; // Hand each value on, and take another's.
  return halvesOf(tile) * (handed + work.joinOperations) * double(tile.rows) * tile.columns;
}

double ThreadCycles::joinCycles(const RegisterTile &tile) const {
  constexpr double latency = 4, memory = 120;
  double neighbours = 21 + latency * work.joinOperations, value = 1 + work.joinOperations;
  double values = double(tile.rows) * tile.columns;
  unsigned spread = tile.lanes * tile.apart;
  if (tile.apart == 1)
    return halvesOf(tile) * (neighbours + value * values) +
           (spread > unsigned(work.core.subgroup) ? memory + value * values : 0);
  return halvesOf(tile) * (memory + 4 * value * values);
}

} // namespace kintsugi::cost
