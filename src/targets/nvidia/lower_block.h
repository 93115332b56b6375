//===- lower_block.h - Entries of blocks of threads -------------------------===//
//
// From tile programs to LLVM IR for NVIDIA's devices: each launch is one function, in which a block
// computes a tile of the kernel, or of one of the kernels that share the launch.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_LOWER_BLOCK_H
#define KINTSUGI_TARGETS_NVIDIA_LOWER_BLOCK_H

#include "abi/tensor_map.h"
#include "base/status.h"
#include "tile/program.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace kintsugi::targets {

/// Whether kernels for a level wait themselves for the launches before them (abi/launch.h).
bool startsEarly(const std::string &level);

/// Those that a program says, or one for each kernel.
std::vector<tile::Launch> launchesOf(const tile::TileProgram &program);

struct LoweredBlocks {
  std::unique_ptr<llvm::Module> module;
  std::vector<std::vector<KinTensorMap>> maps; ///< By launch (launchesOf).
};

/// An input error names a kernel and what it does that these devices have no code for yet.
/// `level`: of the device, which says whether four warps can multiply together.
Expected<LoweredBlocks> lowerToBlocks(const tile::TileProgram &program, const std::string &level,
                                      llvm::LLVMContext &context);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_LOWER_BLOCK_H
