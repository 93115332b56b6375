//===- renumbered.h - Some iterators of a definition, by themselves -----------===//
//
// What an expression of a definition becomes as a value of its own has the iterators that it uses,
// numbered anew; whoever reads the value names them as they were.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_RENUMBERED_H
#define KINTSUGI_DERIVE_RENUMBERED_H

#include "te/program.h"

namespace kintsugi::derive {

/// Some iterators of a definition, numbered from 0 on.
class Renumbered {
public:
  Renumbered(const te::Definition &definition, llvm::function_ref<bool(unsigned)> isUsed);

  llvm::SmallVector<te::Iterator, 4> iterators;
  llvm::SmallVector<te::Index> numbers; ///< By old iterator.
  llvm::SmallVector<te::Index, 4> old;  ///< By new one.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_RENUMBERED_H
