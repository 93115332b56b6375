#include "pipeline/tuning.h"

#include "link/device_calls.h"
#include "link/manifest.h"
#include "orchestrate/joins.h"
#include "pipeline/feeds.h"
#include "pipeline/targets.h"
#include "tune/device_measurer.h"
#include "tune/row_measurer.h"
#include "tune/tune.h"
#include "llvm/ADT/STLExtras.h"

#include <thread>

namespace kintsugi::pipeline {

using orchestrate::OrchestrateOptions;
using orchestrate::Plan;

static Expected<Plan> planWith(const te::Program &program, OrchestrateOptions options,
                               const space::TunedSchedules *schedules,
                               orchestrate::OrchestrateTexts *texts) {
  options.space.tuned = schedules;
  return orchestrate::orchestrate(program, options, texts);
}

Expected<Plan> planWithRecords(const te::Program &program, const OrchestrateOptions &options,
                               const tune::Records *records, orchestrate::OrchestrateTexts *texts) {
  space::TunedSchedules schedules;
  if (records)
    schedules = records->schedules();
  if (schedules.empty())
    return planWith(program, options, nullptr, texts);
  explain::Log log; // Only what is said of the plan that ships is of interest.
  OrchestrateOptions tunedOptions = options;
  tunedOptions.log = options.log ? &log : nullptr;
  KINTSUGI_ASSIGN(Plan plan, planWith(program, tunedOptions, &schedules, texts));
  if (tune::lostAsAWhole(*records, plan)) {
    if (options.log)
      options.log->add({"tune",
                        "the tuned plan",
                        "is not quicker as a whole, as was measured: the default ships",
                        {},
                        {}});
    return planWith(program, options, nullptr, texts);
  }
  for (explain::Record &record : log.records())
    options.log->add(std::move(record));
  return plan;
}

namespace {

/// The plan's artifact, ready to run; it lives in memory only.
Expected<tune::Model> build(const Plan &plan, const LinkPlan &linkPlan,
                            std::shared_ptr<runtime::Device> device) {
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  KINTSUGI_RETURN_IF_ERROR(linkPlan(plan, writer));
  KINTSUGI_ASSIGN(runtime::Artifact artifact, runtime::Artifact::fromMemory(bytes, plan.model));
  return runtime::Model::create(std::move(artifact), std::move(device));
}

Json describe(const tune::TuneReport &report) {
  Json json = {{"kernels", report.kernels},
               {"searched_kernels", report.searched},
               {"measured_schedules", report.schedules},
               {"complete", report.complete}};
  json["default_ms"] = report.defaultSeconds > 0 ? Json(report.defaultSeconds * 1e3) : Json();
  json["tuned_ms"] = report.tunedSeconds > 0 ? Json(report.tunedSeconds * 1e3) : Json();
  return json;
}

/// That a run reads.
uint64_t constantBytesOf(const Plan &plan) {
  uint64_t bytes = 0;
  for (auto [buffer, isUsed] : llvm::zip_equal(plan.buffers, link::buffersOfRoot(plan))) {
    bool isConstant = buffer.kind == orchestrate::BufferKind::Source ||
                      buffer.kind == orchestrate::BufferKind::Derived;
    bytes += isUsed && isConstant ? buffer.bytes : 0;
  }
  return bytes;
}

std::unique_ptr<cost::Measurer> measurerFor(const Plan &plan, const CompileOptions &options,
                                            const Measuring &measuring) {
  if (runsOnHost(measuring.compiler))
    return std::make_unique<tune::DeviceMeasurer>(measuring.compiler, measuring.target,
                                                  measuring.device, options.threads);
  const std::vector<machine::MemoryLevel> &levels = options.machine.levels;
  tune::RowOptions row;
  unsigned threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  row.threads = std::max(2u, threads) - 1; // One asks the device.
  row.cacheBytes = levels.size() > 1 ? uint64_t(levels[1].bytes) : 0;
  row.constantBytes = constantBytesOf(plan);
  row.code.features = featuresOf(measuring.target.level);
  return std::make_unique<tune::RowMeasurer>(measuring.compiler, measuring.target, measuring.device,
                                             std::move(row));
}

Expected<tune::TuneReport> tuneOn(const te::Program &program, const CompileOptions &options,
                                  const OrchestrateOptions &orchestrateOptions,
                                  const Measuring &measuring) {
  OrchestrateOptions quiet = orchestrateOptions;
  quiet.log = nullptr;
  // The caller's device outlives what is built here.
  std::shared_ptr<runtime::Device> borrowed(std::shared_ptr<void>(), &measuring.device);
  tune::Workshop workshop;
  workshop.plan = [&](const space::TunedSchedules *schedules) -> Expected<Plan> {
    KINTSUGI_ASSIGN(Plan plan, planWith(program, quiet, schedules, nullptr));
    joinWhereItPays(plan, options, orchestrateOptions.space.schedule, nullptr);
    if (!runsOnHost(measuring.compiler))
      link::placeCalls(plan, measuring.compiler, options.machine, nullptr);
    return plan;
  };
  workshop.build = [&](const Plan &plan) { return build(plan, measuring.link, borrowed); };
  KINTSUGI_ASSIGN(workshop.feeds, madeUpFeeds(program));
  tune::TuneOptions tuneOptions;
  tuneOptions.seconds = options.tuneSeconds;
  tuneOptions.threads = options.threads;
  tuneOptions.schedule = orchestrateOptions.space.schedule;
  tuneOptions.progress = options.progress;
  tuneOptions.log = options.log;
  space::TunedSchedules schedules = options.records->schedules();
  KINTSUGI_ASSIGN(Plan plan, workshop.plan(&schedules));
  std::unique_ptr<cost::Measurer> measurer = measurerFor(plan, options, measuring);
  return tune::tune(plan, *options.records, workshop, *measurer, tuneOptions);
}

} // namespace

void joinWhereItPays(Plan &plan, const CompileOptions &options,
                     const schedule::ScheduleOptions &scheduling, explain::Log *log) {
  if (!options.disabled.has("launch-merging") && options.machine.threads > 0)
    orchestrate::joinStages(plan, scheduling, log);
}

Expected<Json> measure(const te::Program &program, const CompileOptions &options,
                       const OrchestrateOptions &orchestrateOptions, const Measuring &measuring) {
  auto report = tuneOn(program, options, orchestrateOptions, measuring);
  if (report.ok())
    return describe(*report);
  if (report.error().kind == ErrorKind::Usage) // Somebody asked to stop.
    return report.takeError();
  return Json{{"complete", false}, {"problem", report.error().message}};
}

} // namespace kintsugi::pipeline
