//===- block_merge.h - Merging sorted lists two by two ----------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_MERGE_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_MERGE_H

#include "targets/nvidia/calls/items.h"

namespace kintsugi::targets {

/// Of each row the lists 0 and 1, 2 and 3, ..., which lie behind each other in memory; the last one
/// may be alone. A block makes a tile of a pair's result.
struct ListMerge {
  uint64_t rows = 0, lists = 0;
  uint64_t length = 0; ///< Of each list, sorted.
  uint64_t kept = 0;   ///< Of each pair, at most twice the length.
  ItemFormat format;

  static constexpr unsigned itemsOfThread = 8;

  uint64_t pairs() const { return (lists + 1) / 2; }
  unsigned tile() const { return (16u << 10) / format.bytes(); }
  uint64_t tiles() const { return (kept + tile() - 1) / tile(); }
  calls::Launch launch() const; ///< But for what it reads and writes.
};

/// `give` stores an item of a row (an i64) that has a rank (an i64) in the results of all pairs
/// behind each other.
void emitListMerge(
    BlockBuilder &b, const ListMerge &merge, llvm::Value *from,
    llvm::function_ref<void(llvm::Value *row, llvm::Value *rank, llvm::Value *item)> give);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_MERGE_H
