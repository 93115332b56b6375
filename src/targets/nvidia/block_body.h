//===- block_body.h - A kernel's tile as the work of a block ------------------===//
//
// What a block of threads does for one tile of a kernel, and what of shared memory it needs for
// that. What is around it, an entry of its own or one that several kernels share, is lower_block's.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_BLOCK_BODY_H
#define KINTSUGI_TARGETS_NVIDIA_BLOCK_BODY_H

#include "base/status.h"
#include "targets/nvidia/block_frame.h"
#include "tile/dialect.h"

namespace kintsugi::targets {

/// What the import table serves on a processor has no code here.
Status checkOperations(tile::KernelOp kernel);
/// That its threads hand values on through, beside scratch.
int64_t mostExchangeBytes(tile::KernelOp kernel);
/// Whether four warps multiply together somewhere, on machines whose warps can.
bool multipliesInFours(tile::KernelOp kernel);
/// Rings count their places from it.
unsigned scratchAlignment(tile::KernelOp kernel);
/// Blocks that share a tile.
int64_t clusterOf(tile::KernelOp kernel, bool isHopper);

/// Emits the work of a tile, of which `number` (an i64) says which, at the end of `block`, which
/// has no terminator yet.
void emitBlockBody(mlir::OpBuilder &builder, tile::KernelOp kernel, const BlockFrame &frame,
                   llvm::ArrayRef<mlir::Value> buffers, mlir::Value number, mlir::Block *block);

/// Until all threads of a block are here and see what each has stored. Without a count all come.
void emitBlockWait(mlir::OpBuilder &builder, int64_t count = 0);
/// Until so many threads of whole warps are here that wait at one of the block's further barriers,
/// of which there are `numBarriers`.
void emitWaitAt(mlir::OpBuilder &builder, mlir::Value barrier, int64_t count);
inline constexpr int64_t numBarriers = 14;

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_BLOCK_BODY_H
