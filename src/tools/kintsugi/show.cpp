#include "tools/kintsugi/show.h"

#include "base/diagnostics.h"
#include "tools/kintsugi/report_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kintsugi::tool {

namespace {

/// What --tune did; empty where it was not asked for.
std::string showTuning(const Json &report) {
  const Json &tuning = report["tuning"];
  if (!tuning.is_object() || tuning.contains("problem"))
    return "";
  std::string all = format("tuning measured %.0f schedules; %.0f of %s tuned%s\n",
                           number(tuning, "measured_schedules"), number(report, "tuned_kernels"),
                           counted(number(report, "distinct_kernels"), "kernel").c_str(),
                           tuning["complete"] == true ? "" : "; more seconds could find more");
  if (tuning["tuned_ms"].is_number())
    all += format("a run took %s untuned and %s tuned, side by side\n",
                  milliseconds(number(tuning, "default_ms")).c_str(),
                  milliseconds(number(tuning, "tuned_ms")).c_str());
  return all;
}

std::string showCompile(const Json &report) {
  return showTuning(report) +
         format("%s: %s became %s, predicted %s a run; constants %s, arena %s; compiled for %s in "
                "%.1f s\n",
                text(report, "artifact").c_str(),
                counted(number(report, "operators"), "operator").c_str(),
                counted(number(report, "kernels"), "kernel").c_str(),
                milliseconds(number(report, "objective_seconds") * 1e3).c_str(),
                bytes(number(report, "constant_bytes")).c_str(),
                bytes(number(report, "arena_bytes")).c_str(),
                joined(report["levels"], " and ").c_str(), number(report, "compile_s"));
}

std::string showRun(const Json &report) {
  std::string all;
  for (const Json &output : report["outputs"]) {
    const Json &values = output["values"];
    all += text(output, "name") + "  " + text(output, "type") + output["shape"].dump();
    if (values.is_object())
      all += format("  min %.6g  max %.6g  mean %.6g", number(values, "min"), number(values, "max"),
                    number(values, "mean"));
    all += "\n";
  }
  return all;
}

std::string showBench(const Json &report) {
  return format("median %s, min %s, 99th percentile %s over %.0f runs; predicted %s\n"
                "%.0f kernels, constants %s, arena %s\n",
                milliseconds(number(report, "median_ms")).c_str(),
                milliseconds(number(report, "min_ms")).c_str(),
                milliseconds(number(report, "p99_ms")).c_str(), number(report, "runs"),
                milliseconds(number(report, "predicted_ms")).c_str(), number(report, "kernels"),
                bytes(number(report, "constant_bytes")).c_str(),
                bytes(number(report, "arena_bytes")).c_str());
}

/// What was measured, where there was a device to do it.
std::string measured(const Json &entry) {
  return entry["measured_ms"].is_null() ? "not measured"
                                        : milliseconds(number(entry, "measured_ms"));
}

/// Kernels that share their code, by its name; in the order in which the first of them runs.
std::vector<std::vector<const Json *>> sharingCode(const Json &kernels) {
  std::vector<std::vector<const Json *>> groups;
  for (const Json &kernel : kernels) {
    std::string name = text(kernel, "name");
    auto isThis = [&](const auto &group) { return text(*group[0], "name") == name; };
    auto found = std::find_if(groups.begin(), groups.end(), isThis);
    if (found == groups.end())
      groups.push_back({&kernel});
    else
      found->push_back(&kernel);
  }
  return groups;
}

double sumOf(const std::vector<const Json *> &kernels, const char *field) {
  double sum = 0;
  for (const Json *kernel : kernels)
    sum += number(*kernel, field);
  return sum;
}

/// What kernels that share their code take together, whom they serve, and what the first computes.
std::string showKernels(const std::vector<const Json *> &kernels, double share) {
  const Json &first = *kernels[0];
  std::string time =
      first["measured_ms"].is_null() ? "not measured" : milliseconds(sumOf(kernels, "measured_ms"));
  std::string all = format("%s  %.0f %%  %s, predicted %s, %s", text(first, "name").c_str(), share,
                           time.c_str(), milliseconds(sumOf(kernels, "predicted_ms")).c_str(),
                           bytes(sumOf(kernels, "bytes")).c_str());
  if (text(first, "kind") == "call")
    all += ", on the " + text(first, "runs_on");
  if (kernels.size() > 1)
    all += format(", %zu times the same code", kernels.size());
  double launches = sumOf(kernels, "launches");
  all += launches == double(kernels.size()) ? "\n" : format(", %.0f launches\n", launches);
  for (const Json *kernel : kernels)
    all += "  " + joined((*kernel)["nodes"], ", ") + "\n";
  for (const std::string &line : lines(first, "expressions"))
    all += "    " + line + "\n";
  return all;
}

std::string showExplain(const Json &report) {
  const char *times = report["measured_ms"].is_null() ? "predicted_ms" : "measured_ms";
  double total = 0;
  for (const Json &kernel : report["kernels"])
    total += number(kernel, times);
  std::string all =
      format("%s: %s became %s; a run: %s, predicted %s\n", text(report, "model").c_str(),
             counted(number(report, "operators"), "operator").c_str(),
             counted(static_cast<double>(report["kernels"].size()), "kernel").c_str(),
             measured(report).c_str(), milliseconds(number(report, "predicted_ms")).c_str());
  all += "code of " + text(report, "level") + "; there is code for " +
         joined(report["levels"], " and ") + "\n\n";
  for (const std::vector<const Json *> &kernels : sharingCode(report["kernels"]))
    all += showKernels(kernels, total > 0 ? 100 * sumOf(kernels, times) / total : 0);
  return all;
}

const char *verdict(const Json &entry) {
  std::string name = text(entry, "verdict");
  return name == "inside" ? "ok" : name == "rounding" ? "ONLY BY ROUNDING" : "OUTSIDE";
}

/// The last line of a comparison that did not fail, whose reason would be its last.
std::string conclusion(const Json &report, const char *entries) {
  std::string names;
  for (const Json &entry : report[entries])
    if (entry["verdict"] == "rounding")
      names += (names.empty() ? "'" : ", '") + text(entry, "name") + "'";
  if (report["verdict"] == "rounding")
    return format("inside the error policy only by rounding to %s: %s\n",
                  text(report, "precision").c_str(), names.c_str());
  return report["verdict"] == "inside" ? "inside the error policy\n" : "";
}

std::string showCompareKernels(const Json &report) {
  std::string all;
  for (const Json &kernel : report["kernels"])
    all += format("%s  max abs %.3g  max rel %.3g (allowed %.3g, K %.0f)  %s\n  %s\n",
                  text(kernel, "name").c_str(), number(kernel, "max_abs"),
                  number(kernel, "max_rel"), number(kernel, "allowed"), number(kernel, "depth"),
                  verdict(kernel), joined(kernel["nodes"], ", ").c_str());
  return all + conclusion(report, "kernels");
}

std::string showCompare(const Json &report) {
  if (report.contains("kernels"))
    return showCompareKernels(report);
  std::string all;
  for (const Json &output : report["outputs"]) {
    all += text(output, "name") + "  " + text(output, "type") + output["shape"].dump();
    if (std::string problem = text(output, "problem"); !problem.empty())
      all += "  " + problem;
    else
      all += format("  max abs %.3g  max rel %.3g (allowed %.3g, K %.0f)  ulps %.0f  cosine %.9f",
                    number(output, "max_abs"), number(output, "max_rel"), number(output, "allowed"),
                    number(output, "depth"), number(output, "ulps"), number(output, "cosine"));
    all += format("  %s\n", verdict(output));
    if (number(output, "slice_rel") > 0)
      all += format("  in slices: max rel %.3g (allowed %.3g), at %.0f of axis %.0f\n",
                    number(output, "slice_rel"), number(output, "slice_allowed"),
                    number(output["worst_slice"], "index"), number(output["worst_slice"], "axis"));
    if (output.contains("rounding") && !output["rounding"].is_null())
      all +=
          format("  the model as written, each value rounded once: max rel %.3g, in slices %.3g\n",
                 number(output, "rounding"), number(output, "slice_rounding"));
  }
  return all + conclusion(report, "outputs");
}

std::string showPorts(const Json &ports, const char *kind) {
  std::string all;
  for (const Json &port : ports) {
    const Json &shape = port["shape"];
    std::string extents = shape.is_array() ? "[" + joined(shape, ", ") + "]" : "[...]";
    all += format("%-7s %s  %s%s\n", kind, text(port, "name").c_str(), text(port, "type").c_str(),
                  extents.c_str());
  }
  return all;
}

std::string showInspect(const Json &report) {
  std::string all = text(report, "model") + "\n" + showPorts(report["inputs"], "input") +
                    showPorts(report["outputs"], "output");
  if (report.contains("operators"))
    for (const Json &use : report["operators"])
      all += format("%7.0f %s\n", number(use, "count"), text(use, "operator").c_str());
  if (report.contains("weight_bytes"))
    all += "weights " + bytes(number(report, "weight_bytes")) + "\n";
  if (report.contains("arithmetic"))
    all += format("arithmetic %.3g operations a run, in %s\n", number(report, "arithmetic"),
                  counted(number(report, "definitions"), "definition").c_str());
  if (report.contains("open_dimensions"))
    for (const Json &name : report["open_dimensions"])
      all += "open dimension '" + printable(name.get<std::string>()) +
             "': give it a size with --dim " + printable(name.get<std::string>()) + "=N\n";
  if (report.contains("needed_values"))
    for (const Json &name : report["needed_values"])
      all += "the value of '" + printable(name.get<std::string>()) +
             "' must be known when compiling: give it with --bind " +
             printable(name.get<std::string>()) + "=FILE.npz\n";
  if (report.contains("unsupported"))
    for (const Json &use : report["unsupported"])
      all += format("not supported: %s, %.0f times: %s\n", text(use, "operator").c_str(),
                    number(use, "count"), joined(use["nodes"], ", ").c_str());
  return all;
}

std::string showCache(const Json &report) {
  std::string all;
  for (const Json &entry : report["entries"])
    all += text(entry, "key") + "  " + bytes(number(entry, "bytes")) + "\n";
  if (number(report, "removed_entries") > 0)
    all += format("removed %.0f files of %s\n", number(report, "removed_entries"),
                  bytes(number(report, "removed_bytes")).c_str());
  all += format("%s: %zu files of %s\n", text(report, "folder").c_str(), report["entries"].size(),
                bytes(number(report, "bytes")).c_str());
  const Json &tuned = report["tuned"];
  if (std::string problem = text(tuned, "problem"); !problem.empty())
    return all + problem + "\n";
  return all + format("%.0f measurements of --tune, %s\n", number(tuned, "entries"),
                      bytes(number(tuned, "bytes")).c_str());
}

} // namespace

static std::string showRules(const Json &report) {
  std::string all;
  for (const Json &each : report) {
    all += format("%-20s %s\n", text(each, "name").c_str(), text(each, "what").c_str());
    if (each["kind"] != "rule")
      continue;
    all += format("%-20s %s", "", text(each, "exactness").c_str());
    if (std::string assumes = text(each, "assumes"); !assumes.empty())
      all += "; assumes to be finite: " + assumes;
    if (std::string source = text(each, "source"); !source.empty())
      all += "; " + source;
    all += "\n";
  }
  return all;
}

static std::string showOperators(const Json &report) {
  std::string all = format("Models may use versions %.0f to %.0f of ONNX's operator set.\n",
                           number(report, "oldest"), number(report, "newest"));
  for (const Json &each : report["operators"]) {
    std::string domain = text(each, "domain"), versions;
    for (const Json &since : each["since"])
      versions += (versions.empty() ? "" : ", ") + std::to_string(since.get<int64_t>());
    all += format("%-40s from version %s\n",
                  ((domain.empty() ? "" : domain + ".") + text(each, "name")).c_str(),
                  versions.c_str());
  }
  return all;
}

std::string show(const std::string &verb, const Json &report, bool allDecisions) {
  if (verb == "compile")
    return showCompile(report);
  if (verb == "run")
    return showRun(report);
  if (verb == "bench")
    return showBench(report);
  if (verb == "profile")
    return showProfile(report);
  if (verb == "explain")
    return showExplain(report) + "\n" + showDecisions(report["decisions"], allDecisions);
  if (verb == "compare")
    return showCompare(report);
  if (verb == "inspect")
    return showInspect(report);
  if (verb == "rules")
    return showRules(report);
  if (verb == "operators")
    return showOperators(report);
  if (verb == "cache")
    return showCache(report);
  return showMachine(report);
}

} // namespace kintsugi::tool
