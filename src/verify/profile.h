//===- profile.h - Where the time of a model's runs goes --------------------===//
//
// What several profiled runs say of stages, of the parts of stages that kernels share, and of the
// model's nodes. A clock tells when each part was under way, but parts that run side by side
// overlap: of the launch's time each counts for as much as it was under way of what all of them
// were. A stage or a part may serve several nodes: how much of its time is whose no clock can tell,
// so they share it in the ratio of the arithmetic that it does for each.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_PROFILE_H
#define KINTSUGI_VERIFY_PROFILE_H

#include "runtime/device.h"
#include "runtime/manifest.h"

#include <span>
#include <vector>

namespace kintsugi::verify {

struct PartProfile {
  double seconds = 0; ///< That it was under way in a run: the median; 0 where that is not known.
  double share = 0;   ///< Of its stage's time; all parts' add up to 1.
};

struct StageProfile {
  double seconds = 0;             ///< Of all its launches in a run: the median.
  uint64_t launches = 0;          ///< In the run that is shown.
  std::vector<PartProfile> parts; ///< As the stage of the manifest has.
  bool isClocked = false;         ///< Parts were timed; otherwise they share as predicted.
};

struct Profile {
  size_t runs = 0;
  std::vector<StageProfile> stages;      ///< By stage of the manifest.
  double seconds = 0;                    ///< Of all stages.
  std::vector<runtime::StageSpan> shown; ///< The run whose launches' sum is the median.
};

/// From the launches of each run.
Profile summarize(const std::vector<std::vector<runtime::StageSpan>> &runs,
                  const runtime::Manifest &manifest);

/// Of the time that a stage or a part takes, what each of its nodes does; they add up to 1. Alike
/// where there is no arithmetic, or where that is not known.
std::vector<double> sharesOfNodes(const runtime::Work &work);

struct NodeProfile {
  std::string node;
  double seconds = 0;
  std::vector<uint32_t> stages; ///< That serve it.
};

/// The one that takes longest first.
std::vector<NodeProfile> profileOfNodes(const runtime::Manifest &manifest, const Profile &profile);

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_PROFILE_H
