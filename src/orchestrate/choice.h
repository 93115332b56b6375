//===- choice.h - From a space to the chosen candidates ---------------------===//
//
// Turns the space of some definitions into a solver's problem and back. Every definition is an
// item, or with others that no candidate takes apart; values are resources; the solver never sees a
// schedule.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_CHOICE_H
#define KINTSUGI_ORCHESTRATE_CHOICE_H

#include "orchestrate/orchestrate.h"

namespace kintsugi::orchestrate {

struct Choice {
  space::Space space;
  std::vector<unsigned> candidates; ///< In an order in which they can run.
  double objective = 0;             ///< Seconds.
  double gap = 0;
};

Expected<Choice> choose(const te::Program &program, llvm::ArrayRef<uint32_t> definitions,
                        const OrchestrateOptions &options, OrchestrateTexts *texts);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_CHOICE_H
