#include "verify/trace_events.h"

#include "verify/profile.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace kintsugi::verify {

using runtime::PartSpan;
using runtime::Stage;
using runtime::StageSpan;
using runtime::Work;

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

std::string nameOf(const Work &work) {
  return work.symbol + (work.nodes.empty() ? "" : " " + work.nodes.front()) +
         (work.nodes.size() > 1 ? " and " + std::to_string(work.nodes.size() - 1) + " more" : "");
}

Json describe(uint32_t stage, const Work &work) {
  return {
      {"stage", stage},
      {"nodes", work.nodes},
      {"predicted_us", work.predictedSeconds * 1e6},
      {"bytes", work.movedBytes},
      {"operations", std::accumulate(work.operations.begin(), work.operations.end(), uint64_t(0))}};
}

class Events {
public:
  explicit Events(const runtime::Manifest &manifest) : manifest(manifest) {
    events.push_back(
        nameTrack("process_name", 0, manifest.modelName + " (" + manifest.target + ")"));
  }

  void add(const StageSpan &span) {
    const Stage &stage = manifest.stages[span.stage];
    uint32_t track = trackOf(span.lane, 0);
    addSlice("stage", span, span.stage, stage, track, Json::object());
    if (stage.parts.empty() || stage.parts.size() != span.parts.size())
      addNodes(span, stage, track);
    else
      addParts(span, stage);
  }

  Json take() { return std::move(events); }

private:
  /// Number 0 is the lane's own; on the others lie parts that run side by side.
  uint32_t trackOf(uint32_t lane, size_t number) {
    constexpr unsigned lanes = 1 << 16; // Viewers show tracks in order: those of parts at the end.
    auto track = static_cast<uint32_t>(lane + 1 + number * lanes);
    std::string name = "lane " + std::to_string(lane);
    if (tracks.insert(track).second)
      events.push_back(nameTrack("thread_name", track,
                                 number ? name + ", parts " + std::to_string(number) : name));
    return track;
  }

  void addSlice(const char *category, const StageSpan &span, uint32_t stage, const Work &work,
                uint32_t track, const Json &more) {
    Json arguments = describe(stage, work);
    arguments.update(more);
    events.push_back(
        slice(category, nameOf(work), track, span.begin, span.nanoseconds, std::move(arguments)));
  }

  void addNodes(const StageSpan &span, const Work &work, uint32_t track) {
    std::vector<double> shares = sharesOfNodes(work);
    int64_t begin = span.begin, all = span.begin + span.nanoseconds;
    for (size_t i = 0; i < shares.size(); ++i) {
      auto part = static_cast<int64_t>(shares[i] * double(span.nanoseconds));
      int64_t end = std::min(begin + part, all);
      if (end > begin)
        events.push_back(
            slice("node", work.nodes[i], track, begin, end - begin, {{"share", shares[i]}}));
      begin = end;
    }
  }

  /// Each on the first track that is free when it begins.
  void addParts(const StageSpan &launch, const Stage &stage) {
    std::vector<size_t> order(stage.parts.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::sort(order, {},
                      [&](size_t part) { return std::pair(launch.parts[part].begin, part); });
    std::vector<int64_t> ends; ///< By track, of the last part on it.
    for (size_t part : order) {
      StageSpan span = within(launch, launch.parts[part]);
      auto free = std::ranges::find_if(ends, [&](int64_t end) { return end <= span.begin; });
      size_t number = static_cast<size_t>(free - ends.begin());
      ends.resize(std::max(ends.size(), number + 1));
      ends[number] = span.begin + span.nanoseconds;
      uint32_t track = trackOf(launch.lane, number + 1);
      addSlice("part", span, launch.stage, stage.parts[part], track, {{"part", part}});
      addNodes(span, stage.parts[part], track);
    }
  }

  /// The clocks of launches and of parts are not the same one.
  static StageSpan within(const StageSpan &launch, const PartSpan &part) {
    int64_t begin = std::min(part.begin, launch.nanoseconds);
    int64_t taken = std::min(part.nanoseconds, launch.nanoseconds - begin);
    return {launch.stage, launch.lane, launch.begin + begin, taken};
  }

  const runtime::Manifest &manifest;
  std::set<uint32_t> tracks; ///< That have names.
  Json events = Json::array();
};

} // namespace

Json traceEvents(const runtime::Manifest &manifest, std::span<const StageSpan> run) {
  Events events(manifest);
  for (const StageSpan &span : run)
    events.add(span);
  return {{"traceEvents", events.take()}, {"displayTimeUnit", "ns"}};
}

} // namespace kintsugi::verify
