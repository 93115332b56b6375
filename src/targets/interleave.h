//===- interleave.h - Independent chains of a block side by side ------------===//
//
// The vectors of a register tile are emitted one after the other. Where each is a long chain of
// dependent operations, a processor's window holds a few of them at a time, and waits. Here
// operations that are as far from the end of their chain stand side by side.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_INTERLEAVE_H
#define KINTSUGI_TARGETS_INTERLEAVE_H

#include "mlir/IR/Block.h"

namespace kintsugi::targets {

/// Sorts a block by the longest way from each operation to its chain's end. What the block loads it
/// must not store. A block with calls or loops in it stays as it is.
void interleave(mlir::Block &block);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_INTERLEAVE_H
