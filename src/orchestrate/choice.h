//===- choice.h - From a space to the chosen candidates ---------------------===//
//
// Turns the space of some definitions into a solver's problem and back. Every definition is an
// item, or with others that no candidate takes apart; values are resources; the solver never sees a
// schedule. Where kernels may share launches, those are columns, too (launch_columns.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_CHOICE_H
#define KINTSUGI_ORCHESTRATE_CHOICE_H

#include "orchestrate/orchestrate.h"

namespace kintsugi::orchestrate {

/// Candidates by number, in phases: those of one don't wait for each other.
struct ChosenLaunch {
  std::vector<std::vector<unsigned>> phases;
  double seconds = 0; ///< Predicted.
};

struct Choice {
  space::Space space;
  std::vector<ChosenLaunch> launches; ///< In an order in which they can run.
  double objective = 0;               ///< Seconds.
  double gap = 0;
};

/// Costs are in microseconds in problems, so that their texts are readable.
constexpr double microseconds = 1e6;

/// The cost of a kernel's column: its predicted time, and so little for what it moves that this
/// decides among equal times only.
double costOf(const loops::KernelShape &kernel, const machine::Machine &machine);

Expected<Choice> choose(const te::Program &program, llvm::ArrayRef<uint32_t> definitions,
                        const OrchestrateOptions &options, OrchestrateTexts *texts);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_CHOICE_H
