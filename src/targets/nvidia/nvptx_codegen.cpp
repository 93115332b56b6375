//===- nvptx_codegen.cpp - From LLVM IR to PTX ----------------------------===//

#include "targets/nvidia/nvptx_codegen.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

namespace kintsugi::targets {

static Expected<std::unique_ptr<llvm::TargetMachine>> machineFor(const std::string &level) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  if (level != "sm_80" && level != "sm_90a")
    return usageError("'" + level +
                      "' is no architecture that there is code for; use sm_80 or "
                      "sm_90a");
  std::string reason;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!target)
    return internalError("LLVM has no NVPTX: " + reason);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The language version of the first drivers that know the architecture.
  const char *version = level == "sm_80" ? "+ptx70" : "+ptx80";
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, level, version, options, std::nullopt, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return internalError("LLVM can't generate code for " + level);
  return machine;
}

Status prepareForNvptx(llvm::Module &module, const std::string &level) {
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, machineFor(level));
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  return Status::success();
}

Expected<std::string> generatePtx(llvm::Module &module, const std::string &level) {
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, machineFor(level));
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return internalError("LLVM can't write code for " + level);
  passes.run(module);
  return std::string(text.str());
}

} // namespace kintsugi::targets
