#include "tools/kintsugi/report_text.h"
#include "tools/kintsugi/show.h"

#include <cmath>

namespace kintsugi::tool {

namespace {

/// A rate, or a dash where there is none.
std::string rate(const Json &entry, const char *key) {
  double value = number(entry, key);
  return std::isfinite(value) ? format(value < 10 ? "%.1f" : "%.0f", value) : "-";
}

std::string share(const Json &entry) { return format("%.1f %%", 100 * number(entry, "share")); }

/// Names as they fit a line.
std::string shortened(const Json &names) {
  constexpr size_t most = 4;
  if (names.size() <= most)
    return joined(names, ", ");
  Json first(names.begin(), names.begin() + most - 1);
  return joined(first, ", ") + format(" and %zu more", names.size() - first.size());
}

/// A stage, or one of its parts.
std::string showWork(const Json &work, const std::string &share, const std::string &launches,
                     const std::string &before) {
  bool isTimed = !work["measured_ms"].is_null();
  return format("%10s %7s %8s %10s %7s %8s  %s %s  %s\n",
                isTimed ? milliseconds(number(work, "measured_ms")).c_str() : "-", share.c_str(),
                launches.c_str(), milliseconds(number(work, "predicted_ms")).c_str(),
                rate(work, "gb_per_s").c_str(), rate(work, "gflop_per_s").c_str(), before.c_str(),
                text(work, "name").c_str(), shortened(work["nodes"]).c_str());
}

std::string showStages(const Json &stages) {
  std::string all = format("%10s %7s %8s %10s %7s %8s  %s\n", "time", "share", "launches",
                           "predicted", "GB/s", "GFLOP/s", "stage");
  bool hasParts = false, isPredicted = false;
  for (const Json &stage : stages) {
    all += showWork(stage, share(stage), format("%.0f", number(stage, "launches")),
                    format("%.0f", number(stage, "stage")));
    if (!stage.contains("parts"))
      continue;
    bool isGuess = text(stage, "shared_by") == "prediction";
    for (const Json &part : stage["parts"])
      all += showWork(part, (isGuess ? "~" : "") + share(part), "", "  +");
    hasParts = true;
    isPredicted |= isGuess;
  }
  if (hasParts)
    all += "+: kernels that share the launch, and for how long each was under way. These times may "
           "overlap; its share is\nthat of its time in all of theirs.\n";
  if (isPredicted)
    all +=
        "~: as predicted; no clock tells, or the launch is too short for the one inside of it.\n";
  return all;
}

std::string showNodes(const Json &nodes) {
  std::string all = format("%10s %7s  %s\n", "time", "share", "node, and the stages that serve it");
  for (const Json &node : nodes)
    all +=
        format("%10s %7s  %s  %s\n", milliseconds(number(node, "measured_ms")).c_str(),
               share(node).c_str(), text(node, "node").c_str(), shortened(node["stages"]).c_str());
  return all;
}

/// Of the sizes that a plan is for, where it is for several.
std::string meanOver(const Json &report) {
  if (!report.contains("sizes"))
    return "";
  std::string all;
  for (const auto &[name, range] : report["sizes"].items())
    all += (all.empty() ? ", the mean over " : " and ") + name + "=" + range[0].dump() +
           (range[0] == range[1] ? "" : ".." + range[1].dump());
  return all;
}

} // namespace

std::string showProfile(const Json &report) {
  std::string all = format("%s: %s became %s; %s a run", text(report, "model").c_str(),
                           counted(number(report, "operators"), "operator").c_str(),
                           counted(static_cast<double>(report["stages"].size()), "stage").c_str(),
                           milliseconds(number(report, "median_ms")).c_str());
  if (report.contains("device_ms"))
    all += ", of it " + milliseconds(number(report, "device_ms")) + " on the device";
  all += format("; predicted %s%s\n", milliseconds(number(report, "predicted_ms")).c_str(),
                meanOver(report).c_str());
  all += format("stages one by one take %s in all, by the %s's clock: medians of %s\n\n",
                milliseconds(number(report, "stages_ms")).c_str(), text(report, "clock").c_str(),
                counted(number(report, "profiled_runs"), "run").c_str());
  return all + showStages(report["stages"]) +
         "\nNodes share a stage's time in the ratio of the arithmetic that it does for each.\n" +
         showNodes(report["nodes"]);
}

} // namespace kintsugi::tool
