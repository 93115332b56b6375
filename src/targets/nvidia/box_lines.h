//===- box_lines.h - What of a matrix tile's factor is a box ----------------===//
//
// Where four warps multiply together, what a step needs of a factor lies in lines, of which one
// box of a tensor (abi/tensor_map.h) has as many as its iterators' ends let it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_BOX_LINES_H
#define KINTSUGI_TARGETS_NVIDIA_BOX_LINES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace kintsugi::targets {

/// Bytes of the longest lines in which only the last of the iterators moves, where a stage has
/// `bytes` along them; 0: there are none.
int64_t boxLineBytes(llvm::ArrayRef<int64_t> extents, int64_t bytes);

/// How many points of each iterator a box has whose lines are `lines` in a row of all their
/// points: all of a tile's, or as many as are whole stages. `pastEnd`: lines beyond the last have
/// to be there. nullopt: no box has them.
std::optional<llvm::SmallVector<int64_t>> boxLines(llvm::ArrayRef<int64_t> extents, int64_t lines,
                                                   bool pastEnd);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_BOX_LINES_H
