//===- x86_codegen.h - From LLVM IR to x86-64 objects -----------------------===//
//
// The code generator, set up the one way that tile programs need: the instruction set level named,
// no contraction but where the IR says fma, whole vectors of the level's width.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_X86_CODEGEN_H
#define KINTSUGI_TARGETS_X86_CODEGEN_H

#include "base/status.h"
#include "targets/target.h"

#include "llvm/IR/Module.h"

namespace kintsugi::targets {

/// Sets triple, layout and the functions' attributes for a level ("x86-64-v3" or "x86-64-v4").
Status prepareForLevel(llvm::Module &module, const std::string &level);
/// A relocatable object of a prepared module.
Expected<std::string> generateObject(llvm::Module &module, const std::string &level);
Expected<std::string> generateAssembly(llvm::Module &module, const std::string &level);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_X86_CODEGEN_H
