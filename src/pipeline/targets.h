//===- targets.h - The list of targets --------------------------------------===//
//
// The one place that names every target: a new one adds a line to targets.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TARGETS_H
#define KINTSUGI_PIPELINE_TARGETS_H

#include "targets/target.h"

#include <memory>

namespace kintsugi::pipeline {

/// A usage error that lists the targets there are for an unknown name.
Expected<std::unique_ptr<targets::Target>> makeTarget(const std::string &name);

/// Whether the target runs scalar kernels on programs promoted to f64: the reference does.
bool isReference(const targets::Target &target);

/// What code of an instruction set level asks of a machine, as in /proc/cpuinfo.
std::vector<std::string> featuresOf(const std::string &level);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TARGETS_H
