//===- stage_report.h - What a profile says of stages and nodes -------------===//
#ifndef KINTSUGI_API_COMPILER_STAGE_REPORT_H
#define KINTSUGI_API_COMPILER_STAGE_REPORT_H

#include "base/json.h"
#include "verify/profile.h"

namespace kintsugi::api {

/// "stages" of the report, the one that takes longest first, with the parts of each.
Json describeStages(const runtime::Manifest &manifest, const verify::Profile &profile);

/// Its "nodes", likewise.
Json describeNodes(const runtime::Manifest &manifest, const verify::Profile &profile);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_STAGE_REPORT_H
