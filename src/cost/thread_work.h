//===- thread_work.h - A nest as work for threads ---------------------------===//
//
// What the choice of a nest's registers depends on but for the number of threads: its extents, how
// what it reads and writes lies, and its arithmetic. Two nests of equal work have the same choice.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_THREAD_WORK_H
#define KINTSUGI_COST_THREAD_WORK_H

#include "base/hash.h"
#include "loops/schedule.h"
#include "machine/machine.h"
#include "llvm/ADT/DenseMap.h"

namespace kintsugi::cost {

class ThreadWork {
public:
  static constexpr int64_t mostTogether = 16;    ///< Bytes that a thread moves at once.
  using Strides = llvm::SmallVector<int64_t, 8>; ///< By iterator.
  using Slopes = llvm::SmallVector<double, 8>;   ///< Likewise.

  /// How a position moves.
  struct Walk {
    Strides strides;
    Slopes slopes; ///< Elements from point to point on average; no more than a line has.
  };
  struct Access : Walk {
    int64_t bytes = 4;    ///< Of an element.
    bool isFar = false;   ///< Not in scratch.
    Strides alignedAlong; ///< Elements that blocks along each iterator start at a multiple of.
  };
  struct Read : Access {
    explicit Read(te::Expr expr) : expr(std::move(expr)) {}

    te::Expr expr;
    std::optional<Walk> packed; ///< Once it lies as threads that share a sum read it in rows.
    double elements = 0;        ///< That differ, of all that the nest reads.
    double cycles = 0;          ///< From asking to having what no other thread has asked for.
  };
  struct Operation {
    double cost;
    uint64_t uses; ///< The iterators that change it, by bit.
  };

  /// Of a nest, on a core, which both outlive this.
  ThreadWork(const loops::LoopNest &nest, const loops::Schedule &schedule,
             const machine::BlockCore &core);

  /// Of all that the choice for so many threads depends on.
  Hash128 hash(int threads) const;

  bool isSplit(const loops::RegisterTile &tile) const {
    return tile.vectorIterator >= int(numParallel);
  }
  /// The iterator whose points stand side by side in a thread, and how many of them.
  std::pair<int, unsigned> columnsOf(const loops::RegisterTile &tile) const {
    return isSplit(tile) ? std::pair{tile.columnIterator, tile.columns}
                         : std::pair{tile.vectorIterator, tile.vectors};
  }

  const loops::LoopNest &nest;
  const machine::BlockCore &core;
  const unsigned numParallel, numIterators;
  std::vector<Read> bodyReads, epilogueReads;
  Access destination;
  llvm::SmallVector<Operation> operations;               ///< Of the bodies.
  llvm::SmallDenseMap<const void *, uint64_t> usesBelow; ///< Of the bodies' expressions, once each.
  double epilogueOperations = 0;
  int64_t joinBytes = 0;     ///< Of the running values of one result.
  double joinOperations = 0; ///< Of joining a term, or what another thread has, to those.

private:
  void collect(llvm::ArrayRef<te::Expr> exprs, const loops::Schedule &schedule,
               std::vector<Read> &reads) const;
  Read readOf(const te::Expr &expr, const loops::Schedule &schedule) const;
  void noteAlignment(Access &access, const te::Index &position,
                     const loops::Schedule &schedule) const;
  Walk walkOf(const te::Index &position, int64_t bytes) const;
  uint64_t usesOf(const te::Expr &expr);

  llvm::SmallVector<unsigned, 8> readBefore; ///< Buffers, by earlier nests of the tile.
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_THREAD_WORK_H
