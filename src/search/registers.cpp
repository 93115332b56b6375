#include "search/registers.h"

#include "cost/passes.h"
#include "loops/loop_order.h"
#include "loops/running.h"
#include "search/choice_memo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <utility>

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

namespace {

class RegisterSearch {
public:
  RegisterSearch(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                 llvm::ArrayRef<Buffer> buffers, const VectorUnit &unit)
      : nest(nest), unit(unit), numParallel(nest.parallel.size()),
        cycles(nest, space, buffers, unit) {}

  RegisterChoice choose() {
    constexpr double clearly = 0.999;
    RegisterChoice best{{}, INFINITY};
    considerAll([&](const RegisterTile &tile, double found) {
      if (found < best.cycles * clearly) {
        best = {tile, found};
        limit = found * clearly;
      }
    });
    return best;
  }

  /// Of all that choose() follows from.
  Hash128 hash() const {
    return Hasher("registers").add(cycles.hash()).add(canVectorizeReduction()).finish();
  }

  using Tell = llvm::function_ref<void(const RegisterTile &, double cycles)>;

  /// Tells each choice with its cycles, which may be less beyond the limit, scalar code first: it
  /// packs nothing, so this is asked once.
  void considerAll(Tell tell) {
    consider(RegisterTile(), tell);
    if (unit.bits == 0)
      return;
    for (unsigned v = 0; v < numParallel + nest.numReductions(); ++v)
      if (v < numParallel || canVectorizeReduction())
        considerVector(v, tell);
  }

private:
  void consider(const RegisterTile &tile, Tell tell) const { tell(tile, cycles.of(tile, limit)); }

  bool canVectorizeReduction() const {
    if (!nest.reduction || keepsRunningValue(nest))
      return false;
    if (isArgForm(nest.reduction->combiner)) // Of equal keys in two lanes the first one wins.
      return payloadOrder(nest) != 0;
    return nest.reduction->combiner != Combiner::SoftmaxStats;
  }

  void considerVector(unsigned v, Tell tell) {
    int64_t size = nest.extentOf(v);
    if (size < 2 || nest.spanOf(v))
      return;
    RegisterTile tile;
    tile.vectorIterator = v;
    tile.lanes = std::min<uint64_t>(cycles.lanesAlong(v), llvm::PowerOf2Ceil(size));
    cycles.packFor(v, tile.lanes);
    bool hasTail = nest.reduction && v < numParallel;
    int64_t mostVectors =
        hasTail ? llvm::divideCeil(size, tile.lanes) : std::max<int64_t>(1, size / tile.lanes);
    for (unsigned vectors : {1u, 2u, 3u, 4u, 8u}) {
      bool isChains = v >= numParallel; // Of one sum: they wait for nothing but each itself.
      if (vectors > mostVectors || (vectors > 4 && !isChains) ||
          (!nest.reduction && vectors > unit.registers / 8))
        break;
      tile.vectors = vectors;
      tile.rowIterator = -1;
      tile.rows = 1;
      consider(tile, tell);
      if (!nest.reduction) {
        considerTransposed(tile, tell);
        continue;
      }
      for (unsigned u = 0; u < numParallel; ++u) {
        if (u == v || nest.extentOf(u) < 2 || nest.spanOf(u))
          continue;
        tile.rowIterator = u;
        for (unsigned rows = 2; rows <= 14; ++rows) {
          if (rows > nest.extentOf(u) || rows * vectors + vectors + 1 > unit.registers)
            break;
          tile.rows = rows;
          consider(tile, tell);
        }
        tile.rowIterator = -1;
        tile.rows = 1;
      }
    }
  }

  /// As many rows as lanes, where elements lie side by side along the rows instead of the lanes:
  /// square blocks are turned in registers.
  void considerTransposed(RegisterTile tile, Tell tell) {
    // Under a mask a block is not read whole.
    if (nest.extentOf(tile.vectorIterator) < tile.lanes || !cycles.readsAll())
      return;
    for (unsigned u = 0; u < numParallel; ++u) {
      if (int(u) == tile.vectorIterator || nest.extentOf(u) < tile.lanes || tile.vectors > 1 ||
          nest.spanOf(u))
        continue;
      tile.rowIterator = u;
      tile.rows = tile.lanes;
      if (cycles.turns(tile))
        consider(tile, tell);
    }
  }

  const LoopNest &nest;
  const VectorUnit &unit;
  const unsigned numParallel;
  RegisterCycles cycles;
  double limit = INFINITY; ///< Choices of as many cycles are of no interest.
};

/// Unrolled steps share what they read, which takes registers beside the accumulators.
unsigned unrolledReductions(const LoopNest &nest, const VectorUnit &unit) {
  constexpr double spare = 10;
  double size = double(nest.registers.rows) * nest.registers.vectors;
  unsigned count = 0;
  if (nest.registers.lanes > 1 && size + nest.registers.vectors + spare > unit.registers)
    return 0;
  for (unsigned k = nest.numReductions(); k-- > 0; ++count) {
    int64_t extent = nest.reduction->iterators[k].extent.constant();
    if (int(nest.parallel.size() + k) == nest.registers.vectorIterator || extent > 8 ||
        size * extent > 128 || nest.spanOf(nest.parallel.size() + k))
      break;
    size *= extent;
  }
  return count;
}

} // namespace

/// Returns the cycles that passes cost.
static double useRegisters(LoopNest &nest, const RegisterTile &tile,
                           llvm::ArrayRef<TileDimension> space, llvm::ArrayRef<Buffer> buffers,
                           const VectorUnit &unit) {
  nest.registers = tile;
  orderLoops(nest, space.size(), buffers, unit.nearBytes);
  nest.registers.unrolledReductions = unrolledReductions(nest, unit);
  return choosePasses(nest, space, buffers, unit.nearBytes);
}

double chooseRegisters(LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                       llvm::ArrayRef<Buffer> buffers, const VectorUnit &unit, ChoiceMemo &memo) {
  RegisterSearch search(nest, space, buffers, unit);
  RegisterChoice best = memo.at(search.hash(), [&] { return search.choose(); });
  best.cycles += useRegisters(nest, best.tile, space, buffers, unit);
  return best.cycles * nest.share();
}

std::optional<double> takeRegisters(LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                                    llvm::ArrayRef<Buffer> buffers, const VectorUnit &unit,
                                    const RegisterTile &wanted) {
  std::optional<double> found;
  RegisterSearch(nest, space, buffers, unit)
      .considerAll([&](const RegisterTile &tile, double cycles) {
        if (tile == wanted)
          found = cycles;
      });
  if (found)
    found = (*found + useRegisters(nest, wanted, space, buffers, unit)) * nest.share();
  return found;
}

std::vector<RegisterTile> bestRegisters(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                                        llvm::ArrayRef<Buffer> buffers, const VectorUnit &unit,
                                        size_t most) {
  std::vector<RegisterTile> all;
  std::vector<std::pair<double, size_t>> order; ///< Cycles and number.
  RegisterSearch(nest, space, buffers, unit)
      .considerAll([&](const RegisterTile &tile, double cycles) {
        order.emplace_back(cycles, all.size());
        all.push_back(tile);
      });
  llvm::sort(order);
  std::vector<RegisterTile> best;
  for (const auto &[cycles, number] : llvm::ArrayRef(order).take_front(most))
    best.push_back(all[number]);
  return best;
}

} // namespace kintsugi::search
