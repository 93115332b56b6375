//===- explain_report.cpp - What became of a model, and why -----------------===//

#include "api/compiler/reports.h"
#include "api/compiler/run_reports.h"
#include "api/compiler/worker_process.h"
#include "verify/timing.h"

#include <numeric>

namespace kintsugi::api {

/// What the compiler decided on the way; null for an artifact, which was compiled some other time.
static Expected<Json> describeDecisions(const std::string &model, const Session &session,
                                        const Settings &settings) {
  if (isArtifact(model) || !session.decisions().is_null())
    return session.decisions();
  // A compilation that found its artifact in the cache decided nothing. Equal options give equal
  // decisions, and they are all made by the time that there is a plan.
  KINTSUGI_ASSIGN(Answer answer, ask({Task::Emit, model, "", "plan", true}, settings));
  KINTSUGI_ASSIGN(const Json *decisions, jsonObject(answer.json, "decisions"));
  return *decisions;
}

/// What the model's nodes read of each other; null for an artifact.
static Expected<Json> describeGraph(const std::string &model, const Settings &settings) {
  if (isArtifact(model))
    return Json();
  KINTSUGI_ASSIGN(Answer answer, ask({Task::Graph, model}, settings));
  KINTSUGI_ASSIGN(const Json *graph, jsonObject(answer.json, "report"));
  return *graph;
}

static Json describeBuffers(const runtime::Manifest &manifest, std::span<const uint32_t> numbers) {
  Json list = Json::array();
  for (uint32_t number : numbers) {
    const runtime::Buffer &buffer = manifest.buffers[number];
    bool isConstant = buffer.home.kind == runtime::Home::Kind::Constant;
    bool isAlias = buffer.home.kind == runtime::Home::Kind::Alias;
    list.push_back({{"buffer", isAlias ? buffer.home.index : number},
                    {"name", buffer.name},
                    {"type", nameOf(buffer.type)},
                    {"shape", buffer.shape},
                    {"bytes", buffer.bytes},
                    {"constant", isConstant}});
  }
  return list;
}

static Json describeKernels(const runtime::Manifest &manifest,
                            const std::vector<uint64_t> &launches) {
  Json kernels = Json::array();
  for (size_t i = 0; i < manifest.stages.size(); ++i) {
    const runtime::Stage &stage = manifest.stages[i];
    std::span<const uint32_t> buffers(stage.buffers);
    double operations = std::accumulate(stage.operations.begin(), stage.operations.end(), 0.0);
    kernels.push_back(
        {{"name", stage.symbol},
         {"nodes", stage.nodes},
         {"expressions", stage.expressions},
         {"bytes", stage.movedBytes},
         {"operations", stage.operations.empty() ? Json() : Json(operations)},
         {"reads", describeBuffers(manifest, buffers.first(buffers.size() - stage.resultCount))},
         {"stores", describeBuffers(manifest, buffers.last(stage.resultCount))},
         {"tiles", stage.tiles},
         {"launches", launches[i]},
         {"predicted_ms", stage.predictedSeconds * double(launches[i]) * 1e3},
         {"measured_ms", Json()}});
    addKind(stage, kernels.back());
  }
  return kernels;
}

/// The roofs that kernels are seen under: those of the description by which times are predicted.
static Json describeRoofs(const machine::Machine &machine) {
  double flops = machine.flopsPerSecond * machine.cores;
  double units = machine.threads > 0 ? flops / machine.core.multiplyAdds : 0;
  return {
      {"name", machine.name},
      {"level", machine.level},
      {"cores", machine.cores},
      {"flops_per_s", flops},
      {"matrix_flops_per_s", units > 0 ? Json(units * machine.core.matrixMultiplyAdds) : Json()},
      {"bytes_per_s", machine.memory().bytesPerSecondAll}};
}

/// Adds what runs took to the report.
static Status measureKernels(Session &session, const Settings &settings, Json &report) {
  KINTSUGI_RETURN_IF_ERROR(settings.tell("timing kernels"));
  KINTSUGI_RETURN_IF_ERROR(session.run());
  session.clearStageTimes();
  verify::TimingOptions options;
  options.seconds = 0.5;
  size_t runs = 0;
  KINTSUGI_ASSIGN(verify::Timing timing, verify::timeRuns(
                                             [&] {
                                               ++runs;
                                               return session.run({.profile = true});
                                             },
                                             options));
  report["measured_ms"] = timing.medianSeconds * 1e3;
  for (size_t i = 0; i < report["kernels"].size(); ++i)
    report["kernels"][i]["measured_ms"] =
        double(session.stageTimes()[i].nanoseconds) / double(runs) * 1e-6;
  return Status::success();
}

Expected<Json> explain(const std::string &model, const Settings &settings) {
  KINTSUGI_ASSIGN(Session session, Session::openOrLook(model, settings));
  const runtime::Manifest &manifest = session.manifest();
  std::vector<uint64_t> launches = launchesOf(manifest);
  Json report = describeModel(session);
  for (const char *field : {"definitions", "candidates", "objective_seconds", "gap"})
    if (auto found = session.report().find(field); found != session.report().end())
      report[field] = *found;
  report["machine"] = describeRoofs(settings.compile.machine);
  report["rules"] = pipeline::describeSwitches();
  KINTSUGI_ASSIGN(report["graph"], describeGraph(model, settings));
  report["predicted_ms"] = predictedSeconds(manifest, launches) * 1e3;
  report["measured_ms"] = Json();
  report["kernels"] = describeKernels(manifest, launches);
  if (session.runs())
    KINTSUGI_RETURN_IF_ERROR(measureKernels(session, settings, report));
  KINTSUGI_ASSIGN(report["decisions"], describeDecisions(model, session, settings));
  return report;
}

} // namespace kintsugi::api
