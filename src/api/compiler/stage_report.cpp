#include "api/compiler/stage_report.h"

#include "api/compiler/run_reports.h"

#include <algorithm>
#include <numeric>

namespace kintsugi::api {

namespace {

/// How many of something a second, in thousands of millions; null where there are none.
Json rate(double count, double seconds) {
  return count > 0 && seconds > 0 ? Json(count / seconds * 1e-9) : Json();
}

/// What there is to say of a stage and of a part alike.
Json describeWork(const runtime::Work &work, double launches, double seconds, double share) {
  double bytes = double(work.movedBytes) * launches;
  double operations =
      launches * std::accumulate(work.operations.begin(), work.operations.end(), 0.0);
  return {{"name", work.symbol},
          {"nodes", work.nodes},
          {"measured_ms", seconds * 1e3},
          {"predicted_ms", work.predictedSeconds * launches * 1e3},
          {"share", share},
          {"bytes", bytes},
          {"operations", operations},
          {"gb_per_s", rate(bytes, seconds)},
          {"gflop_per_s", rate(operations, seconds)}};
}

Json describeParts(const runtime::Stage &stage, const verify::StageProfile &measured,
                   double share) {
  std::vector<size_t> order(stage.parts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(-measured.parts[i].share, i); });
  Json list = Json::array();
  for (size_t number : order) {
    const verify::PartProfile &part = measured.parts[number];
    list.push_back(describeWork(stage.parts[number], double(measured.launches), part.seconds,
                                share * part.share));
    list.back()["part"] = number;
    if (!measured.isClocked)
      list.back()["measured_ms"] = Json();
  }
  return list;
}

} // namespace

Json describeStages(const runtime::Manifest &manifest, const verify::Profile &profile) {
  std::vector<size_t> order(manifest.stages.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(-profile.stages[i].seconds, i); });
  Json list = Json::array();
  for (size_t number : order) {
    const runtime::Stage &stage = manifest.stages[number];
    const verify::StageProfile &measured = profile.stages[number];
    double share = profile.seconds > 0 ? measured.seconds / profile.seconds : 0;
    list.push_back(describeWork(stage, double(measured.launches), measured.seconds, share));
    list.back()["stage"] = number;
    list.back()["launches"] = measured.launches;
    addKind(stage, list.back());
    if (stage.parts.empty())
      continue;
    list.back()["parts"] = describeParts(stage, measured, share);
    list.back()["shared_by"] = measured.isClocked ? "clock" : "prediction";
  }
  return list;
}

Json describeNodes(const runtime::Manifest &manifest, const verify::Profile &profile) {
  Json list = Json::array();
  for (const verify::NodeProfile &node : verify::profileOfNodes(manifest, profile))
    list.push_back({{"node", node.node},
                    {"measured_ms", node.seconds * 1e3},
                    {"share", profile.seconds > 0 ? node.seconds / profile.seconds : 0},
                    {"stages", node.stages}});
  return list;
}

} // namespace kintsugi::api
