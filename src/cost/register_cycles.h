//===- register_cycles.h - The cycles of a nest by its registers ------------===//
//
// What one core takes for a nest of one tile, by which iterator's points share a vector and how
// many vectors and rows are unrolled: arithmetic against loads, dependent chains, lines that
// prefetchers don't follow, lanes stored apart.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_REGISTER_CYCLES_H
#define KINTSUGI_COST_REGISTER_CYCLES_H

#include "base/hash.h"
#include "loops/schedule.h"
#include "llvm/ADT/DenseMap.h"

#include <cmath>

namespace kintsugi::cost {

struct VectorUnit {
  unsigned bits = 256; ///< 0: scalar code only.
  unsigned registers = 16;
  int multiplyAdds = 2;            ///< Of a whole vector, that start in a cycle.
  int64_t nearestBytes = 32 << 10; ///< Of the innermost cache.
  int64_t nearBytes = 1 << 20;     ///< Of the cache that a core has to itself.
  double nearRate = 32;            ///< Bytes that come from it in a cycle.
  double allBytes = INFINITY;      ///< Of the last cache, all there are of it.
};

class RegisterCycles {
public:
  /// All outlive this.
  RegisterCycles(const loops::LoopNest &nest, llvm::ArrayRef<loops::TileDimension> space,
                 llvm::ArrayRef<loops::Buffer> buffers, const VectorUnit &unit);

  /// Of the nest's widest elements; what a sum along lanes leaves is no vector.
  unsigned lanesAlong(unsigned iterator) const {
    return iterator < numParallel ? fullLanes : reducedLanes;
  }
  /// Whether the body reads nothing under a mask.
  bool readsAll() const;
  /// Whether blocks of some operand are turned in registers: its elements lie side by side along
  /// the tile's rows instead of its lanes.
  bool turns(const loops::RegisterTile &tile) const;

  /// From here on constants lie in panels of so many lanes for vectors along an iterator, where
  /// they can; at first none does.
  void packFor(unsigned iterator, unsigned lanes);

  /// Of all that of() and turns() follow from, however constants lie.
  Hash128 hash() const;

  /// Of one tile's nest. Where vectors don't cover a parallel iterator of a reduction evenly, a
  /// block of fewer vectors finishes it. What takes `limit` cycles at least is only known to.
  double of(const loops::RegisterTile &tile, double limit = INFINITY) const;

private:
  using Uses = uint64_t; ///< A bit for each iterator.
  using Strides = llvm::SmallVector<llvm::SmallVector<int64_t, 8>>;

  void addRead(Hasher &hasher, const te::Expr &read, llvm::ArrayRef<int64_t> strides) const;
  Uses usesOf(const te::Expr &expr, Uses guard);
  void packNothing();
  Strides stridesOf(llvm::ArrayRef<te::Expr> reads) const;
  bool isTurned(llvm::ArrayRef<int64_t> strides, const loops::RegisterTile &tile) const;
  bool isBeyondCaches(const loops::Buffer &buffer) const;
  bool joinsKeys() const;

  double ofBlocks(const loops::RegisterTile &tile, double columns, double limit) const;
  double masking(const loops::RegisterTile &tile) const;
  double operationsIn(const loops::RegisterTile &tile) const;

  double bodyLoads(const loops::RegisterTile &tile) const;
  double loads(llvm::ArrayRef<te::Expr> reads, const Strides &readStrides,
               const loops::RegisterTile &tile) const;
  double crossing(llvm::ArrayRef<int64_t> strides, const loops::RegisterTile &tile) const;
  double turning(const te::Expr &read, llvm::ArrayRef<int64_t> strides,
                 const loops::RegisterTile &tile) const;
  bool nextTileGoesOn(const te::Expr &read) const;

  double farLines(const loops::RegisterTile &tile) const;
  bool isPrefetched(llvm::ArrayRef<int64_t> strides, const loops::RegisterTile &tile) const;
  double bytesBetweenBlocks(const te::Expr &read, llvm::ArrayRef<int64_t> strides) const;
  double anotherLine(int64_t stride, double size) const;
  double crowdedRows(const loops::RegisterTile &tile) const;

  double stores(const loops::RegisterTile &tile, bool vectorReduces) const;
  double keeping(const loops::RegisterTile &tile) const;
  double panelBytes(const loops::RegisterTile &tile) const;
  double shortRuns(const loops::RegisterTile &tile) const;
  int64_t storedRun(const loops::RegisterTile &tile) const;

  const loops::LoopNest &nest;
  llvm::ArrayRef<loops::TileDimension> space;
  llvm::ArrayRef<loops::Buffer> buffers;
  const VectorUnit &unit;
  unsigned numParallel;
  llvm::SmallVector<te::Expr> bodyReads, epilogueReads;
  Strides plainStrides, epilogueStrides;
  llvm::SmallVector<int64_t, 8> destinationStrides; ///< By parallel iterator.
  llvm::SmallVector<unsigned> loopOrder;            ///< Of the reduction, outermost first.
  Strides bodyStrides;                              ///< With what is packed.
  llvm::SmallVector<bool> isPacked;                 ///< By read of the body.
  struct Operation {
    double cost;
    Uses uses;
  };
  llvm::SmallVector<Operation> operations; ///< Of the bodies.
  struct Visit {
    Uses uses, guard;
  };
  llvm::SmallDenseMap<const void *, Visit> visited; ///< Of the bodies' expressions, once each.
  llvm::SmallVector<Uses> guards;                   ///< By read of the body.
  double epilogueOperations = 0;
  unsigned fullLanes = 1, reducedLanes = 1;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_REGISTER_CYCLES_H
