//===- tuning.h - Plans with what was measured -----------------------------------===//
//
// Every compile uses the schedules that its records name; under --tune it measures first and adds
// to them. The plan follows from the program, the options and the records alone, so that a compile
// that measured and one that comes after give the same.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TUNING_H
#define KINTSUGI_PIPELINE_TUNING_H

#include "orchestrate/orchestrate.h"
#include "pipeline/pipeline.h"
#include "targets/target.h"

namespace kintsugi::pipeline {

/// The plan of a program, by the records as they are.
Expected<orchestrate::Plan> planWithRecords(const te::Program &program,
                                            const orchestrate::OrchestrateOptions &options,
                                            const tune::Records *records,
                                            orchestrate::OrchestrateTexts *texts);

/// How a plan becomes a file, as link::link does it.
using LinkPlan = std::function<Status(const orchestrate::Plan &, runtime::ArtifactWriter &)>;

/// Has stages share launches, where the machine's blocks of threads make that a gain.
void joinWhereItPays(orchestrate::Plan &plan, const CompileOptions &options,
                     const schedule::ScheduleOptions &scheduling, explain::Log *log);

/// Where kernels and models run to be measured, and how they come there.
struct Measuring {
  const targets::Target &compiler;
  targets::CompileOptions target;
  runtime::Device &device;
  LinkPlan link;
};

/// Measures for options.tuneSeconds and adds to the records; what it says of it. Where that is not
/// possible, it says why, and the records are as they were.
Expected<Json> measure(const te::Program &program, const CompileOptions &options,
                       const orchestrate::OrchestrateOptions &orchestrateOptions,
                       const Measuring &measuring);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TUNING_H
