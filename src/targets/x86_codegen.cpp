//===- x86_codegen.cpp - From LLVM IR to x86-64 objects -------------------===//

#include "targets/x86_codegen.h"

#include "targets/bfloat_bits.h"
#include "targets/single_lanes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

namespace kintsugi::targets {

static const char *const tripleName = "x86_64-unknown-linux-gnu";

static Expected<std::unique_ptr<llvm::TargetMachine>> machineFor(const std::string &level) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  if (level != "x86-64-v3" && level != "x86-64-v4")
    return usageError("'" + level + "' is no instruction set level; use x86-64-v3 or x86-64-v4");
  std::string reason;
  llvm::Triple triple(tripleName);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!target)
    return internalError("LLVM has no x86-64: " + reason);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, level, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return internalError("LLVM can't generate code for " + level);
  return machine;
}

Status prepareForLevel(llvm::Module &module, const std::string &level) {
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, machineFor(level));
  module.setTargetTriple(llvm::Triple(tripleName));
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", level);
    function.addFnAttr("prefer-vector-width", level == "x86-64-v4" ? "512" : "256");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  spellOutBFloat(module);
  storeSingleLanes(module);
  return Status::success();
}

static Expected<std::string> generate(llvm::Module &module, const std::string &level,
                                      llvm::CodeGenFileType type) {
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, machineFor(level));
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return internalError("LLVM can't write code for " + level);
  passes.run(module);
  return std::string(bytes.str());
}

/// Code finds functions in its import table alone; a runtime library that LLVM may want to call for
/// what a processor has no instructions for is not there.
static Status checkCalls(const std::string &object, const llvm::Module &module) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file)
    return internalError("an object can't be read: " + llvm::toString(file.takeError()));
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    bool isUndefined = flags && name && *flags & llvm::object::SymbolRef::SF_Undefined;
    if (!isUndefined || name->empty() || *name == "_GLOBAL_OFFSET_TABLE_") {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    std::string kernels;
    for (const llvm::Function &function : module)
      if (!function.isDeclaration() && !function.hasLocalLinkage())
        kernels += (kernels.empty() ? "'" : ", '") + function.getName().str() + "'";
    return internalError("the code of " + kernels + " calls '" + name->str() +
                         "', which no code object has");
  }
  return Status::success();
}

Expected<std::string> generateObject(llvm::Module &module, const std::string &level) {
  KINTSUGI_ASSIGN(std::string object, generate(module, level, llvm::CodeGenFileType::ObjectFile));
  KINTSUGI_RETURN_IF_ERROR(checkCalls(object, module));
  return object;
}

Expected<std::string> generateAssembly(llvm::Module &module, const std::string &level) {
  return generate(module, level, llvm::CodeGenFileType::AssemblyFile);
}

} // namespace kintsugi::targets
