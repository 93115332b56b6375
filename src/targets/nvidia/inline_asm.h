//===- inline_asm.h - Instructions that LLVM has no name for ---------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_INLINE_ASM_H
#define KINTSUGI_TARGETS_NVIDIA_INLINE_ASM_H

#include "mlir/IR/Builders.h"

namespace kintsugi::targets {

/// Emits PTX without a result, which stays where it stands; constraints are LLVM's.
void emitAsm(mlir::OpBuilder &builder, const char *text, const char *constraints,
             mlir::ValueRange operands);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_INLINE_ASM_H
