//===- program_impl.h - What a TileProgram holds ----------------------------===//
//
// For the code that builds and lowers tile programs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_PROGRAM_IMPL_H
#define KINTSUGI_TILE_PROGRAM_IMPL_H

#include "base/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace kintsugi::tile {

struct ProgramImpl {
  ProgramImpl();

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Verifies any module; the message of a failure is the first diagnostic.
Status verifyModule(mlir::ModuleOp module);

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_PROGRAM_IMPL_H
