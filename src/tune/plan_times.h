//===- plan_times.h - What the kernels of a plan take in its runs ---------------===//
//
// Devices time the stages of a manifest. A stage is a kernel's launch, or one that several kernels
// share in the ratio of what they are predicted to take.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_PLAN_TIMES_H
#define KINTSUGI_TUNE_PLAN_TIMES_H

#include "orchestrate/plan.h"
#include "tune/race.h"
#include "tune/records.h"

namespace kintsugi::tune {

/// A kernel of a stage of the manifest.
struct Part {
  unsigned kernel;
  double share;     ///< Of the stage's time.
  int64_t launches; ///< Of the stage, in a run.
};
using Parts = llvm::SmallVector<Part, 1>; ///< None for a call, or a launch of one.

/// By stage of the main program's manifest.
std::vector<Parts> partsOfStages(const orchestrate::Plan &plan);

/// By kernel of the plan, the seconds that all its launches took in each run.
std::vector<std::vector<double>> timesOfKernels(const orchestrate::Plan &plan,
                                                const Runner &runner);

/// Gives the launches of a plan that run one kernel the seconds that were measured of it, in this
/// plan where it was timed itself, and the plan what it took as a whole then.
/// `options`: those that its kernels were scheduled with.
void priceAsMeasured(orchestrate::Plan &plan, const Records &records, Hash128 model,
                     const search::ScheduleOptions &options);

/// By kernel, how many launches of a plan run it and nothing else, those of loops counted once;
/// none where it shares some.
std::vector<unsigned> launchesAlone(const orchestrate::Plan &plan);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_PLAN_TIMES_H
