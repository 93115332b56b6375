//===- nvptx_codegen.h - From LLVM IR to PTX --------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_NVPTX_CODEGEN_H
#define KINTSUGI_TARGETS_NVIDIA_NVPTX_CODEGEN_H

#include "base/status.h"

#include "llvm/IR/Module.h"

#include <string>

namespace kintsugi::targets {

/// Sets the triple and data layout. A usage error for a level other than sm_80 and sm_90a.
Status prepareForNvptx(llvm::Module &module, const std::string &level);

/// PTX text of the module, which is used up.
Expected<std::string> generatePtx(llvm::Module &module, const std::string &level);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_NVPTX_CODEGEN_H
