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

static Expected<targets::CodeObject> compileKernels(const Plan &plan, const PlanNode &node,
                                                    targets::Target &target,
                                                    const LinkOptions &options) {
  std::vector<tile::NamedSchedule> kernels;
  for (unsigned number : kernelsOf(plan, node))
    kernels.push_back({plan.kernels[number].symbol, &plan.kernels[number].shape->schedule});
  if (kernels.empty())
    return targets::CodeObject{};
  targets::TargetOptions targetOptions;
  targetOptions.machine = options.machine;
  targetOptions.threads = options.threads;
  return target.compile(kernels, targetOptions);
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
    KINTSUGI_RETURN_IF_ERROR(writer.addCode(code.section, code.bytes));
    manifest.code.push_back({code.section, code.features});
  }
  KINTSUGI_RETURN_IF_ERROR(writer.addProvenance(provenance));
  KINTSUGI_RETURN_IF_ERROR(writer.finish(manifest).status());
  return report;
}

} // namespace kintsugi::link
