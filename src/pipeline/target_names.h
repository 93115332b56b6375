//===- target_names.h - Which targets there are -----------------------------===//
//
// For hosts that ask the compiler's process for work: a name can be looked at without the targets,
// which bring all of MLIR and LLVM along.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TARGET_NAMES_H
#define KINTSUGI_PIPELINE_TARGET_NAMES_H

#include "base/status.h"

#include <string>

namespace kintsugi::pipeline {

/// A usage error that lists the targets there are for an unknown name.
Status checkTarget(const std::string &name);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TARGET_NAMES_H
