//===- preparing.h - What holds of a model whatever the machine is ------------===//
//
// A model as it was imported becomes the program that kernels are planned for: simplified, with
// values in the precision that was asked for, and with its checks lowered.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_PREPARING_H
#define KINTSUGI_PIPELINE_PREPARING_H

#include "derive/assumptions.h"
#include "pipeline/phases.h"
#include "pipeline/plan_memo.h"
#include "simplify/index_checks.h"

namespace kintsugi::pipeline {

struct Prepared {
  te::Program simplified; ///< With its checks as values.
  simplify::LoweredChecks lowered;
  derive::Assumptions assumed; ///< Before forms are made.
  /// What was planned on the way for the machine of the options, which its plan needs again.
  std::shared_ptr<PlanMemo> memo = std::make_shared<PlanMemo>();

  const te::Program &program() const { return lowered.program; }
};

/// Rules that look at f32 sums find nothing where factors are stored in 16 bits: where they change
/// the program before, that is done if the plan is the quicker for it. `host` runs the program
/// where something of it has to be known. The report is told what the model is.
Expected<Prepared> prepared(const te::Program &imported, const CompileOptions &options,
                            runtime::Device &host, Phases &phases, CompileReport &report);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_PREPARING_H
