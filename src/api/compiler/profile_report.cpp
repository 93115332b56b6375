//===- profile_report.cpp - Where the time of runs goes ---------------------===//

#include "api/compiler/reports.h"
#include "api/compiler/run_reports.h"
#include "api/compiler/stage_report.h"
#include "base/files.h"
#include "verify/trace_events.h"

#include <algorithm>

namespace kintsugi::api {

namespace {

/// Runs are profiled until so much time has passed, and there are a few.
Expected<verify::Profile> profileRuns(Session &session, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t leastRuns = 5, mostSpans = 10'000'000;
  runtime::RunOptions profiled;
  profiled.profile = true;
  // A device may want to see a run before it records one.
  for (int i = 0; i < 2; ++i)
    KINTSUGI_RETURN_IF_ERROR(session.run(profiled));
  std::vector<std::vector<runtime::StageSpan>> runs;
  size_t spans = 0;
  std::chrono::duration<double> limit(seconds);
  for (auto start = Clock::now();
       runs.size() < leastRuns || (Clock::now() - start < limit && spans < mostSpans);) {
    KINTSUGI_RETURN_IF_ERROR(session.run(profiled));
    runs.emplace_back(session.stageSpans().begin(), session.stageSpans().end());
    for (const runtime::StageSpan &span : runs.back())
      spans += 1 + span.parts.size();
  }
  return verify::summarize(runs, session.plan());
}

/// With the bytes and the arithmetic of the tiles that runs of such sizes need.
runtime::Manifest atSizes(runtime::Manifest manifest, const OpenSizes &sizes) {
  for (runtime::Stage &stage : manifest.stages) {
    double part = runtime::neededPart(stage, sizes);
    auto scale = [&](uint64_t &count) { count = uint64_t(double(count) * part); };
    auto scaleWork = [&](runtime::Work &work) {
      scale(work.movedBytes);
      std::ranges::for_each(work.operations, scale);
    };
    scaleWork(stage);
    std::ranges::for_each(stage.parts, scaleWork);
  }
  return manifest;
}

} // namespace

Expected<Json> profile(const std::string &model, const std::string &inputs, double seconds,
                       const std::string &trace, const Settings &settings) {
  if (!(seconds >= 0 && seconds <= 86400))
    return usageError("--seconds must be from 0 to 86400");
  KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, settings));
  KINTSUGI_RETURN_IF_ERROR(session.takePlan(settings));
  KINTSUGI_ASSIGN(OpenSizes sizes, session.sizes());
  const runtime::Manifest manifest = atSizes(session.plan(), sizes);
  Json report = describeModel(session);
  KINTSUGI_RETURN_IF_ERROR(settings.tell("timing runs"));
  KINTSUGI_RETURN_IF_ERROR(addTimes(session, seconds / 2, report));
  KINTSUGI_RETURN_IF_ERROR(settings.tell("timing stages"));
  KINTSUGI_ASSIGN(verify::Profile found, profileRuns(session, seconds / 2));
  if (!trace.empty()) {
    std::string text = printJson(verify::traceEvents(manifest, found.shown));
    KINTSUGI_RETURN_IF_ERROR(writeFileAtomic(trace, text));
  }
  report["threads"] = settings.compile.threads;
  report["predicted_ms"] = predictedSeconds(manifest, launchesOf(manifest)) * 1e3;
  addSizes(session, report);
  report["clock"] = session.timesByDevice() ? "device" : "host";
  report["profiled_runs"] = found.runs;
  report["stages_ms"] = found.seconds * 1e3;
  report["stages"] = describeStages(manifest, found);
  report["nodes"] = describeNodes(manifest, found);
  return report;
}

} // namespace kintsugi::api
