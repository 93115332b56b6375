//===- digit_map.h - Indices that move digits of iterators ------------------===//
//
// Transposes and reshapes read each element of what they read once, at indices that are numbers
// made of iterators' digits: 64 i + j, i // 64, i % 64 and the like. Such a map has an inverse, of
// the same kind.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_DIGIT_MAP_H
#define KINTSUGI_DERIVE_DIGIT_MAP_H

#include "te/program.h"

namespace kintsugi::derive {

/// Each iterator in terms of the coordinates of `shape`, where `indices` visit each point of it
/// exactly once and move digits; nullopt where they are anything else.
std::optional<llvm::SmallVector<te::Index>> invertDigits(llvm::ArrayRef<te::Index> indices,
                                                         llvm::ArrayRef<te::Iterator> iterators,
                                                         llvm::ArrayRef<te::Extent> shape);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_DIGIT_MAP_H
