//===- targets.h - The list of targets --------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TARGETS_H
#define KINTSUGI_PIPELINE_TARGETS_H

#include "targets/target.h"

namespace kintsugi::pipeline {

/// A usage error that lists the targets there are for an unknown name.
Expected<std::unique_ptr<targets::Target>> makeTarget(const std::string &name);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TARGETS_H
