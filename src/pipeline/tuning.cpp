#include "pipeline/tuning.h"

#include "import/random_weights.h"
#include "tune/device_measurer.h"
#include "tune/tune.h"

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

Expected<std::vector<Tensor>> madeUpFeeds(const te::Program &program) {
  std::vector<Tensor> feeds;
  for (te::ValueId input : program.inputs) {
    const te::Value &value = program.value(input);
    std::vector<int64_t> shape;
    for (te::Extent extent : value.shape)
      shape.push_back(extent.constant());
    KINTSUGI_ASSIGN(Tensor feed, import::randomFeed(value.name, value.type, std::move(shape)));
    feeds.push_back(std::move(feed));
  }
  return feeds;
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

Expected<tune::TuneReport> tuneOn(const te::Program &program, const CompileOptions &options,
                                  const OrchestrateOptions &orchestrateOptions,
                                  const targets::Target &target,
                                  const targets::CompileOptions &targetOptions,
                                  runtime::Device &device, const LinkPlan &linkPlan) {
  OrchestrateOptions quiet = orchestrateOptions;
  quiet.log = nullptr;
  // The caller's device outlives what is built here.
  std::shared_ptr<runtime::Device> borrowed(std::shared_ptr<void>(), &device);
  tune::Workshop workshop;
  workshop.plan = [&](const space::TunedSchedules *schedules) {
    return planWith(program, quiet, schedules, nullptr);
  };
  workshop.build = [&](const Plan &plan) { return build(plan, linkPlan, borrowed); };
  KINTSUGI_ASSIGN(workshop.feeds, madeUpFeeds(program));
  tune::TuneOptions tuneOptions;
  tuneOptions.seconds = options.tuneSeconds;
  tuneOptions.threads = options.threads;
  tuneOptions.schedule = orchestrateOptions.space.schedule;
  tuneOptions.progress = options.progress;
  tuneOptions.log = options.log;
  tune::DeviceMeasurer measurer(target, targetOptions, device, options.threads);
  space::TunedSchedules schedules = options.records->schedules();
  KINTSUGI_ASSIGN(Plan plan, workshop.plan(&schedules));
  return tune::tune(plan, *options.records, workshop, measurer, tuneOptions);
}

} // namespace

Expected<Json> measure(const te::Program &program, const CompileOptions &options,
                       const OrchestrateOptions &orchestrateOptions, const targets::Target &target,
                       const targets::CompileOptions &targetOptions, runtime::Device &device,
                       const LinkPlan &linkPlan) {
  auto report =
      tuneOn(program, options, orchestrateOptions, target, targetOptions, device, linkPlan);
  if (report.ok())
    return describe(*report);
  if (report.error().kind == ErrorKind::Usage) // Somebody asked to stop.
    return report.takeError();
  return Json{{"complete", false}, {"problem", report.error().message}};
}

} // namespace kintsugi::pipeline
