//===- nvidia.cpp - The target for NVIDIA GPUs ----------------------------===//

#include "targets/nvidia/nvidia.h"

#include "targets/nvidia/assembler.h"
#include "targets/nvidia/calls/lower_call.h"
#include "targets/nvidia/lower_block.h"
#include "targets/nvidia/nvptx_codegen.h"
#include "targets/work.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace kintsugi::targets {

namespace {

using Maps = std::vector<std::vector<KinTensorMap>>; ///< By launch.

Expected<LoweredBlocks> lowerForLevel(const tile::TileProgram &program, const std::string &level,
                                      llvm::LLVMContext &context) {
  KINTSUGI_ASSIGN(LoweredBlocks lowered, lowerToBlocks(program, level, context));
  KINTSUGI_RETURN_IF_ERROR(prepareForNvptx(*lowered.module, level));
  for (const calls::Site &site : program.calls)
    emitCall(site, startsEarly(level), *lowered.module);
  return lowered;
}

Expected<std::string> compileText(const tile::TileProgram &program, const std::string &level,
                                  Maps &maps) {
  llvm::LLVMContext context;
  KINTSUGI_ASSIGN(LoweredBlocks lowered, lowerForLevel(program, level, context));
  maps = std::move(lowered.maps);
  return generatePtx(*lowered.module, level);
}

/// Several texts as one: the directives that a text starts with stand once.
std::string joinTexts(const std::vector<std::string> &texts) {
  std::string joined = texts.front();
  for (const std::string &text : llvm::ArrayRef(texts).drop_front()) {
    size_t directive = text.find(".address_size"), end = text.find('\n', directive);
    joined += text.substr(end + 1);
  }
  return joined;
}

class NvidiaTarget final : public Target {
public:
  std::string_view name() const override { return "cuda"; }

  calls::DeviceCall launchesOfCall(const calls::Site &site) const override {
    return targets::launchesOfCall(site);
  }

  Expected<CodeObject> compile(const std::vector<const tile::TileProgram *> &programs,
                               const CompileOptions &options) const override {
    std::vector<Maps> maps(programs.size());
    KINTSUGI_ASSIGN(std::vector<std::string> texts,
                    compileEach(programs, options, [&](const tile::TileProgram &program) {
                      size_t number = size_t(llvm::find(programs, &program) - programs.begin());
                      return compileText(program, options.level, maps[number]);
                    }));
    CodeObject code;
    code.kernelsWait = startsEarly(options.level);
    if (texts.empty())
      return code;
    std::string text = joinTexts(texts);
    if (!options.assembler.empty()) {
      KINTSUGI_ASSIGN(code.machineCode, assemble(options.assembler, text, options.level));
    }
    code.bytes.resize(text.size() + 1); // Ended by a zero byte.
    std::memcpy(code.bytes.data(), text.data(), text.size());
    for (auto [program, ofProgram] : llvm::zip_equal(programs, maps)) {
      for (tile::Launch &launch : launchesOf(*program))
        code.stages.push_back(std::move(launch.symbol));
      llvm::move(ofProgram, std::back_inserter(code.maps));
      for (const calls::Site &site : program->calls)
        for (calls::Launch &launch : launchesOfCall(site).launches) {
          code.stages.push_back(std::move(launch.symbol));
          code.maps.emplace_back();
        }
    }
    return code;
  }

  Expected<std::string> emit(const tile::TileProgram &program, CodeForm form,
                             const CompileOptions &options) const override {
    Maps maps;
    if (form == CodeForm::Assembly)
      return compileText(program, options.level, maps);
    llvm::LLVMContext context;
    KINTSUGI_ASSIGN(LoweredBlocks lowered, lowerForLevel(program, options.level, context));
    std::string text;
    llvm::raw_string_ostream stream(text);
    lowered.module->print(stream, nullptr);
    return text;
  }
};

} // namespace

std::unique_ptr<Target> createNvidiaTarget() { return std::make_unique<NvidiaTarget>(); }

} // namespace kintsugi::targets
