//===- targets.h - The list of targets --------------------------------------===//
//
// The one place that makes targets: a new one adds a line to targets.inc.
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

/// Whether its code runs on the processor that compiles, which then computes constants with it.
bool runsOnHost(const targets::Target &target);

/// Levels for which the same kernels are compiled as well, best first.
std::vector<std::string> lesserCodeOf(const std::string &level);

/// The path of the program that makes machine code of a GPU's text; a machine error where it is not
/// installed.
Expected<std::string> findAssembler();

/// What code of an instruction set level asks of a machine, as the manifest names it.
std::vector<std::string> featuresOf(const std::string &level);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TARGETS_H
