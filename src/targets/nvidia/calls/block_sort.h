//===- block_sort.h - Sorting in a block's shared memory --------------------===//
//
// Bitonic networks: what is compared with what follows from the numbers of items alone, so every
// thread of a block does the same for others. A thread takes eight items out of shared memory at a
// time and does with them all that concerns no others (up to three steps of a network). Where few
// of a run are wanted, runs of no more than that are sorted, and of two such runs the least are
// kept, until one is left: much less than sorting all.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_SORT_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_SORT_H

#include "targets/nvidia/calls/items.h"

namespace kintsugi::targets {

/// All powers of two.
struct BlockSort {
  unsigned items = 0; ///< In the block, at least `leastItems`.
  unsigned run = 0;   ///< Each run of so many is sorted for itself, at least `leastRun`.
  unsigned kept = 0;  ///< Of each run, at least `leastRun`.

  static constexpr unsigned leastRun = 8, leastItems = 256;
  static constexpr unsigned itemsOfThread = 8;

  unsigned threads() const { return items / itemsOfThread; }
  unsigned runs() const { return items / run; }
};

/// Items in shared memory, their places turned so that threads that take every eighth one don't
/// meet in a bank.
class SharedItems {
public:
  SharedItems(BlockBuilder &b, ItemFormat format) : b(b), format(format) {}

  llvm::Value *load(llvm::Value *number) {
    return b.load(format.type(b), b.shared, turned(number));
  }
  void store(llvm::Value *item, llvm::Value *number) { b.store(item, b.shared, turned(number)); }

  /// Of `base | number` for many numbers, where both have no bit in common.
  llvm::Value *loadFrom(llvm::Value *turnedBase, unsigned number) {
    return b.load(format.type(b), b.shared, placeFrom(turnedBase, number));
  }
  void storeFrom(llvm::Value *item, llvm::Value *turnedBase, unsigned number) {
    b.store(item, b.shared, placeFrom(turnedBase, number));
  }
  llvm::Value *turned(llvm::Value *number);

private:
  /// Turning is linear: places of sums without carry are such sums of places.
  llvm::Value *placeFrom(llvm::Value *turnedBase, unsigned number) {
    return b.ir.CreateXor(turnedBase, turned(b.number(turnedBase, number)));
  }

  BlockBuilder &b;
  ItemFormat format;
};

/// Sorts what all threads have stored, ascending, and waits at both ends. The first `kept` of run r
/// are then at r * kept.
void emitBlockSort(BlockBuilder &b, const BlockSort &sort, ItemFormat format);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_SORT_H
