#include "link/stage_artifact.h"

#include "link/manifest.h"
#include "runtime/artifact_writer.h"

#include <map>

namespace kintsugi::link {

using orchestrate::Plan;

Expected<runtime::Artifact> artifactOfStages(const Plan &plan, llvm::ArrayRef<unsigned> stages,
                                             std::span<const std::byte> code,
                                             std::string_view targetName,
                                             runtime::CodeObject about) {
  runtime::Manifest manifest;
  manifest.compilerVersion = "link";
  manifest.modelName = plan.model;
  manifest.target = targetName;
  manifest.precision = "f32";
  std::map<unsigned, uint32_t> numbers;
  auto number = [&](unsigned buffer) {
    auto [entry, fresh] = numbers.try_emplace(buffer, manifest.buffers.size());
    if (fresh) {
      manifest.buffers.push_back(
          bufferOf(plan.buffers[buffer], runtime::Home::arena(manifest.arenaBytes)));
      manifest.arenaBytes += (plan.buffers[buffer].bytes + 63) / 64 * 64;
    }
    return entry->second;
  };
  for (unsigned stage : stages)
    manifest.stages.push_back(stageOf(plan, plan.stages[stage], number));
  manifest.plan = runtime::Plan::sequence({});
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  if (!code.empty()) {
    about.section = "code";
    manifest.code.push_back(std::move(about));
    KINTSUGI_RETURN_IF_ERROR(writer.addCode("code", code));
  }
  KINTSUGI_RETURN_IF_ERROR(writer.finish(manifest));
  return runtime::Artifact::fromMemory(bytes, "stages of " + plan.model);
}

} // namespace kintsugi::link
