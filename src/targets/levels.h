//===- levels.h - Each value computed once, at the loop it depends on -------===//
//
// While a nest is emitted, every value has a level: the innermost loop that it depends on. Its code
// stands in that loop's body ahead of the loops inside, and is emitted once for each time the loop
// is entered: hoisting and common subexpressions by construction, with no pass.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_LEVELS_H
#define KINTSUGI_TARGETS_LEVELS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace kintsugi::targets {

class Levels {
public:
  /// Identifies a value within its level.
  using Key = std::pair<std::pair<const void *, const void *>, int64_t>;

  /// Level 0 is `block`, at its end.
  Levels(mlir::OpBuilder &builder, unsigned count, mlir::Block *block);

  /// Starts a level anew: what it and the levels inside knew is forgotten.
  void enter(unsigned level, mlir::Block *block);
  /// Code of this level goes to the end of its block from here on, no longer ahead of its loops.
  void resume(unsigned level) { levels[level].anchor = nullptr; }
  mlir::Block *block(unsigned level) const { return levels[level].block; }

  /// Sets the builder to the end of a level's block: for a loop, or for what takes a loop's
  /// results.
  void placeAtEnd(unsigned level);
  /// Tells that a loop was created there: outer code of the same block goes ahead of it.
  void loopCreated(unsigned level, mlir::Operation *loop);

  /// The value known under a key since the level was entered, or null.
  mlir::Value find(unsigned level, Key key) const { return levels[level].known.lookup(key); }
  void know(unsigned level, Key key, mlir::Value value) { levels[level].known[key] = value; }
  /// The value known under `key`, or what `make` creates at the level's place. `make` must not ask
  /// for other values: its operands are there already.
  mlir::Value once(unsigned level, Key key, llvm::function_ref<mlir::Value()> make);
  /// Sets the builder to where the level's code goes.
  void place(unsigned level);

private:
  struct Level {
    mlir::Block *block = nullptr;
    mlir::Operation *anchor = nullptr; ///< Code goes ahead of it; null: to the block's end.
    llvm::DenseMap<Key, mlir::Value> known;
  };

  mlir::OpBuilder &builder;
  llvm::SmallVector<Level> levels;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_LEVELS_H
