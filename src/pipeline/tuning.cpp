#include "pipeline/tuning.h"

#include "orchestrate/plan_buffers.h"
#include "pipeline/feeds.h"
#include "pipeline/planning.h"
#include "pipeline/targets.h"
#include "tune/device_measurer.h"
#include "tune/plan_times.h"
#include "tune/row_measurer.h"
#include "tune/tune.h"
#include "llvm/ADT/STLExtras.h"

#include <deque>

namespace kintsugi::pipeline {

using orchestrate::Plan;

Expected<ChosenForm> planWithRecords(const te::Program &program, const Planning &planning,
                                     const tune::Records *records) {
  space::MeasuredKernels measured;
  if (records)
    measured = records->kernels(planning.options.machine.stageSeconds);
  if (measured.empty())
    return planForm(program, planning);
  // What was timed in other models says too little of what was not: seconds decide where they won.
  space::MeasuredKernels used = measured;
  Hash128 model = tune::modelKey(program);
  tune::Verdict verdict = tune::verdictOn(*records, model);
  if (verdict != tune::Verdict::Won)
    used.seconds.clear();
  const CompileOptions &options = planning.options;
  explain::Log log; // Only what is said of the plan that ships is of interest.
  CompileOptions logged = options;
  logged.log = options.log ? &log : nullptr;
  Planning its{logged, planning.target, planning.phases, planning.memo, planning.wantsTexts, &used};
  if (verdict != tune::Verdict::Lost && !used.empty()) {
    KINTSUGI_ASSIGN(ChosenForm form, planForm(program, its));
    if (!tune::lostAsAWhole(*records, form.plan->plan)) {
      append(options.log, log);
      tune::priceAsMeasured(form.plan->plan, *records, model, scheduleOptions(options));
      return form;
    }
    verdict = tune::Verdict::Lost;
  }
  if (options.log && verdict == tune::Verdict::Lost)
    options.log->add({"tune",
                      "the plan by what was measured",
                      "is not quicker as a whole, as was measured: the default ships",
                      {},
                      {}});
  KINTSUGI_ASSIGN(ChosenForm usual, planForm(program, planning));
  tune::priceAsMeasured(usual.plan->plan, *records, model, scheduleOptions(options));
  return usual;
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
               {"timed_kernels", report.timed},
               {"timed_plans", report.plans},
               {"complete", report.complete}};
  json["default_ms"] = report.defaultSeconds > 0 ? Json(report.defaultSeconds * 1e3) : Json();
  json["tuned_ms"] = report.tunedSeconds > 0 ? Json(report.tunedSeconds * 1e3) : Json();
  return json;
}

/// That a run reads.
uint64_t constantBytesOf(const Plan &plan) {
  uint64_t bytes = 0;
  for (auto [buffer, isUsed] : llvm::zip_equal(plan.buffers, orchestrate::buffersOfRoot(plan))) {
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
  row.threads = std::max(2u, threadsOf(options)) - 1; // One asks the device.
  row.cacheBytes = levels.size() > 1 ? uint64_t(levels[1].bytes) : 0;
  row.constantBytes = constantBytesOf(plan);
  row.code.features = featuresOf(measuring.target.level);
  return std::make_unique<tune::RowMeasurer>(measuring.compiler, measuring.target, measuring.device,
                                             std::move(row));
}

Expected<tune::TuneReport> tuneOn(const te::Program &program, const CompileOptions &options,
                                  const Measuring &measuring) {
  CompileOptions quiet = options;
  quiet.log = nullptr;
  CompileReport ignored;
  Phases phases(quiet, ignored);
  PlanMemo memo;
  std::deque<ChosenForm> forms; // Plans point to them.
  // The caller's device outlives what is built here.
  std::shared_ptr<runtime::Device> borrowed(std::shared_ptr<void>(), &measuring.device);
  tune::Workshop workshop;
  workshop.plan = [&](const space::MeasuredKernels *measured) -> Expected<Plan> {
    KINTSUGI_ASSIGN(ChosenForm form,
                    planForm(program, {quiet, measuring.compiler, phases, memo, false, measured}));
    return std::move(forms.emplace_back(std::move(form)).plan->plan);
  };
  workshop.build = [&](const Plan &plan) { return build(plan, measuring.link, borrowed); };
  KINTSUGI_ASSIGN(workshop.feeds, madeUpFeeds(program));
  tune::TuneOptions tuneOptions;
  tuneOptions.seconds = options.tuneSeconds;
  tuneOptions.threads = options.threads;
  tuneOptions.schedule = scheduleOptions(options);
  tuneOptions.model = tune::modelKey(program);
  tuneOptions.progress = options.progress;
  tuneOptions.log = options.log;
  space::MeasuredKernels measured = options.records->kernels(options.machine.stageSeconds);
  KINTSUGI_ASSIGN(Plan plan, workshop.plan(&measured));
  std::unique_ptr<cost::Measurer> measurer = measurerFor(plan, options, measuring);
  return tune::tune(plan, *options.records, workshop, *measurer, tuneOptions);
}

} // namespace

Expected<Json> measure(const te::Program &program, const CompileOptions &options,
                       const Measuring &measuring) {
  auto report = tuneOn(program, options, measuring);
  if (report.ok())
    return describe(*report);
  if (report.error().kind == ErrorKind::Usage) // Somebody asked to stop.
    return report.takeError();
  return Json{{"complete", false}, {"problem", report.error().message}};
}

} // namespace kintsugi::pipeline
