//===- planning.h - From a program to the plan that ships -------------------===//
//
// What the options of a compilation mean for schedules, spaces and plans, and a plan as it ships:
// with what was measured of kernels, launches merged and calls placed.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_PLANNING_H
#define KINTSUGI_PIPELINE_PLANNING_H

#include "pipeline/phases.h"
#include "pipeline/plan_memo.h"
#include "targets/target.h"

namespace kintsugi::pipeline {

unsigned threadsOf(const CompileOptions &options);
/// Those for a program: with where its constants are when it runs.
CompileOptions ofProgram(const te::Program &program, const CompileOptions &options);

search::ScheduleOptions scheduleOptions(const CompileOptions &options);
space::SpaceOptions spaceOptions(const CompileOptions &options);
orchestrate::OrchestrateOptions orchestrateOptions(const CompileOptions &options,
                                                   const targets::Target &target);

/// What plans of one machine share.
struct Planning {
  const CompileOptions &options;
  const targets::Target &target;
  Phases &phases;
  PlanMemo &memo;
  bool wantsTexts = false;                          ///< Of the boxes before the plan.
  const space::MeasuredKernels *measured = nullptr; ///< Null: by predictions alone.
};

/// The plan of a program as it ships. One that is in the memo is given again, with what was decided
/// of it; it has to be the same whether it is there or not.
Expected<std::unique_ptr<Planned>> planned(const te::Program &program, const Planning &planning);

/// Those of several, planned side by side by as many threads as one is; an error only where the
/// user stopped it.
Expected<std::vector<Expected<std::unique_ptr<Planned>>>>
planned(llvm::ArrayRef<const te::Program *> programs, const Planning &planning);

/// Tells a log, which may be null, what another one says.
void append(explain::Log *log, const explain::Log &said);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_PLANNING_H
