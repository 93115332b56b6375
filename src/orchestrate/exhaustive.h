//===- exhaustive.h - The optimum of a small problem, by looking at all -----===//
//
// What the solver's rows mean is checked against a search that doesn't know them: kernels run one
// after the other, each once what it reads is there, until all outputs are. Sets of values that are
// there are the states; there may be exponentially many, so it is for small programs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_EXHAUSTIVE_H
#define KINTSUGI_ORCHESTRATE_EXHAUSTIVE_H

#include "solve/solvers.h"

namespace kintsugi::orchestrate {

/// The cheapest plan of those that cover each item once.
Expected<solve::Solution> solveExhaustively(const solve::Problem &problem);

/// The cheapest way to all outputs, whatever it covers and however often.
Expected<solve::Solution> cheapestWayToOutputs(const solve::Problem &problem);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_EXHAUSTIVE_H
