//===- plan_timer.h - Times a plan in its own runs ---------------------------===//
//
// What a kernel takes depends on what ran before it and on where its data lie. So the kernels of a
// plan are timed in runs of the plan, and what a run takes beside its stages, or less than they do
// because a clock was read around each, is laid on its launches.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_PLAN_TIMER_H
#define KINTSUGI_TUNE_PLAN_TIMER_H

#include "tune/plan_times.h"

namespace kintsugi::tune {

class PlanTimer {
public:
  PlanTimer(Records &records, Hash128 model, const search::ScheduleOptions &options)
      : records(records), model(model), options(options) {}

  /// Runs a plan for about so many seconds, a few times at least, and records what it takes as a
  /// whole, each kernel in it, and what those of `kernels` are taken to cost in any plan. How many
  /// of these were timed.
  Expected<unsigned> time(const orchestrate::Plan &plan, Runner &runner,
                          llvm::ArrayRef<unsigned> kernels, double seconds);

private:
  double predictedOf(const orchestrate::Kernel &kernel) const;

  Records &records;
  Hash128 model;
  const search::ScheduleOptions &options;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_PLAN_TIMER_H
