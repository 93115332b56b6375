//===- plan_runner.h - Executes a plan point by point -----------------------===//
//
// The meaning of a plan, as plainly as can be: the tree in order, each kernel by the schedule
// runner, in double. It keeps account of the arena byte by byte: whoever reads a temporary must
// find all of its bytes still its own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_ORCHESTRATE_PLAN_RUNNER_H
#define KINTSUGI_TEST_UNIT_ORCHESTRATE_PLAN_RUNNER_H

#include "orchestrate/plan.h"

namespace kintsugi::orchestrate {

struct PlanRun {
  std::vector<std::vector<double>> outputs;
  std::string problem; ///< Why it could not be run: what was read before it was written, ...
};

/// `inputs` by port.
PlanRun runPlan(const Plan &plan, const std::vector<std::vector<double>> &inputs);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_TEST_UNIT_ORCHESTRATE_PLAN_RUNNER_H
