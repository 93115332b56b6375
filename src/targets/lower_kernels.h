//===- lower_kernels.h - The frame of every target's lowering ---------------===//
//
// From a program of kernels to LLVM IR: a target says what functions a kernel becomes, in arith,
// math, scf and LLVM's dialect, and this takes them down the rest of the way.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_LOWER_KERNELS_H
#define KINTSUGI_TARGETS_LOWER_KERNELS_H

#include "targets/lower.h"
#include "tile/dialect.h"

namespace kintsugi::targets {

/// `lowerAll` adds the functions of a program's kernels where the builder stands, at the end of a
/// module.
Expected<std::unique_ptr<llvm::Module>>
lowerKernels(const tile::TileProgram &program, llvm::LLVMContext &context,
             llvm::function_ref<Status(mlir::OpBuilder &, mlir::ModuleOp)> lowerAll);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_LOWER_KERNELS_H
