//===- x86_target.cpp - Targets that make x86-64 code ---------------------===//

#include "targets/x86_target.h"

#include "targets/link_elf.h"
#include "targets/lower.h"
#include "targets/work.h"
#include "targets/x86_codegen.h"

#include "llvm/Support/raw_ostream.h"

namespace kintsugi::targets {

static Expected<std::unique_ptr<llvm::Module>> lowerForLevel(const tile::TileProgram &program,
                                                             const std::string &level,
                                                             llvm::LLVMContext &context) {
  LoweringOptions options{.hasAllMasks = level == "x86-64-v4"};
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::Module> module, lowerToLLVM(program, context, options));
  KINTSUGI_RETURN_IF_ERROR(prepareForLevel(*module, level));
  return module;
}

static Expected<std::string> compileObject(const tile::TileProgram &program,
                                           const std::string &level) {
  llvm::LLVMContext context;
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::Module> module, lowerForLevel(program, level, context));
  return generateObject(*module, level);
}

Expected<CodeObject> X86Target::compile(const std::vector<const tile::TileProgram *> &programs,
                                        const CompileOptions &options) const {
  KINTSUGI_ASSIGN(std::vector<std::string> objects,
                  compileEach(programs, options, [&](const tile::TileProgram &program) {
                    return compileObject(program, options.level);
                  }));
  CodeObject code;
  KINTSUGI_ASSIGN(code.bytes, linkElf(objects));
  for (const tile::TileProgram *program : programs)
    for (std::string &kernel : program->kernels())
      code.stages.push_back(std::move(kernel));
  return code;
}

Expected<std::string> X86Target::emit(const tile::TileProgram &program, CodeForm form,
                                      const CompileOptions &options) const {
  llvm::LLVMContext context;
  KINTSUGI_ASSIGN(std::unique_ptr<llvm::Module> module,
                  lowerForLevel(program, options.level, context));
  if (form == CodeForm::Assembly)
    return generateAssembly(*module, options.level);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

} // namespace kintsugi::targets
