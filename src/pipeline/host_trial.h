//===- host_trial.h - A program that the compiler runs itself ---------------===//
//
// Some of what a compilation decides is told by nothing but a run of the model. The program is
// compiled for the host without any search, every definition a kernel, for a machine that is the
// same wherever the compiler runs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_HOST_TRIAL_H
#define KINTSUGI_PIPELINE_HOST_TRIAL_H

#include "pipeline/pipeline.h"
#include "runtime/context.h"

namespace kintsugi::pipeline {

/// A machine error where a program is too large to be tried.
Status checkTriable(const te::Program &program);

class HostTrial {
public:
  /// An error where the program can't be compiled on `host`, a processor, which outlives the trial.
  static Expected<HostTrial> compile(const te::Program &program, const CompileOptions &options,
                                     runtime::Device &host);

  /// The program's outputs, in order, for a tensor of each input.
  Expected<std::vector<Tensor>> run(std::span<const Tensor> feeds);

private:
  struct Port {
    ElementType type;
    std::vector<int64_t> shape;
  };

  std::vector<Port> outputs;
  std::unique_ptr<runtime::Context> context;
};

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_HOST_TRIAL_H
