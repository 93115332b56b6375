#include "verify/profile.h"

#include "verify/timing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace kintsugi::verify {

using runtime::Stage;
using runtime::StageSpan;
using runtime::Work;

namespace {

double sumOf(const std::vector<StageSpan> &run) {
  double seconds = 0;
  for (const StageSpan &span : run)
    seconds += double(span.nanoseconds) * 1e-9;
  return seconds;
}

/// How long a stage's parts were under way, by run.
class PartTimes {
public:
  explicit PartTimes(size_t parts) : seconds(parts), ofRun(parts) {}

  void add(const StageSpan &span) {
    isKnown &= span.parts.size() == ofRun.size();
    for (size_t part = 0; isKnown && part < ofRun.size(); ++part)
      ofRun[part] += double(span.parts[part].nanoseconds) * 1e-9;
  }

  /// Of runs in which some launch's parts are not known nothing counts.
  void endRun() {
    for (size_t part = 0; isKnown && part < ofRun.size(); ++part)
      seconds[part].push_back(ofRun[part]);
    ofRun.assign(ofRun.size(), 0);
    isKnown = true;
  }

  /// Most of so many runs have to tell.
  void describe(size_t runs, const Stage &stage, StageProfile &profile) {
    profile.parts.resize(seconds.size());
    profile.isClocked = !seconds.empty() && 2 * seconds.front().size() > runs;
    double all = 0;
    for (size_t part = 0; part < seconds.size(); ++part) {
      if (profile.isClocked)
        profile.parts[part].seconds = summarize(seconds[part]).medianSeconds;
      profile.parts[part].share = profile.isClocked
                                      ? profile.parts[part].seconds
                                      : std::max(0.0, stage.parts[part].predictedSeconds);
      all += profile.parts[part].share;
    }
    for (PartProfile &part : profile.parts)
      part.share = all > 0 ? part.share / all : 1 / double(profile.parts.size());
  }

private:
  std::vector<std::vector<double>> seconds; ///< By part, in the runs that tell.
  std::vector<double> ofRun;                ///< The one under way.
  bool isKnown = true;
};

class Summary {
public:
  Summary(const std::vector<std::vector<StageSpan>> &runs, const runtime::Manifest &manifest)
      : runs(runs), manifest(manifest),
        seconds(manifest.stages.size(), std::vector<double>(runs.size(), 0)) {
    for (const Stage &stage : manifest.stages)
      parts.emplace_back(stage.parts.size());
  }

  Profile make() {
    std::vector<double> sums;
    for (size_t run = 0; run < runs.size(); ++run) {
      addRun(run);
      sums.push_back(sumOf(runs[run]));
    }
    profile.runs = runs.size();
    for (size_t stage = 0; stage < seconds.size(); ++stage) {
      StageProfile &its = profile.stages.emplace_back();
      its.seconds = summarize(seconds[stage]).medianSeconds;
      parts[stage].describe(runs.size(), manifest.stages[stage], its);
      profile.seconds += its.seconds;
    }
    show(summarize(sums).medianSeconds);
    return std::move(profile);
  }

private:
  void addRun(size_t run) {
    for (const StageSpan &span : runs[run]) {
      seconds[span.stage][run] += double(span.nanoseconds) * 1e-9;
      parts[span.stage].add(span);
    }
    for (PartTimes &times : parts)
      times.endRun();
  }

  void show(double median) {
    auto distance = [&](const std::vector<StageSpan> &run) {
      return std::abs(sumOf(run) - median);
    };
    auto nearest = std::ranges::min_element(runs, {}, distance);
    if (nearest != runs.end())
      profile.shown = *nearest;
    for (const StageSpan &span : profile.shown)
      ++profile.stages[span.stage].launches;
  }

  const std::vector<std::vector<StageSpan>> &runs;
  const runtime::Manifest &manifest;
  std::vector<std::vector<double>> seconds; ///< By stage and run.
  std::vector<PartTimes> parts;             ///< By stage.
  Profile profile;
};

/// Adds up what stages take for each node.
class Nodes {
public:
  void add(uint32_t stage, const Work &work, double seconds) {
    std::vector<double> shares = sharesOfNodes(work);
    for (size_t i = 0; i < shares.size(); ++i) {
      auto [entry, isNew] = places.try_emplace(work.nodes[i], nodes.size());
      if (isNew)
        nodes.push_back({work.nodes[i], 0, {}});
      NodeProfile &node = nodes[entry->second];
      node.seconds += shares[i] * seconds;
      if (node.stages.empty() || node.stages.back() != stage)
        node.stages.push_back(stage);
    }
  }

  std::vector<NodeProfile> nodes;

private:
  std::map<std::string, size_t> places;
};

} // namespace

Profile summarize(const std::vector<std::vector<StageSpan>> &runs,
                  const runtime::Manifest &manifest) {
  return Summary(runs, manifest).make();
}

std::vector<double> sharesOfNodes(const Work &work) {
  double all = std::accumulate(work.operations.begin(), work.operations.end(), 0.0);
  std::vector<double> shares(work.nodes.size(), 1.0 / double(work.nodes.size()));
  for (size_t i = 0; all > 0 && i < shares.size(); ++i)
    shares[i] = double(work.operations[i]) / all;
  return shares;
}

std::vector<NodeProfile> profileOfNodes(const runtime::Manifest &manifest, const Profile &profile) {
  Nodes found;
  for (uint32_t number = 0; number < manifest.stages.size(); ++number) {
    const Stage &stage = manifest.stages[number];
    const StageProfile &measured = profile.stages[number];
    if (stage.parts.empty())
      found.add(number, stage, measured.seconds);
    for (size_t part = 0; part < stage.parts.size(); ++part)
      found.add(number, stage.parts[part], measured.parts[part].share * measured.seconds);
  }
  std::ranges::sort(found.nodes, {}, [](const NodeProfile &node) {
    return std::tuple(-node.seconds, node.stages.front(), node.node);
  });
  return std::move(found.nodes);
}

} // namespace kintsugi::verify
