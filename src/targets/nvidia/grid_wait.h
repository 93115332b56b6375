//===- grid_wait.h - Until all blocks of a launch are here ---------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_GRID_WAIT_H
#define KINTSUGI_TARGETS_NVIDIA_GRID_WAIT_H

#include "targets/nvidia/block_body.h"

namespace kintsugi::targets {

/// Asks for a constant of so many bytes, each block for a part of it: it comes from memory to where
/// all find it sooner, while blocks wait for each other. From sm_90 on.
void emitPrefetch(mlir::OpBuilder &builder, const BlockFrame &frame, mlir::Value address,
                  int64_t bytes);

/// Emits, where the builder stands, a wait of all blocks of a launch whose blocks are under way at
/// once; each then sees what the others have stored. `counter` points to 4 bytes of the queue's own
/// that were 0 before its first run: each wait leaves them ready for the next one.
void emitGridWait(mlir::OpBuilder &builder, const BlockFrame &frame, mlir::Value counter);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_GRID_WAIT_H
