//===- stage_artifact.h - Stages that are launched one by one ---------------===//
//
// Some stages of a plan as an artifact of their own, so that a device can load their code. Nobody
// runs its plan: whoever loads it launches the stages on memory of its own. The constant program
// runs so, and kernels that are timed.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LINK_STAGE_ARTIFACT_H
#define KINTSUGI_LINK_STAGE_ARTIFACT_H

#include "orchestrate/plan.h"
#include "runtime/artifact.h"

namespace kintsugi::link {

/// `code` has the stages' kernels, and says itself what it asks of a machine, but for its section;
/// the artifact's stages are numbered as in `stages`.
Expected<runtime::Artifact> artifactOfStages(const orchestrate::Plan &plan,
                                             llvm::ArrayRef<unsigned> stages,
                                             std::span<const std::byte> code,
                                             std::string_view targetName,
                                             runtime::CodeObject about = {});

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_STAGE_ARTIFACT_H
