#include "tune/plan_timer.h"

#include "cost/cost.h"
#include "tune/pairs.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace kintsugi::tune {

using orchestrate::Kernel;
using orchestrate::Plan;

namespace {

/// Of runs: what else works on the machine makes them longer and never shorter.
constexpr double quick = 0.25;

/// Seconds of runs, in turns: those whose stages were timed, and those that were left alone.
struct Runs {
  std::vector<double> timed, alone;
};

Expected<Runs> runInTurns(Runner &runner, double seconds) {
  constexpr size_t leastRuns = 5, mostRuns = 60;
  Runs runs;
  auto start = std::chrono::steady_clock::now();
  auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (runs.timed.size() < leastRuns || (runs.timed.size() < mostRuns && passed() < seconds)) {
    KINTSUGI_ASSIGN(double timed, runner.timeStages());
    runs.timed.push_back(timed);
    KINTSUGI_ASSIGN(double alone, runner.runAlone());
    runs.alone.push_back(alone);
  }
  return runs;
}

/// By kernel, how often a run launches it.
std::vector<int64_t> launchesOfKernels(const Plan &plan) {
  std::vector<int64_t> launches(plan.kernels.size(), 0);
  for (const Parts &parts : partsOfStages(plan))
    for (const Part &part : parts)
      launches[part.kernel] += part.launches;
  return launches;
}

/// What `runs` take that no stage does, for each launch.
double secondsBetween(const std::vector<double> &runs, const Runner &runner, const Plan &plan) {
  std::vector<double> inStages;
  double launches = 0;
  for (const auto &[parts, times] : llvm::zip(partsOfStages(plan), runner.stages())) {
    inStages.resize(times.size(), 0);
    for (auto [sum, each] : llvm::zip(inStages, times))
      sum += each;
    launches += parts.empty() ? 1 : double(parts.front().launches);
  }
  return (quantile(runs, quick) - quantile(std::move(inStages), quick)) / std::max(1.0, launches);
}

} // namespace

/// By the machine description alone.
double PlanTimer::predictedOf(const Kernel &kernel) const {
  space::KernelShape shape = *kernel.shape;
  shape.measuredSeconds = 0;
  shape.bias = 1;
  return cost::predictSeconds(shape, options.machine);
}

Expected<unsigned> PlanTimer::time(const Plan &plan, Runner &runner,
                                   llvm::ArrayRef<unsigned> kernels, double seconds) {
  constexpr double leastShare = 0.1; ///< Of what a stage's clock says, that its work is.
  KINTSUGI_RETURN_IF_ERROR(runner.warmUp());
  KINTSUGI_ASSIGN(Runs runs, runInTurns(runner, seconds));
  RunKeys keys(model, plan, options);
  KINTSUGI_RETURN_IF_ERROR(
      records.addRunTime(keys.whole(), quantile(runs.alone, quick), plan.objectiveSeconds));

  double between = secondsBetween(runs.alone, runner, plan);
  // A device's own clock has in its stages what is between them.
  double inAnyPlan =
      runner.timesStagesApart() ? 0 : std::max(0.0, secondsBetween(runs.timed, runner, plan));
  std::vector<std::vector<double>> times = timesOfKernels(plan, runner);
  std::vector<int64_t> launches = launchesOfKernels(plan);
  std::vector<unsigned> alone = launchesAlone(plan);
  unsigned timed = 0;
  for (auto [number, kernel] : llvm::enumerate(plan.kernels)) {
    double each = quantile(times[number], quick) / double(std::max<int64_t>(1, launches[number]));
    if (each <= 0 || alone[number] == 0 || !kernel.shape)
      continue;
    double predicted = predictedOf(kernel);
    KINTSUGI_RETURN_IF_ERROR(records.addRunTime(
        keys.ofKernel(kernel), std::max(each + between, leastShare * each), predicted));
    if (!llvm::is_contained(kernels, number))
      continue;
    KINTSUGI_RETURN_IF_ERROR(
        records.addTime(timingKeyOf(kernel, options), each + inAnyPlan, predicted));
    ++timed;
  }
  return timed;
}

} // namespace kintsugi::tune
