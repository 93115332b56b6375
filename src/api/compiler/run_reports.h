//===- run_reports.h - What reports of runs share ---------------------------===//
#ifndef KINTSUGI_API_COMPILER_RUN_REPORTS_H
#define KINTSUGI_API_COMPILER_RUN_REPORTS_H

#include "api/compiler/session.h"

namespace kintsugi::api {

/// What every report of a run says of its model.
Json describeModel(const Session &session);

/// Adds "sizes" where dimensions are open: by name, the least and the greatest that the session's
/// plan serves.
void addSizes(const Session &session, Json &report);

/// Adds to a stage's entry its "kind", "generated" or "call", and of a call where it "runs_on".
void addKind(const runtime::Stage &stage, Json &entry);

/// How often a run launches each stage: repeats multiply.
std::vector<uint64_t> launchesOf(const runtime::Manifest &manifest);

/// Of a run.
double predictedSeconds(const runtime::Manifest &manifest, const std::vector<uint64_t> &launches);

/// Times runs for so many seconds, without what stands in their way; adds to the report "runs",
/// "median_ms" and their like, and on a device with a clock "device_ms".
Status addTimes(Session &session, double seconds, Json &report);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_RUN_REPORTS_H
