//===- lower.h - From the tile dialect to LLVM's ----------------------------===//
//
// Each kernel becomes two functions: an internal one that computes one tile, and the stage that the
// runtime calls (abi/stage.h), which loops over tiles.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_LOWER_H
#define KINTSUGI_TARGETS_LOWER_H

#include "base/status.h"
#include "tile/program.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace kintsugi::targets {

struct LoweringOptions {
  /// The machine masks loads of narrow elements and gathers (AVX-512); otherwise the emitter finds
  /// ways around.
  bool hasAllMasks = false;
};

/// LLVM IR for all kernels of a program.
Expected<std::unique_ptr<llvm::Module>> lowerToLLVM(const tile::TileProgram &program,
                                                    llvm::LLVMContext &context,
                                                    const LoweringOptions &options);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_LOWER_H
