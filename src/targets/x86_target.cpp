//===- x86_target.cpp - Targets that make x86-64 code ---------------------===//

#include "targets/x86_target.h"

#include "targets/link_elf.h"
#include "targets/lower.h"
#include "targets/x86_codegen.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <mutex>
#include <thread>

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

namespace {

/// Programs are taken in order by whichever worker is free; results keep their places.
struct Work {
  const std::vector<const tile::TileProgram *> &programs;
  const CompileOptions &options;
  std::vector<std::string> objects{programs.size()};
  std::atomic<size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex; ///< Of what follows.
  size_t done = 0;
  Status status;

  void run() {
    for (size_t index; !stop && (index = next++) < programs.size();) {
      auto object = compileObject(*programs[index], options.level);
      std::lock_guard<std::mutex> lock(mutex);
      if (object.ok())
        objects[index] = std::move(*object);
      else
        fail(object.takeError());
      if (!stop && options.progress && !options.progress(++done, programs.size()))
        fail(usageError("the compilation was stopped"));
    }
  }

  void fail(Error error) {
    if (status.ok())
      status = std::move(error);
    stop = true;
  }
};

} // namespace

Expected<CodeObject> X86Target::compile(const std::vector<const tile::TileProgram *> &programs,
                                        const CompileOptions &options) const {
  Work work{programs, options};
  std::vector<std::thread> helpers;
  for (size_t thread = 1; thread < std::min<size_t>(options.threads, programs.size()); ++thread)
    helpers.emplace_back([&] { work.run(); });
  work.run();
  for (std::thread &helper : helpers)
    helper.join();
  KINTSUGI_RETURN_IF_ERROR(work.status);
  CodeObject code;
  KINTSUGI_ASSIGN(code.bytes, linkElf(work.objects));
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
