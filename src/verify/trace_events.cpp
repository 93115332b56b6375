#include "verify/trace_events.h"

#include "verify/profile.h"

#include <numeric>
#include <set>

namespace kintsugi::verify {

using runtime::Stage;
using runtime::StageSpan;

namespace {

constexpr int process = 1;

Json nameTrack(const char *kind, uint32_t track, const std::string &name) {
  return {
      {"ph", "M"}, {"name", kind}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

/// Times are in microseconds.
Json slice(const char *category, const std::string &name, uint32_t track, int64_t begin,
           int64_t nanoseconds, Json arguments) {
  return {{"ph", "X"},
          {"cat", category},
          {"name", name},
          {"pid", process},
          {"tid", track},
          {"ts", double(begin) * 1e-3},
          {"dur", double(nanoseconds) * 1e-3},
          {"args", std::move(arguments)}};
}

Json describe(const StageSpan &span, const Stage &stage) {
  return {{"stage", span.stage},
          {"nodes", stage.nodes},
          {"predicted_us", stage.predictedSeconds * 1e6},
          {"bytes", stage.movedBytes},
          {"operations",
           std::accumulate(stage.operations.begin(), stage.operations.end(), uint64_t(0))}};
}

void addNodes(const StageSpan &span, const Stage &stage, uint32_t track, Json &events) {
  std::vector<double> shares = sharesOfNodes(stage);
  int64_t begin = span.begin, all = span.begin + span.nanoseconds;
  for (size_t i = 0; i < shares.size(); ++i) {
    auto part = static_cast<int64_t>(shares[i] * double(span.nanoseconds));
    int64_t end = std::min(begin + part, all);
    if (end > begin)
      events.push_back(
          slice("node", stage.nodes[i], track, begin, end - begin, {{"share", shares[i]}}));
    begin = end;
  }
}

} // namespace

Json traceEvents(const runtime::Manifest &manifest, std::span<const StageSpan> run) {
  Json events = Json::array();
  events.push_back(nameTrack("process_name", 0, manifest.modelName + " (" + manifest.target + ")"));
  std::set<uint32_t> lanes;
  for (const StageSpan &span : run) {
    const Stage &stage = manifest.stages[span.stage];
    uint32_t track = span.lane + 1;
    if (lanes.insert(span.lane).second)
      events.push_back(nameTrack("thread_name", track, "lane " + std::to_string(span.lane)));
    std::string name =
        stage.symbol + (stage.nodes.empty() ? "" : " " + stage.nodes.front()) +
        (stage.nodes.size() > 1 ? " and " + std::to_string(stage.nodes.size() - 1) + " more" : "");
    events.push_back(
        slice("stage", name, track, span.begin, span.nanoseconds, describe(span, stage)));
    addNodes(span, stage, track, events);
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
}

} // namespace kintsugi::verify
