#include "cost/cost.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace kintsugi::cost {

/// All cores' bandwidth to the level that holds `bytes`: intermediate results of neighbouring
/// kernels stay in the innermost shared level that they fit in.
static double bandwidthFor(double bytes, const machine::Machine &machine) {
  double bandwidth = machine.memory().bytesPerSecondAll;
  for (const machine::MemoryLevel &level : machine.levels) {
    int instances = std::max(1, machine.cores / std::max(1, level.sharedBy));
    if (&level != &machine.memory() && bytes <= 0.75 * static_cast<double>(level.bytes) * instances)
      bandwidth = std::max(bandwidth, level.bytesPerSecondAll);
  }
  return std::max(1e9, bandwidth);
}

/// What a kernel stores, some core has read since: each line is first taken from it.
static double exchange(const schedule::Schedule &schedule, const machine::Machine &machine) {
  constexpr double bytesPerSecond = 20e9; ///< Of one core.
  return machine.cores > 1 ? schedule.bytesWritten / (bytesPerSecond * machine.cores) : 0;
}

double overlapped(double a, double b) { return std::max(a, b) + 0.4 * std::min(a, b); }

double predictSeconds(const space::KernelShape &kernel, const machine::Machine &machine) {
  if (kernel.untuned)
    return kernel.gain * predictSeconds(*kernel.untuned, machine);
  double bytes = kernel.schedule.bytesRead + kernel.schedule.bytesWritten;
  double moving = bytes / bandwidthFor(bytes, machine) + exchange(kernel.schedule, machine);
  return machine.stageSeconds + overlapped(kernel.computeSeconds, moving);
}

double predictAloneSeconds(const space::KernelShape &kernel, const machine::Machine &machine) {
  constexpr double startSeconds = 60e-9;
  if (kernel.untuned)
    return kernel.gain * predictAloneSeconds(*kernel.untuned, machine);
  double tiles = static_cast<double>(kernel.schedule.tiles());
  double computing = kernel.computeSeconds / std::ceil(tiles / machine.cores) * tiles;
  double bytes = kernel.schedule.bytesRead + kernel.schedule.bytesWritten;
  double bandwidth = machine.memory().bytesPerSecond;
  for (const machine::MemoryLevel &level : machine.levels)
    if (&level != &machine.memory() && bytes <= 0.75 * static_cast<double>(level.bytes))
      bandwidth = std::max(bandwidth, level.bytesPerSecond);
  return startSeconds + overlapped(computing, bytes / std::max(1e9, bandwidth));
}

double predictStepSeconds(const space::KernelShape &kernel, const machine::Machine &machine) {
  return kernel.schedule.tiles() == 1 ? predictAloneSeconds(kernel, machine)
                                      : predictSeconds(kernel, machine);
}

double predictLanesSeconds(llvm::ArrayRef<double> seconds, const machine::Machine &machine) {
  std::vector<double> workers(std::max(1, machine.cores), 0), left(seconds.begin(), seconds.end());
  std::sort(left.begin(), left.end(), std::greater<>());
  for (double each : left)
    *std::min_element(workers.begin(), workers.end()) += each;
  return machine.stageSeconds + *std::max_element(workers.begin(), workers.end());
}

double predictCallSeconds(double bytes, const machine::Machine &machine) {
  return machine.stageSeconds + 4 * bytes / std::max(1e9, machine.memory().bytesPerSecond);
}

} // namespace kintsugi::cost
