#include "search/thread_choice.h"

#include "cost/thread_cycles.h"
#include "loops/block_memory.h"
#include "loops/block_registers.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::search {

using namespace cost;
using namespace loops;

namespace {

constexpr unsigned mostRegisters = 64; ///< Of running values.
constexpr int64_t mostJoinBytes = 32 << 10;

class ThreadChoice {
public:
  ThreadChoice(const ThreadWork &work, int threads, Wish wish)
      : work(work), nest(work.nest), threads(threads), wish(wish), cycles(work, threads) {}

  ThreadTile choose() {
    consider(RegisterTile());
    considerRegisters();
    if (canSplit())
      considerSplits();
    return best;
  }

private:
  bool canUnroll(unsigned k) const { return nest.extentOf(k) > 1 && !nest.spanOf(k); }

  void considerRegisters() {
    for (unsigned v = 0; v < work.numParallel; ++v) {
      if (!canUnroll(v))
        continue;
      RegisterTile tile;
      tile.vectorIterator = v;
      for (tile.vectors = 2; tile.vectors <= 8; tile.vectors *= 2) {
        if (tile.vectors > nest.extentOf(v))
          break;
        consider(tile);
        considerRows(tile, nest.reduction ? 8 : 4);
      }
    }
  }

  /// Rows share what does not change with them, or are turned to columns.
  bool servesRows(const RegisterTile &tile, unsigned u) const {
    return nest.reduction || llvm::any_of(work.bodyReads, [&](const ThreadWork::Read &read) {
             bool isTurned = read.strides[u] == 1 && work.destination.strides[u] != 1;
             return read.strides[tile.vectorIterator] != 0 && (read.strides[u] == 0 || isTurned);
           });
  }

  void considerRows(RegisterTile tile, unsigned most) {
    for (unsigned u = 0; u < work.numParallel; ++u) {
      if (int(u) == tile.vectorIterator || !canUnroll(u) || !servesRows(tile, u))
        continue;
      tile.rowIterator = u;
      for (tile.rows = 2; tile.rows <= most; tile.rows *= 2) {
        if (tile.rows > nest.extentOf(u) || tile.rows * tile.vectors > mostRegisters ||
            (!nest.reduction && nest.extentOf(u) % tile.rows != 0))
          break;
        consider(tile);
      }
    }
  }

  /// The first of several greatest keys could not be told if threads had them apart.
  bool canSplit() const {
    return nest.reduction && nest.reduction->combiner != te::Combiner::ArgMax &&
           nest.reduction->combiner != te::Combiner::ArgMin;
  }

  void considerSplits() {
    for (unsigned k = work.numParallel; k < work.numIterators; ++k) {
      if (!canUnroll(k))
        continue;
      considerSplitBlocks(k);
      for (unsigned run : {8, 4, 2, 1}) { // Of equals, the one of fewer moves.
        if (run > 1 && (k + 1 < work.numIterators || !readsInRuns(k, run)))
          continue;
        for (unsigned apart : {1u, unsigned(work.core.subgroup)})
          considerLanes(k, run, apart);
      }
    }
  }

  /// Whether some read has so many terms in a row in one move.
  bool readsInRuns(unsigned k, unsigned run) const {
    return llvm::any_of(work.bodyReads, [&](const ThreadWork::Read &read) {
      return read.bytes * run <= ThreadWork::mostTogether &&
             (read.strides[k] == 1 || (read.packed && read.packed->strides[k] == 1));
    });
  }

  void considerLanes(unsigned k, unsigned run, unsigned apart) {
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
        consider(tile);
      for (unsigned u = 0; u < work.numParallel; ++u) {
        if (!canUnroll(u))
          continue;
        tile.rowIterator = u;
        for (tile.rows = 2; tile.rows <= 4 && tile.rows <= nest.extentOf(u); tile.rows *= 2)
          if (fitsJoin(tile))
            consider(tile);
      }
      tile.rowIterator = -1;
      tile.rows = 1;
      if (apart == 1 || work.numParallel == 0 || !canUnroll(work.numParallel - 1))
        continue;
      tile.columnIterator = int(work.numParallel) - 1;
      for (tile.columns = 2; tile.columns <= 8; tile.columns *= 2)
        if (tile.columns <= nest.extentOf(work.numParallel - 1) && fitsJoin(tile))
          consider(tile);
    }
  }

  /// A few rows and columns for each group of lanes, each of which stands in a warp of its own.
  void considerSplitBlocks(unsigned k) {
    RegisterTile tile;
    tile.vectorIterator = k;
    tile.apart = unsigned(work.core.subgroup);
    tile.columnIterator = int(work.numParallel) - 1;
    if (work.numParallel < 2 || !canUnroll(work.numParallel - 1))
      return;
    for (unsigned u = 0; u + 1 < work.numParallel; ++u)
      for (tile.lanes = 2; tile.lanes <= 16; tile.lanes *= 2)
        for (auto [rows, columns] : {std::pair{2u, 4u}, {4u, 2u}, {4u, 4u}, {8u, 4u}}) {
          tile.rowIterator = u;
          tile.rows = rows;
          tile.columns = columns;
          if (canUnroll(u) && rows <= nest.extentOf(u) &&
              columns <= nest.extentOf(work.numParallel - 1) && tile.lanes <= nest.extentOf(k) &&
              tile.lanes * tile.apart <= unsigned(threads) && fitsJoin(tile))
            consider(tile);
        }
  }

  bool fitsJoin(const RegisterTile &tile) const {
    return bytesOfJoin(tile, threads, work.core.subgroup, work.joinBytes) <= mostJoinBytes;
  }

  void consider(const RegisterTile &tile) {
    if (threads * registersOf(tile, nest.reduction.has_value()) > work.core.registers ||
        !wish.allows(tile))
      return;
    double enough = best.cycles.cost() * 0.999;
    std::optional<BlockCycles> fewer = cycles.below(wish.isNone() ? enough : INFINITY, tile);
    if (fewer)
      wish.tell(fewer->cost(), tile);
    if (fewer && fewer->cost() < enough)
      best = {tile, *fewer};
  }

  const ThreadWork &work;
  const LoopNest &nest;
  const int threads;
  const Wish wish;
  ThreadCycles cycles;
  ThreadTile best{{}, {INFINITY, INFINITY}};
};

} // namespace

ThreadTile bestThreadTile(const ThreadWork &work, int threads, Wish wish) {
  return ThreadChoice(work, threads, wish).choose();
}

} // namespace kintsugi::search
