//===- lower_block.h - Kernels of blocks of threads -------------------------===//
//
// From tile programs to LLVM IR for NVIDIA's devices: each kernel is one function, in which a block
// computes its tile.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_LOWER_BLOCK_H
#define KINTSUGI_TARGETS_NVIDIA_LOWER_BLOCK_H

#include "base/status.h"
#include "tile/program.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace kintsugi::targets {

/// An input error names a kernel and what it does that these devices have no code for yet.
/// `level`: of the device, which says whether four warps can multiply together.
/// Whether kernels for a level wait themselves for the launches before them (abi/launch.h).
bool startsEarly(const std::string &level);

Expected<std::unique_ptr<llvm::Module>> lowerToBlocks(const tile::TileProgram &program,
                                                      const std::string &level,
                                                      llvm::LLVMContext &context);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_LOWER_BLOCK_H
