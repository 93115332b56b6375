//===- threads.h - Threads that work on a tile together ---------------------===//
//
// What the nest emitter asks of a machine whose tiles are the work of a block of threads: who a
// thread is, how all wait for each other, and how neighbours hand values on. On a processor one
// worker does the work of all threads, one after another from wait to wait: so the mapping of a GPU
// runs, and is tested, where there is none.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_THREADS_H
#define KINTSUGI_TARGETS_THREADS_H

#include "tile/dialect.h"

#include "mlir/IR/Builders.h"

#include <cassert>

namespace kintsugi::targets {

class SpecialUnits;
struct KernelScope;

/// These are the threads that a processor's worker stands for.
class Threads {
public:
  Threads(int64_t count, mlir::Value exchange) : count(count), exchange(exchange) {}
  virtual ~Threads() = default;

  /// Whether each of them runs the code; otherwise it has loops over them.
  virtual bool areReal() const { return false; }
  /// Until all threads of the block are here, and see what each has stored. Real ones all come.
  virtual void wait(mlir::OpBuilder &) {}
  /// The value, a scalar, of the thread `distance` after this one; any where that is past the
  /// neighbours. Of real threads; all come.
  virtual mlir::Value fromNeighbour(mlir::OpBuilder &, mlir::Value value, unsigned) {
    assert(false && "threads that are real");
    return value;
  }

  /// What they approximate in one instruction; null: nothing.
  virtual const SpecialUnits *units() const { return nullptr; }

  /// The products of a nest that has a matrix tile, at the end of `block`; false: there are no
  /// matrix units.
  virtual bool emitProducts(KernelScope &, tile::ComputeOp, mlir::Block *) { return false; }

  /// Asks for what nests that are streamed read first, ahead of the nests before them. `written`:
  /// buffers that those write. May do nothing.
  virtual void beginStreamed(KernelScope &, llvm::ArrayRef<tile::ComputeOp>,
                             llvm::ArrayRef<mlir::Value> /*written*/, mlir::Block *) {}

  /// A nest that is streamed with the three that follow it (tile_ops.td), likewise.
  virtual bool emitStreamed(KernelScope &, llvm::ArrayRef<tile::ComputeOp>, mlir::Block *) {
    return false;
  }

  /// Threads that hand values on without memory: so many in a row, from a multiple of it.
  static constexpr unsigned neighbours = 32;

  int64_t count;
  mlir::Value number;   ///< Of this thread, an i32 from 0.
  mlir::Value exchange; ///< A pointer to memory that all share: see exchangeBytes().
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_THREADS_H
