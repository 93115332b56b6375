//===- reindex.h - Giving a reduction and its consumer the same iterators ---===//
//
// A pointwise consumer can finish a reduction's elements in registers if every element of the one
// belongs to exactly one element of the other, through transposes and reshapes in between.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_REINDEX_H
#define KINTSUGI_LOOPS_REINDEX_H

#include "loops/fuse.h"

namespace kintsugi::loops {

/// `reduction` with `consumer` as its epilogue, storing what the consumer stores; nullopt if their
/// elements don't correspond one to one.
std::optional<Member> joinEpilogue(const te::Program &program, const Member &reduction,
                                   const Member &consumer);

/// Whether `indices`, over iterators of the given extents, visit each point of `shape` exactly
/// once: each index is a mixed-radix number of iterators, and each iterator of extent above 1 is
/// used once.
bool isBijective(llvm::ArrayRef<te::Index> indices, llvm::ArrayRef<te::Iterator> iterators,
                 llvm::ArrayRef<te::Extent> shape);

/// For indices that split iterators (i // 4, i % 4 and the like): each iterator in terms of the
/// coordinates of `shape`. nullopt if they are anything else.
std::optional<llvm::SmallVector<te::Index>> invertSplit(llvm::ArrayRef<te::Index> indices,
                                                        llvm::ArrayRef<te::Iterator> iterators,
                                                        llvm::ArrayRef<te::Extent> shape);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_REINDEX_H
