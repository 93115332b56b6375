#include "link/link.h"

#include "link/manifest.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::link {

using orchestrate::Plan;
using orchestrate::PlanNode;

std::vector<unsigned> kernelsOf(const Plan &plan, const PlanNode &node) {
  std::vector<unsigned> kernels;
  Plan::forEachStage(node, [&](unsigned stage) {
    const orchestrate::Stage &s = plan.stages[stage];
    if (s.kind == orchestrate::Stage::Kind::Kernel && !llvm::is_contained(kernels, s.kernel))
      kernels.push_back(s.kernel);
  });
  return kernels;
}

/// Compiles the kernels in programs of a few: targets compile programs at the same time.
static Expected<targets::CodeObject> compileKernels(const Plan &plan, const PlanNode &node,
                                                    targets::Target &target,
                                                    const LinkOptions &options) {
  constexpr size_t kernelsAProgram = 8;
  std::vector<tile::NamedSchedule> kernels;
  for (unsigned number : kernelsOf(plan, node))
    kernels.push_back({plan.kernels[number].symbol, &plan.kernels[number].shape->schedule});
  if (kernels.empty())
    return targets::CodeObject{};
  std::vector<tile::TileProgram> programs;
  for (llvm::ArrayRef<tile::NamedSchedule> rest = kernels; !rest.empty();) {
    auto part = rest.take_front(kernelsAProgram);
    rest = rest.drop_front(part.size());
    KINTSUGI_ASSIGN(tile::TileProgram program, tile::buildTileProgram(part));
    programs.push_back(std::move(program));
  }
  std::vector<const tile::TileProgram *> pointers;
  for (const tile::TileProgram &program : programs)
    pointers.push_back(&program);
  return target.compile(pointers, options.target);
}

Expected<LinkReport> link(const Plan &plan, targets::Target &target, runtime::Device &device,
                          runtime::ArtifactWriter &writer, const Json &provenance,
                          const LinkOptions &options) {
  KINTSUGI_ASSIGN(targets::CodeObject constantCode,
                  compileKernels(plan, plan.constants, target, options));
  KINTSUGI_ASSIGN(ConstantResult constants,
                  runConstantProgram(plan, constantCode.bytes, target.name(), device, writer,
                                     options.constants));
  LinkReport report{writer.constantBytes(), constants.peakBytes};

  KINTSUGI_ASSIGN(targets::CodeObject code, compileKernels(plan, plan.root, target, options));
  runtime::Manifest manifest = manifestOf(plan, constants.offsets);
  manifest.compilerVersion = options.compilerVersion;
  manifest.target = target.name();
  manifest.precision = options.precision;
  if (!code.bytes.empty()) {
    KINTSUGI_RETURN_IF_ERROR(writer.addCode(options.target.level, code.bytes));
    manifest.code.push_back({options.target.level, options.features});
  }
  KINTSUGI_RETURN_IF_ERROR(writer.addProvenance(provenance));
  KINTSUGI_RETURN_IF_ERROR(writer.finish(manifest).status());
  return report;
}

} // namespace kintsugi::link
