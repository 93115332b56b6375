#include "pipeline/planning.h"

#include "base/parallel.h"
#include "base/processors.h"
#include "cost/cost.h"
#include "explain/step.h"
#include "link/device_calls.h"
#include "orchestrate/joins.h"
#include "pipeline/targets.h"
#include "te/constant_nodes.h"
#include "te/hash.h"
#include "te/printer.h"

namespace kintsugi::pipeline {

search::ScheduleOptions scheduleOptions(const CompileOptions &options) {
  search::ScheduleOptions result;
  result.machine = options.machine;
  result.coldConstants = options.coldConstants;
  result.packing = !options.disabled.has("packing");
  result.copies = !options.disabled.has("staging");
  result.bulk = !options.disabled.has("bulk-copies");
  if (options.machine.threads > 0) { // Blocks know no copies.
    const machine::BlockCore &core = options.machine.core;
    result.scratchLimit = core.scratchBytes;
    result.ringLimit = core.ringBytes;
    result.clusterBlocks = unsigned(core.clusterBlocks);
    result.copies = false;
  }
  return result;
}

CompileOptions ofProgram(const te::Program &program, const CompileOptions &options) {
  CompileOptions result = options;
  // From one step to the next less else is needed than from one run to the next.
  constexpr double ofStep = 0.7;
  te::ConstantBytes bytes = te::bytesOfConstants(program);
  result.coldConstants = cost::areCold(bytes.once, options.machine) ||
                         cost::areCold(ofStep * bytes.inSteps, options.machine);
  return result;
}

unsigned threadsOf(const CompileOptions &options) {
  return options.threads ? options.threads : unsigned(allowedProcessors().size());
}

space::SpaceOptions spaceOptions(const CompileOptions &options) {
  space::SpaceOptions result;
  result.schedule = scheduleOptions(options);
  result.fuse = !options.disabled.has("fusion");
  result.threads = threadsOf(options);
  return result;
}

/// Constants are computed while linking: by kernels that any processor runs.
static space::SpaceOptions hostSpace(const CompileOptions &options) {
  space::SpaceOptions result;
  result.threads = threadsOf(options);
  result.schedule.machine = *machine::Machine::forLevel(machine::nameOf(machine::Level::V3));
  result.schedule.copies = !options.disabled.has("staging");
  result.fuse = !options.disabled.has("fusion");
  result.keepsOperators = options.disabled.has("fission");
  result.likely = options.likely.get();
  return result;
}

orchestrate::OrchestrateOptions orchestrateOptions(const CompileOptions &options,
                                                   const targets::Target &target) {
  orchestrate::OrchestrateOptions result;
  result.mode = options.plan;
  result.open = options.openInputs;
  result.log = options.log;
  result.priced = options.priced;
  result.chosen = options.chosen.get();
  result.space = spaceOptions(options);
  result.space.likely = options.likely.get();
  result.space.schedule.scalar = isReference(target);
  result.space.keepsOperators = options.disabled.has("fission") && !isReference(target);
  if (options.machine.threads > 0) { // A kernel more costs a launch.
    result.space.caps.candidatesARoot = 48;
    result.mergesLaunches = !options.disabled.has("launch-merging");
  }
  result.lanes = !options.disabled.has("merge-scans") && !isReference(target);
  if (isReference(target))
    result.mode = orchestrate::PlanMode::Separate;
  if (!runsOnHost(target))
    result.constantSpace = hostSpace(options);
  return result;
}

/// Has stages share launches, where the machine's blocks of threads make that a gain.
static void joinWhereItPays(orchestrate::Plan &plan, const CompileOptions &options) {
  if (!options.disabled.has("launch-merging") && options.machine.threads > 0)
    orchestrate::joinStages(plan, scheduleOptions(options), options.log);
}

/// Of all of a program that a plan tells of or is made from.
static Hash128 keyOf(const te::Program &program) {
  Hasher hasher("planned");
  hasher.add(te::canonicalText(program)).add(te::printProgram(program));
  for (const auto &origins : program.origins)
    for (const std::string &origin : origins)
      hasher.add(origin);
  return hasher.finish();
}

static std::unique_ptr<Planned> copyOf(const Planned &planned) {
  auto copy = std::make_unique<Planned>();
  copy->program = planned.program;
  copy->plan = planned.plan;
  copy->texts = planned.texts;
  append(&copy->log, planned.log);
  return copy;
}

using PlannedOrNot = Expected<std::unique_ptr<Planned>>;

static PlannedOrNot planOf(const te::Program &program, const Planning &planning, unsigned threads) {
  bool isByPredictions = !planning.measured && !planning.wantsTexts;
  std::optional<Hash128> key = isByPredictions ? std::optional(keyOf(program)) : std::nullopt;
  if (auto known = key ? planning.memo.find(*key) : nullptr)
    return copyOf(*known);
  auto result = std::make_unique<Planned>();
  result->program = std::make_shared<const te::Program>(program);
  CompileOptions logged = planning.options;
  logged.threads = threads;
  logged.log = planning.options.log ? &result->log : nullptr;
  orchestrate::OrchestrateOptions its = orchestrateOptions(logged, planning.target);
  its.space.memo = &planning.memo.schedules;
  its.space.measured = planning.measured;
  KINTSUGI_ASSIGN(result->plan,
                  orchestrate::orchestrate(*result->program, its,
                                           planning.wantsTexts ? &result->texts : nullptr));
  joinWhereItPays(result->plan, logged);
  if (!runsOnHost(planning.target))
    link::placeCalls(result->plan, planning.target, logged.machine, logged.log);
  if (key)
    planning.memo.add(*key, copyOf(*result));
  return result;
}

Expected<std::vector<PlannedOrNot>> planned(llvm::ArrayRef<const te::Program *> programs,
                                            const Planning &planning) {
  return planning.phases.run("orchestrate", [&]() -> Expected<std::vector<PlannedOrNot>> {
    unsigned threads = threadsOf(planning.options);
    unsigned own = threadsOfEach(threads, programs.size());
    return makeInParallel(programs.size(), threads,
                          [&](size_t number) { return planOf(*programs[number], planning, own); });
  });
}

PlannedOrNot planned(const te::Program &program, const Planning &planning) {
  KINTSUGI_ASSIGN(std::vector<PlannedOrNot> all, planned({&program}, planning));
  return std::move(all.front());
}

void append(explain::Log *log, const explain::Log &said) {
  for (explain::Record &record : said.records())
    if (log)
      log->add(std::move(record));
  for (explain::Choice &choice : said.choices())
    if (log)
      log->add(std::move(choice));
  for (explain::Step &step : said.steps())
    if (log)
      log->addStep(std::move(step));
}

} // namespace kintsugi::pipeline
