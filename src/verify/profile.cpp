#include "verify/profile.h"

#include "verify/timing.h"

#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace kintsugi::verify {

using runtime::StageSpan;

static double sumOf(const std::vector<StageSpan> &run) {
  double seconds = 0;
  for (const StageSpan &span : run)
    seconds += double(span.nanoseconds) * 1e-9;
  return seconds;
}

Profile summarize(const std::vector<std::vector<StageSpan>> &runs, size_t stages) {
  Profile profile;
  profile.runs = runs.size();
  profile.stages.resize(stages);
  std::vector<std::vector<double>> seconds(stages, std::vector<double>(runs.size(), 0));
  std::vector<double> sums;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const StageSpan &span : runs[run])
      seconds[span.stage][run] += double(span.nanoseconds) * 1e-9;
    sums.push_back(sumOf(runs[run]));
  }
  for (size_t stage = 0; stage < stages; ++stage) {
    profile.stages[stage].seconds = summarize(seconds[stage]).medianSeconds;
    profile.seconds += profile.stages[stage].seconds;
  }
  double median = summarize(sums).medianSeconds;
  auto distance = [&](const std::vector<StageSpan> &run) { return std::abs(sumOf(run) - median); };
  auto nearest = std::ranges::min_element(runs, {}, distance);
  if (nearest != runs.end())
    profile.shown = *nearest;
  for (const StageSpan &span : profile.shown)
    ++profile.stages[span.stage].launches;
  return profile;
}

std::vector<double> sharesOfNodes(const runtime::Stage &stage) {
  double all = std::accumulate(stage.operations.begin(), stage.operations.end(), 0.0);
  std::vector<double> shares(stage.nodes.size(), 1.0 / double(stage.nodes.size()));
  for (size_t i = 0; all > 0 && i < shares.size(); ++i)
    shares[i] = double(stage.operations[i]) / all;
  return shares;
}

std::vector<NodeProfile> profileOfNodes(const runtime::Manifest &manifest, const Profile &profile) {
  std::vector<NodeProfile> nodes;
  std::map<std::string, size_t> places;
  for (uint32_t number = 0; number < manifest.stages.size(); ++number) {
    const runtime::Stage &stage = manifest.stages[number];
    std::vector<double> shares = sharesOfNodes(stage);
    for (size_t i = 0; i < shares.size(); ++i) {
      auto [entry, fresh] = places.try_emplace(stage.nodes[i], nodes.size());
      if (fresh)
        nodes.push_back({stage.nodes[i], 0, {}});
      nodes[entry->second].seconds += shares[i] * profile.stages[number].seconds;
      nodes[entry->second].stages.push_back(number);
    }
  }
  std::ranges::sort(nodes, {}, [](const NodeProfile &node) {
    return std::tuple(-node.seconds, node.stages.front(), node.node);
  });
  return nodes;
}

} // namespace kintsugi::verify
