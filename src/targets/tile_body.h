//===- tile_body.h - What one tile of a kernel computes ---------------------===//
//
// The nests of a tile.kernel, one after another, for one tile: the part of a kernel's lowering that
// all targets share. What is around it, a loop over tiles or a grid of blocks, is a target's own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_TILE_BODY_H
#define KINTSUGI_TARGETS_TILE_BODY_H

#include "targets/emit.h"
#include "targets/threads.h"
#include "tile/dialect.h"

namespace kintsugi::targets {

/// What a tile is given.
struct TileArguments {
  llvm::SmallVector<mlir::Value> buffers;
  mlir::Value scratch;                 ///< Null where the kernel has none.
  mlir::Value imports;                 ///< Null where there is no table of functions.
  llvm::SmallVector<mlir::Value> tile; ///< Its number in each dimension.
  mlir::Value startsRun; ///< Whether it is the first of a worker's run; null: each tile is alone.
  Threads *threads = nullptr; ///< Those that work on it together.
};

/// Emits at the end of `block`, which has no terminator yet.
void emitTileBody(mlir::OpBuilder &builder, tile::KernelOp kernel, const TileArguments &arguments,
                  bool hasAllMasks, mlir::Block *block);

/// Of a tile by its number in the whole space, row-major.
llvm::SmallVector<mlir::Value> tileNumbers(Emit &make, tile::KernelOp kernel, mlir::Value linear);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_TILE_BODY_H
