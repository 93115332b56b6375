#include "cost/streams.h"

#include "loops/cut_reduction.h"
#include "loops/footprint.h"
#include "loops/loop_order.h"
#include "loops/scratch.h"
#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::cost {

using namespace loops;
using namespace te;

namespace {

class Streams {
public:
  Streams(Schedule &schedule, llvm::ArrayRef<ValueId> constants, const machine::Machine &machine)
      : schedule(schedule), constants(constants), machine(machine) {}

  void run() {
    llvm::SmallVector<unsigned> read;
    for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
      double bytes = double(buffer.elements) * double(bytesOfElement(buffer.type));
      if (buffer.home != Home::Memory)
        continue;
      if (!isBeyondCaches(bytes, machine)) {
        if (llvm::is_contained(constants, buffer.value))
          readPanelsAhead(number);
        continue;
      }
      if (buffer.written)
        storePastCaches(number);
      else
        read.push_back(number);
    }
    for (unsigned buffer : read)
      readAhead(buffer);
  }

private:
  static std::optional<Index> readOf(const LoopNest &nest, unsigned buffer) {
    std::optional<Index> found;
    forEachRead(nest, [&](const Expr &read) {
      if (read.readValue().number == buffer)
        found = read.readIndices()[0];
    });
    return found;
  }

  void storePastCaches(unsigned buffer) {
    bool isRead =
        llvm::any_of(schedule.nests, [&](const LoopNest &n) { return bool(readOf(n, buffer)); });
    for (LoopNest &nest : schedule.nests)
      nest.pastCaches |= nest.destinations.size() == 1 && nest.destinations[0] == buffer &&
                         !isRead && !nest.inPasses && storesWholeVectors(nest);
  }

  /// Others are stored through the caches anyway.
  bool storesWholeVectors(const LoopNest &nest) const {
    const RegisterTile &tile = nest.registers;
    const Index &index = nest.destinationIndex;
    int64_t lanes = tile.lanes;
    if (tile.vectorIterator < 0 || tile.vectorIterator >= int(nest.parallel.size()) ||
        index.coefficientOf(tile.vectorIterator) != 1 || index.constantTerm() % lanes != 0 ||
        nest.extentOf(tile.vectorIterator) % lanes != 0)
      return false;
    for (unsigned k = 0; k < nest.parallel.size(); ++k)
      if (int(k) != tile.vectorIterator && index.coefficientOf(k) % lanes != 0)
        return false;
    for (auto [d, dimension] : llvm::enumerate(schedule.space))
      if (index.coefficientOf(nest.originIterator(d)) * dimension.startMultiple() % lanes != 0)
        return false;
    return true;
  }

  /// Of several nests that read it the last: the first waits for memory, the others have arithmetic
  /// to do meanwhile; one before that which stores to memory, where there is such a one, so that
  /// memory is busy during both. All lines in their order, which the processor goes on with.
  void readAhead(unsigned buffer) {
    llvm::SmallVector<std::pair<LoopNest *, Ahead>, 4> able;
    for (LoopNest &nest : llvm::reverse(schedule.nests))
      if (std::optional<Index> index = readOf(nest, buffer))
        if (Ahead ahead = aheadOf(nest, *index, buffer); ahead.elements != 0)
          able.push_back({&nest, ahead});
    if (able.empty())
      return;
    auto &[nest, ahead] = able[able.size() > 2 && able[0].first->pastCaches];
    nest->ahead.push_back(ahead);
  }

  /// Constants come from memory or the last cache: while blocks come back to a panel of them, the
  /// next is on its way. What no block comes back to moves as quickly by itself.
  void readPanelsAhead(unsigned buffer) {
    for (LoopNest &nest : schedule.nests)
      if (std::optional<Index> index = readOf(nest, buffer))
        if (Ahead ahead = toNextPanel(nest, *index, buffer); ahead.elements != 0) {
          nest.ahead.push_back(ahead);
          if (ahead.sharedFrom)
            cutForShares(nest);
          return;
        }
  }

  /// Blocks ask ahead of the innermost loop of their sums. Of a long one a share is more than a
  /// core may wait for at a time, so that what it asks for last would keep it from computing.
  void cutForShares(LoopNest &nest) const {
    constexpr int64_t shortest = 64;
    constexpr int64_t slices[] = {32, 24, 28, 36, 40, 20, 16, 18, 12};
    if (nest.registers.unrolledReductions >= nest.numReductions() || !nest.spans.empty())
      return;
    unsigned inner = nest.numReductions() - nest.registers.unrolledReductions - 1;
    int64_t extent = nest.extentOf(nest.parallel.size() + inner);
    const int64_t *slice = llvm::find_if(slices, [&](int64_t each) { return extent % each == 0; });
    if (inner >= nest.inPasses && extent >= shortest && slice != std::end(slices))
      cutReduction(nest, inner, *slice, schedule.space.size());
  }

  /// By how much a read moves with an iterator, whichever points it starts from; nullopt where that
  /// is not always the same.
  static std::optional<int64_t> distance(const Index &index, unsigned iterator, int64_t by,
                                         unsigned iterators) {
    if (!index.isStatic())
      return std::nullopt;
    llvm::SmallVector<Index> places(iterators, Index(0));
    auto at = [&](int64_t place) {
      places[iterator] = Index(place);
      return substitute(index, places).constantTerm();
    };
    int64_t first = at(by) - at(0);
    return at(2 * by) - at(by) == first ? std::optional(first) : std::nullopt;
  }

  /// To what the loop outside of those that come back to what they read goes on with, be it the
  /// next pass or tile; no elements where none comes back, or there is no room for two of it.
  Ahead toNextPanel(const LoopNest &nest, const Index &index, unsigned buffer) const {
    constexpr double room = 0.45; ///< Of the near cache, for each.
    /// Of fewer each asks for all: memory is what they wait for, and its lines come best in a row.
    constexpr int64_t fewestSharers = 4;
    unsigned numParallel = nest.parallel.size(),
             iterators = nest.originIterator(schedule.space.size());
    auto move = [&](unsigned k, int64_t by) { return distance(index, k, by, iterators); };
    int64_t sharers = 1; ///< Blocks that come back.
    auto to = [&](int64_t elements, unsigned inside) {
      Ahead ahead{buffer, elements, false, 0, {}};
      if (sharers >= fewestSharers)
        ahead.sharedFrom = inside;
      return ahead;
    };
    if (!nest.reduction || nest.registers.vectorIterator < 0 ||
        nest.registers.vectorIterator >= int(numParallel) ||
        move(nest.registers.vectorIterator, 1) != 1)
      return to(0, 0);
    double bytes = double(bytesOfElement(schedule.buffers[buffer].type));
    for (unsigned k = numParallel + nest.inPasses; k < numParallel + nest.numReductions(); ++k)
      bytes *= index.uses(k) ? double(nest.extentOf(k)) : 1;
    bool comesBack = false;
    auto fits = [&](double panel) { return panel <= room * double(machine.nearBytes()); };
    for (unsigned k = numParallel; k-- > 0;) {
      int64_t step = std::min(nest.registers.stepOf(k), nest.extentOf(k));
      bool isLoop = step < nest.extentOf(k), moves = index.uses(k);
      if (comesBack && isLoop && moves) {
        // Where blocks cut panels, every other one begins as this one does.
        for (int64_t by : {step, 2 * step})
          if (std::optional<int64_t> next = move(k, by))
            return to(fits(bytes * double(by)) ? *next : 0, k + 1);
        return to(0, 0);
      }
      comesBack |= isLoop && !moves;
      sharers *= isLoop && !moves ? llvm::divideCeil(nest.extentOf(k), step) : 1;
      bytes *= !moves ? 1 : comesBack ? double(step) : double(nest.extentOf(k));
    }
    if (!comesBack || !fits(bytes))
      return to(0, 0);
    if (nest.inPasses && index.uses(numParallel))
      return to(move(numParallel, 1).value_or(0), 0);
    for (unsigned d = schedule.space.size(); d-- > 0;)
      if (schedule.space[d].count() > 1)
        return to(move(nest.originIterator(d), schedule.space[d].size).value_or(0), 0);
    return to(0, 0);
  }

  /// No elements: no such thing.
  Ahead aheadOf(const LoopNest &nest, const Index &index, unsigned buffer) const {
    const RegisterTile &tile = nest.registers;
    bool isTurned =
        !nest.reduction && tile.rowIterator >= 0 && strideOf(index, tile.rowIterator) == 1;
    if (isTurned && schedule.nests.size() == 1)
      return {buffer, tile.rows, false};
    if (Ahead rows = rowsAhead(nest, index, buffer); rows.elements != 0)
      return rows;
    if (tile.vectorIterator < 0 || (!isTurned && strideOf(index, tile.vectorIterator) != 1))
      return {buffer, 0, false};
    double each = double(bytesOfElement(schedule.buffers[buffer].type));
    llvm::SmallVector<int64_t> extents;
    for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
      extents.push_back(nest.extentOf(k));
    double held = positionsOf(index, extents) * each;
    if (schedule.nests.size() > 1 && held <= 0.25 * double(machine.nearBytes()))
      return {buffer, toNextTile(nest, index), true};
    if (nest.inPasses)
      return {buffer, toNextPass(nest, index, each), false};
    // A move waits for nothing but the lines on their way to the nearest cache, of which there may
    // be few: those that are asked for ahead had better not be among them.
    bool isMove = !nest.reduction && nest.bodies[0].kind() == ExprKind::Read;
    return {buffer, alongLoops(nest, index, each), !isMove};
  }

  /// Rows that one sum goes along and that all lanes read, so short that the processor follows none
  /// of them: the next block's.
  Ahead rowsAhead(const LoopNest &nest, const Index &index, unsigned buffer) const {
    constexpr int64_t most = 16; ///< Rows whose lines the steps of one line ask for.
    constexpr double room = 0.5; ///< Of the nearest cache, for each of two blocks.
    const RegisterTile &tile = nest.registers;
    bool isSum = nest.numReductions() > 0 && !nest.inPasses && tile.lanes > 1 &&
                 tile.vectorIterator < int(nest.parallel.size()) && tile.rowIterator >= 0;
    if (!isSum || strideOf(index, tile.vectorIterator) != 0 || tile.rows > most)
      return {buffer, 0, false};
    unsigned along = nest.parallel.size() + nest.numReductions() - 1;
    for (unsigned k = nest.parallel.size(); k < along; ++k)
      if (nest.extentOf(k) > 1)
        return {buffer, 0, false};
    int64_t apart = strideOf(index, tile.rowIterator), length = nest.extentOf(along);
    if (strideOf(index, along) != 1 || apart == irregular || apart < length ||
        nest.extentOf(tile.rowIterator) <= tile.rows)
      return {buffer, 0, false};
    double each = double(bytesOfElement(schedule.buffers[buffer].type));
    double bytes = double(tile.rows) * double(length) * each;
    bool isNear = bytes <= room * double(machine.levels.back().bytes);
    return {buffer, tile.rows * apart, isNear, apart};
  }

  /// A pass goes over all that its rows hold.
  static int64_t toNextPass(const LoopNest &nest, const Index &index, double each) {
    unsigned pass = nest.parallel.size();
    llvm::SmallVector<int64_t> extents;
    for (unsigned k = 0; k < pass + nest.numReductions(); ++k)
      extents.push_back(k == pass ? 1 : nest.extentOf(k));
    int64_t stride = strideOf(index, pass);
    double passes = std::ceil(bytesUnderWay / (positionsOf(index, extents) * each));
    return stride == irregular ? 0 : stride * int64_t(passes);
  }

  int64_t toNextTile(const LoopNest &nest, const Index &index) const {
    for (unsigned d = schedule.space.size(); d-- > 0;) {
      const TileDimension &dimension = schedule.space[d];
      int64_t stride = strideOf(index, nest.originIterator(d));
      if (dimension.count() > 1)
        return stride == irregular ? 0 : stride * dimension.size;
    }
    return 0;
  }

  /// So many steps of the innermost loop that reaches far enough.
  int64_t alongLoops(const LoopNest &nest, const Index &index, double each) const {
    const RegisterTile &tile = nest.registers;
    unsigned count = nest.parallel.size() + nest.numReductions();
    llvm::SmallVector<int64_t> inside(count, 1);
    auto stepOf = [&](unsigned k) -> int64_t {
      int64_t step = tile.stepOf(k);
      return std::min(step, nest.extentOf(k));
    };
    for (unsigned k = 0; k < count; ++k)
      inside[k] = stepOf(k);
    for (unsigned k = count; k-- > 0;) {
      int64_t stride = strideOf(index, k), step = stepOf(k);
      double steps = std::ceil(bytesUnderWay / (positionsOf(index, inside) * each));
      if (stride == irregular)
        return 0;
      if (stride != 0 && steps < double(nest.extentOf(k)) / double(step))
        return int64_t(steps) * step * stride;
      inside[k] = nest.extentOf(k);
    }
    return 0;
  }

  Schedule &schedule;
  llvm::ArrayRef<ValueId> constants;
  const machine::Machine &machine;
};

} // namespace

double cachedBytes(const machine::Machine &machine) {
  if (machine.levels.size() < 2)
    return INFINITY;
  const machine::MemoryLevel &last = machine.levels[1];
  return double(last.bytes) * machine.instancesOf(last);
}

bool isBeyondCaches(double bytes, const machine::Machine &machine) {
  return bytes > cachedBytes(machine);
}

void chooseStreams(Schedule &schedule, llvm::ArrayRef<ValueId> constants,
                   const machine::Machine &machine) {
  Streams(schedule, constants, machine).run();
}

} // namespace kintsugi::cost
