//===- tuning.h - Plans with what was measured -----------------------------------===//
//
// Every compile uses the schedules that its records name, and chooses by the seconds that they
// hold; under --tune it measures first and adds to them. The plan follows from the program, the
// options and the records alone, so that a compile that measured and one that comes after give the
// same.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TUNING_H
#define KINTSUGI_PIPELINE_TUNING_H

#include "pipeline/forms.h"

namespace kintsugi::pipeline {

/// The form of a program and its plan, by the records as they are.
Expected<ChosenForm> planWithRecords(const te::Program &program, const Planning &planning,
                                     const tune::Records *records);

/// How a plan becomes a file, as link::link does it.
using LinkPlan = std::function<Status(const orchestrate::Plan &, runtime::ArtifactWriter &)>;

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
                       const Measuring &measuring);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TUNING_H
