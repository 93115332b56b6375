//===- kernel_report.h - Each kernel against the reference ------------------===//
//
// What `compare --per-kernel` answers, in two steps so that what a run did can be had from
// elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_KERNEL_REPORT_H
#define KINTSUGI_API_COMPILER_KERNEL_REPORT_H

#include "api/compiler/kernel_recorder.h"
#include "api/compiler/settings.h"

namespace kintsugi::api {

/// Runs the reference on what the kernels read, and compares with what they stored: an entry for
/// each kernel in the order of a run.
Expected<Json> judgeKernels(const std::list<KernelLevel> &levels, const runtime::Manifest &manifest,
                            const Settings &settings);

/// The whole report of `compare --per-kernel`; a usage error for an artifact.
Expected<Json> compareKernels(const std::string &model, const std::string &inputs,
                              const Settings &settings);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_KERNEL_REPORT_H
