//===- prices.h - What kernels that were not chosen would cost --------------===//
//
// Tells the log of a choice: what was chosen, and of what was not by how much a plan with it takes
// longer. For each chosen kernel the ones with the least bounds are told, of each form first; for
// some of them the problem is solved again.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_PRICES_H
#define KINTSUGI_ORCHESTRATE_PRICES_H

#include "explain/log.h"
#include "orchestrate/plan.h"
#include "solve/solvers.h"

namespace kintsugi::orchestrate {

/// Adds a kernel of some nodes to what is said of a launch, but for forms and seconds.
void describeKernel(const te::Program &program, llvm::ArrayRef<uint32_t> nodes,
                    llvm::ArrayRef<te::ValueId> stored, explain::ChoosableKernel &launch);

struct Pricing {
  const solve::Problem &problem;                  ///< Its costs are microseconds.
  const solve::Solution &solution;                ///< The best plan that was found.
  unsigned priced = 0;                            ///< So many are solved for, while fuel lasts.
  llvm::function_ref<bool(solve::ColumnId)> runs; ///< Whether a column is a kernel or several.
  llvm::function_ref<explain::ChoosableKernel(solve::ColumnId)> describe; ///< What it runs.
  llvm::function_ref<std::vector<size_t>(solve::ColumnId)> formsOf;       ///< That have it.
};

/// Tells the log of the choice, with what is chosen and what is not; a failure of the solver is
/// told in its place.
void tellPrices(const Pricing &pricing, explain::Choice choice, explain::Log &log);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_PRICES_H
