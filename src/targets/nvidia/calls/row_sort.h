//===- row_sort.h - The least items of rows, in order -----------------------===//
//
// Rows of any length: blocks sort what has room in their shared memory and keep as many items as
// are wanted. Where those are few, the same is done with what is left of all blocks, until it has
// room in one; otherwise sorted lists are merged two by two, each pair by as many blocks as it
// takes, which find by search where their part of both begins. What makes the items and where
// results go is the call's business.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_ROW_SORT_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_ROW_SORT_H

#include "targets/nvidia/calls/call_code.h"
#include "targets/nvidia/calls/items.h"

namespace kintsugi::targets {

/// Where items come from: the one of a row (an i64) with a number (an i64). The builder's operands
/// are those that `reads` names.
struct ItemSource {
  std::vector<unsigned> reads;
  std::function<llvm::Value *(BlockBuilder &, llvm::ArrayRef<llvm::Value *> operands,
                              llvm::Value *row, llvm::Value *number)>
      item;
};

/// Where the sorted items of a row go, each with its rank (an i64).
struct ItemSink {
  std::vector<unsigned> reads, writes;
  std::function<void(BlockBuilder &, llvm::ArrayRef<llvm::Value *> reads,
                     llvm::ArrayRef<llvm::Value *> writes, llvm::Value *row, llvm::Value *rank,
                     llvm::Value *item)>
      store;
};

struct RowSort {
  uint64_t rows = 0, length = 0;
  uint64_t kept = 0; ///< Of each row, at least 1 and at most the length.
  ItemFormat format;
  /// Whether items of neighbouring rows are neighbours in memory, not those of a row.
  bool isAcross = false;
};

/// Adds the kernels that bring the least items of each row from a source to a sink. Too many blocks
/// for a launch are the code's reason to be none.
void addRowSort(CallCode &code, const RowSort &sort, ItemSource source, ItemSink sink);

/// Sorted items in memory that is the code's own: a sink for them, row by row, and its place.
ItemSink itemsIn(unsigned place, uint64_t itemsOfRow);
ItemSource itemsFrom(unsigned place, uint64_t itemsOfRow, ItemFormat format);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_ROW_SORT_H
