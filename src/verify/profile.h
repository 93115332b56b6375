//===- profile.h - Where the time of a model's runs goes --------------------===//
//
// What several profiled runs say of stages and of the model's nodes. A stage may serve several
// nodes: how much of its time is whose no clock can tell, so they share it in the ratio of the
// arithmetic that it does for each.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_PROFILE_H
#define KINTSUGI_VERIFY_PROFILE_H

#include "runtime/device.h"
#include "runtime/manifest.h"

#include <span>
#include <vector>

namespace kintsugi::verify {

struct StageProfile {
  double seconds = 0;    ///< Of all its launches in a run: the median.
  uint64_t launches = 0; ///< In the run that is shown.
};

struct Profile {
  size_t runs = 0;
  std::vector<StageProfile> stages;      ///< By stage of the manifest.
  double seconds = 0;                    ///< Of all stages.
  std::vector<runtime::StageSpan> shown; ///< The run whose launches' sum is the median.
};

/// From the launches of each run.
Profile summarize(const std::vector<std::vector<runtime::StageSpan>> &runs, size_t stages);

/// Of a stage's time, the part of each of its nodes; they add up to 1. Alike where the stage does
/// no arithmetic, or where that is not known.
std::vector<double> sharesOfNodes(const runtime::Stage &stage);

struct NodeProfile {
  std::string node;
  double seconds = 0;
  std::vector<uint32_t> stages; ///< That serve it.
};

/// The one that takes longest first.
std::vector<NodeProfile> profileOfNodes(const runtime::Manifest &manifest, const Profile &profile);

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_PROFILE_H
