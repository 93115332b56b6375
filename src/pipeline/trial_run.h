//===- trial_run.h - How large a model's values become ----------------------===//
//
// What is stored in 16 bits has to fit there, and how large the values of a deep network become is
// told by nothing but a run. So a program is compiled for the host without any search, and run once
// on inputs that are made up.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TRIAL_RUN_H
#define KINTSUGI_PIPELINE_TRIAL_RUN_H

#include "pipeline/pipeline.h"

namespace kintsugi::pipeline {

/// By value of the program, the greatest magnitude of the elements of an f32 result; 0 of others. A
/// machine error where the program is too large to be tried, any other where it can't be compiled
/// or run on `host`, a processor.
Expected<std::vector<double>> greatestMagnitudes(const te::Program &program,
                                                 const CompileOptions &options,
                                                 runtime::Device &host);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TRIAL_RUN_H
