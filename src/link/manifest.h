//===- manifest.h - A plan as the runtime reads it --------------------------===//
//
// Translates the plan's buffers, stages and tree into a manifest. Only what the main program needs
// comes along; the constant program's stages are left out.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LINK_MANIFEST_H
#define KINTSUGI_LINK_MANIFEST_H

#include "orchestrate/plan.h"
#include "runtime/manifest.h"

#include <map>

namespace kintsugi::link {

/// `constantOffsets`: for each Source and Derived buffer of the main program, where it lies in the
/// constants section. Code objects and versions are the caller's to fill in.
runtime::Manifest manifestOf(const orchestrate::Plan &plan,
                             const std::map<unsigned, uint64_t> &constantOffsets);

/// One stage with its operands renumbered by `bufferNumber`.
runtime::Stage stageOf(const orchestrate::Plan &plan, const orchestrate::Stage &stage,
                       llvm::function_ref<uint32_t(unsigned)> bufferNumber);

runtime::Buffer bufferOf(const orchestrate::PlanBuffer &buffer, runtime::Home home);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_MANIFEST_H
