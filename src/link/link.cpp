#include "link/link.h"

#include "link/code_object.h"
#include "link/joins.h"
#include "link/manifest.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

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

/// Of the model, the first that a kernel serves.
static std::string nodeOf(const Plan &plan, size_t kernel) {
  for (const orchestrate::Stage &stage : plan.stages)
    if (stage.kind == orchestrate::Stage::Kind::Kernel && stage.kernel == kernel &&
        !stage.origins.empty())
      return stage.origins.front();
  return "";
}

Expected<tile::TileProgram> programOf(const Plan &plan, llvm::ArrayRef<tile::Launch> launches) {
  std::set<llvm::StringRef> names;
  for (const tile::Launch &launch : launches)
    for (const std::vector<tile::Launch::Part> &phase : launch.phases)
      for (const tile::Launch::Part &part : phase)
        names.insert(part.kernel);
  std::vector<tile::NamedSchedule> kernels;
  for (auto [number, kernel] : llvm::enumerate(plan.kernels))
    if (names.count(kernel.symbol))
      kernels.push_back({kernel.symbol, &kernel.shape->schedule, nodeOf(plan, number)});
  KINTSUGI_ASSIGN(tile::TileProgram program, tile::buildTileProgram(kernels));
  program.launches = launches.vec();
  return program;
}

/// In programs of a few launches: targets compile programs at the same time.
static Expected<std::vector<tile::TileProgram>> programsOf(const Plan &plan,
                                                           llvm::ArrayRef<tile::Launch> launches,
                                                           llvm::ArrayRef<calls::Site> calls) {
  constexpr size_t kernelsAProgram = 8;
  auto isJoin = [](const tile::Launch &launch) { return launch.isClocked(); };
  llvm::ArrayRef<tile::Launch> kernels = launches.take_until(isJoin);
  llvm::ArrayRef<tile::Launch> joins = launches.drop_front(kernels.size());
  std::vector<tile::TileProgram> programs;
  auto add = [&](llvm::ArrayRef<tile::Launch> together) -> Status {
    KINTSUGI_ASSIGN(tile::TileProgram program, programOf(plan, together));
    programs.push_back(std::move(program));
    return Status::success();
  };
  for (; !kernels.empty(); kernels = kernels.drop_front(std::min(kernelsAProgram, kernels.size())))
    KINTSUGI_RETURN_IF_ERROR(add(kernels.take_front(kernelsAProgram)));
  for (const tile::Launch &join : joins)
    KINTSUGI_RETURN_IF_ERROR(add(join));
  for (const calls::Site &call : calls)
    programs.emplace_back().calls.push_back(call);
  return programs;
}

static Expected<targets::CodeObject> compileKernels(const Plan &plan,
                                                    llvm::ArrayRef<tile::Launch> launches,
                                                    llvm::ArrayRef<calls::Site> calls,
                                                    const targets::Target &target,
                                                    const targets::CompileOptions &options) {
  KINTSUGI_ASSIGN(std::vector<tile::TileProgram> programs, programsOf(plan, launches, calls));
  if (programs.empty())
    return targets::CodeObject{};
  std::vector<const tile::TileProgram *> pointers;
  for (const tile::TileProgram &program : programs)
    pointers.push_back(&program);
  return target.compile(pointers, options);
}

Status Linker::addCode(const Plan &plan, const Variant::Code &code, Linked &linked) {
  targets::CompileOptions forLevel = options.target;
  forLevel.level = code.level;
  KINTSUGI_ASSIGN(targets::CodeObject object,
                  compileKernels(plan, launchesOf(plan), plan.sites, target, forLevel));
  if (object.bytes.empty())
    return Status::success();
  std::string section = code.level + linked.sizes;
  linked.manifest.code.push_back(describeCode(object, section, code.features));
  linked.code.emplace_back(section, std::move(object.bytes));
  if (!object.machineCode.empty())
    linked.code.emplace_back(machineCodeSection(section), std::move(object.machineCode));
  return Status::success();
}

Status Linker::add(const Plan &plan, const Variant &variant) {
  const targets::Target &host = options.constantsTarget ? *options.constantsTarget : target;
  KINTSUGI_ASSIGN(
      targets::CodeObject constantCode,
      compileKernels(plan, launchesOfKernels(plan, plan.constants), {}, host, options.target));
  KINTSUGI_ASSIGN(
      ConstantResult constants,
      runConstantProgram(plan, constantCode.bytes, host.name(), device, pool, options.constants));
  writer.endConstants(variant.name());
  peakBytes = std::max(peakBytes, constants.peakBytes);

  Linked linked{variant.name(), variant.sizes, {}, manifestOf(plan, constants.offsets)};
  linked.manifest.compilerVersion = options.compilerVersion;
  linked.manifest.target = target.name();
  linked.manifest.precision = options.precision;
  KINTSUGI_RETURN_IF_ERROR(addCode(plan, {variant.level, variant.features}, linked));
  for (const Variant::Code &code : variant.lesser)
    KINTSUGI_RETURN_IF_ERROR(addCode(plan, code, linked));
  for (const Linked &other : variants)
    if (variant.sizes.empty() && other.name == variant.level + other.sizes)
      linked.manifest.smaller.push_back(other.name);
  variants.push_back(std::move(linked));
  return Status::success();
}

Expected<LinkReport> Linker::finish(const Json &provenance) {
  LinkReport report{writer.constantBytes(), peakBytes};
  for (const Linked &variant : variants)
    for (const auto &[section, code] : variant.code)
      KINTSUGI_RETURN_IF_ERROR(writer.addCode(section, code));
  KINTSUGI_RETURN_IF_ERROR(writer.addProvenance(provenance));
  for (const Linked &variant : variants)
    KINTSUGI_RETURN_IF_ERROR(writer.addManifest(variant.name, variant.manifest));
  KINTSUGI_RETURN_IF_ERROR(writer.finish().status());
  return report;
}

} // namespace kintsugi::link
