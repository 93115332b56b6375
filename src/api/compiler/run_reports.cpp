//===- run_reports.cpp - Reports of runs: run, bench ------------------------===//

#include "api/compiler/run_reports.h"

#include "api/compiler/reports.h"
#include "verify/timing.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::api {

namespace {

/// Where the kernels of a run stand, and how often a run launches each: repeats multiply, and what
/// data decide of counts once.
void countLaunches(const runtime::Plan &plan, uint64_t times, std::vector<uint64_t> &launches) {
  using Kind = runtime::Plan::Kind;
  if (plan.kind == Kind::Stage)
    launches[plan.stage] += times;
  if (plan.kind == Kind::Repeat && plan.condition == runtime::none)
    times *= plan.count;
  for (const runtime::Plan &child : plan.children)
    countLaunches(child, times, launches);
}

/// Least, greatest and mean of the finite elements; null where there are none.
Json summarize(TensorView tensor) {
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t finite = 0;
  if (isComplex(tensor.type))
    return Json();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    double value = loadDouble(tensor, i);
    if (!std::isfinite(value))
      continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    ++finite;
  }
  if (finite == 0)
    return Json();
  return {{"min", low}, {"max", high}, {"mean", sum / double(finite)}, {"finite", finite}};
}

/// A word on an output of floats that are not all numbers; empty where they are. `values`: see
/// summarize.
std::string warningOf(const runtime::Port &port, TensorView tensor, const Json &values,
                      const std::string &precision) {
  int64_t finite = values.is_null() ? 0 : values["finite"].get<int64_t>();
  if (!isFloat(tensor.type) || finite == tensor.count())
    return "";
  std::string text = "output '" + port.name + "': " + std::to_string(tensor.count() - finite) +
                     " of " + std::to_string(tensor.count()) + " elements are not finite";
  if (precision == nameOf(Precision::F16))
    text += "; where they are with --precision f32, compile with inputs like these (--calibrate "
            "FEEDS.npz), or use bf16";
  return text;
}

Json describePort(const runtime::Port &port, TensorView tensor) {
  Json json = {{"name", port.name}, {"type", nameOf(tensor.type)}};
  json["shape"] = std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end());
  return json;
}

} // namespace

Json describeModel(const Session &session) {
  const runtime::Manifest &manifest = session.manifest();
  Json json = {{"model", manifest.modelName},           {"target", manifest.target},
               {"precision", manifest.precision},       {"compiler", manifest.compilerVersion},
               {"level", session.artifact().variant()}, {"levels", session.artifact().variants()}};
  if (std::string_view section = session.codeSection(); !section.empty())
    json["code"] = section;
  Expected<int64_t> operators = jsonInteger(session.report(), "operators");
  json["operators"] = operators.ok() ? Json(*operators) : Json();
  if (!session.note().empty())
    json["notes"] = {session.note()};
  return json;
}

std::vector<uint64_t> launchesOf(const runtime::Manifest &manifest) {
  std::vector<uint64_t> launches(manifest.stages.size(), 0);
  countLaunches(manifest.plan, 1, launches);
  return launches;
}

void addSizes(const Session &session, Json &report) {
  for (const OpenDimension &open : session.planned())
    report["sizes"][open.name] = {open.low, open.high};
}

double predictedSeconds(const runtime::Manifest &manifest, const std::vector<uint64_t> &launches) {
  double seconds = 0;
  for (size_t i = 0; i < launches.size(); ++i)
    seconds += manifest.stages[i].predictedSeconds * double(launches[i]);
  return seconds;
}

Status addTimes(Session &session, double seconds, Json &report) {
  verify::TimingOptions options;
  options.seconds = seconds;
  std::vector<double> onDevice;
  runtime::RunOptions timed;
  timed.timesSteps = true;
  auto run = [&] {
    Status status = session.run(timed);
    if (std::optional<double> taken = session.deviceSeconds())
      onDevice.push_back(*taken);
    return status;
  };
  KINTSUGI_ASSIGN(verify::Timing timing, verify::timeRuns(run, options));
  if (!onDevice.empty()) // Without what goes to the device and comes from it.
    report["device_ms"] = verify::summarize(onDevice).medianSeconds * 1e3;
  report["median_ms"] = timing.medianSeconds * 1e3;
  report["min_ms"] = timing.minSeconds * 1e3;
  report["p99_ms"] = timing.p99Seconds * 1e3;
  report["runs"] = timing.runs;
  return Status::success();
}

Expected<Json> runFile(const std::string &model, const std::string &inputs,
                       const std::string &outputs, const Settings &settings) {
  KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, settings));
  std::optional<NpzWriter> file;
  if (!outputs.empty()) {
    KINTSUGI_ASSIGN(NpzWriter writer, NpzWriter::create(outputs, Compression::None));
    file.emplace(std::move(writer));
  }
  KINTSUGI_RETURN_IF_ERROR(settings.tell("running"));
  KINTSUGI_RETURN_IF_ERROR(session.run());
  Json report = describeModel(session);
  report["outputs"] = Json::array();
  for (size_t i = 0; i < session.manifest().outputs.size(); ++i) {
    const runtime::Port &port = session.manifest().outputs[i];
    TensorView tensor = session.output(i);
    if (file)
      KINTSUGI_RETURN_IF_ERROR(file->add(port.name, tensor));
    Json entry = describePort(port, tensor);
    entry["values"] = summarize(tensor);
    std::string warning = warningOf(port, tensor, entry["values"], session.manifest().precision);
    if (!warning.empty())
      report["notes"].push_back(warning);
    report["outputs"].push_back(std::move(entry));
  }
  if (file)
    KINTSUGI_RETURN_IF_ERROR(file->finish());
  return report;
}

Expected<Json> bench(const std::string &model, const std::string &inputs, double seconds,
                     const Settings &settings) {
  if (!(seconds >= 0 && seconds <= 86400))
    return usageError("--seconds must be from 0 to 86400");
  KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, settings));
  KINTSUGI_RETURN_IF_ERROR(session.takePlan(settings));
  KINTSUGI_RETURN_IF_ERROR(settings.tell("timing runs"));
  Json report = describeModel(session);
  addSizes(session, report);
  KINTSUGI_RETURN_IF_ERROR(addTimes(session, seconds, report));
  const runtime::Manifest &manifest = session.plan();
  std::vector<uint64_t> launches = launchesOf(manifest);
  report["threads"] = settings.compile.threads;
  report["predicted_ms"] = predictedSeconds(manifest, launches) * 1e3;
  report["kernels"] = manifest.stages.size();
  report["constant_bytes"] = session.artifact().constants().size();
  report["arena_bytes"] = manifest.arenaBytes;
  Expected<double> compiled = jsonNumber(session.report(), "compile_s");
  report["compile_s"] = compiled.ok() ? Json(*compiled) : Json();
  KINTSUGI_ASSIGN(report["machine"], describeMachine("show"));
  return report;
}

void addKind(const runtime::Stage &stage, Json &entry) {
  bool isOnHost = stage.kind == runtime::Stage::Kind::Call;
  bool isCall = isOnHost || !stage.call.empty();
  entry["kind"] = isCall ? "call" : "generated";
  if (isCall)
    entry["runs_on"] = isOnHost ? "host" : "device";
}

} // namespace kintsugi::api
