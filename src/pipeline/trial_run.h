//===- trial_run.h - How large a model's values become ----------------------===//
//
// What is stored in 16 bits has to fit there, and how large the values of a deep network become is
// told by nothing but a run, on inputs of the user's own, or on made-up ones: others than models
// are compared on, so that no comparison is made on what a choice was fitted to.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_TRIAL_RUN_H
#define KINTSUGI_PIPELINE_TRIAL_RUN_H

#include "pipeline/pipeline.h"

namespace kintsugi::pipeline {

/// How large inputs that are made up are beside those that models are compared on. To see how large
/// values become they are twice as large; how they are rounded is seen on such as they are.
constexpr float largeFeeds = 2, usualFeeds = 1;

/// The inputs of a run of a prepared program, given the model as it was imported: the arrays of
/// options.calibration, or made up where that is empty.
Expected<std::vector<Tensor>> trialFeeds(const te::Program &imported, const CompileOptions &options,
                                         float scale);

/// By value of the program, the greatest magnitude of the finite elements of an f32 input or
/// result, -1 of a result that has none; 0 of others. A machine error where the program is too
/// large to be tried, an input error where the user's own inputs don't keep to its checks; others
/// as HostTrial's.
Expected<std::vector<double>> greatestMagnitudes(const te::Program &program,
                                                 const std::vector<Tensor> &feeds,
                                                 const CompileOptions &options,
                                                 runtime::Device &host);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_TRIAL_RUN_H
