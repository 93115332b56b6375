#include "cost/cost.h"

#include "cost/block_seconds.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kintsugi::cost {

/// One core's bandwidth or all cores' to the level that holds `bytes`: intermediate results of
/// neighbouring kernels stay in the innermost level that they fit in.
static double bandwidthFor(double bytes, const machine::Machine &machine, bool allCores) {
  const double usable = machine.threads > 0 ? 0.75 : 0.9;
  auto rateOf = [&](const machine::MemoryLevel &level) {
    return allCores ? level.bytesPerSecondAll : level.bytesPerSecond;
  };
  double bandwidth = rateOf(machine.memory());
  for (const machine::MemoryLevel &level : machine.levels) {
    int instances = allCores ? machine.instancesOf(level) : 1;
    if (&level != &machine.memory() && bytes <= usable * double(level.bytes) * instances)
      bandwidth = std::max(bandwidth, rateOf(level));
  }
  return std::max(1e9, bandwidth);
}

/// Bytes a second that come to one core from others: of runs of memory, and lines one by one.
constexpr double inRuns = 20e9, oneByOne = 6e9;

/// Of what cores work on together, the share that some other core had.
static double ofOthers(const machine::Machine &machine) {
  return double(machine.cores - 1) / std::max(1, machine.cores);
}

/// What a kernel stores, some core has read since: each line is first taken from it. Of what lies
/// in no runs other cores have all but their share, be it before or after: lines come one by one.
static double exchange(const loops::Schedule &schedule, const machine::Machine &machine) {
  if (machine.cores < 2)
    return 0;
  return (schedule.bytesWritten / inRuns + ofOthers(machine) * schedule.bytesExchanged / oneByOne) /
         machine.cores;
}

/// The same of a kernel of one tile, beside kernels that all cores work on: what it exchanges lies
/// in runs then.
static double exchangeOfOne(const loops::Schedule &schedule, const machine::Machine &machine) {
  return ofOthers(machine) * schedule.bytesExchanged / inRuns;
}

double overlapped(double a, double b) { return std::max(a, b) + 0.15 * std::min(a, b); }

/// What blocks of threads compute and move has its way from memory in it, where it is not brought
/// through rings.
static double withMemory(double computing, double moving, const machine::Machine &machine) {
  constexpr double apart = 0.1;
  return machine.threads > 0 ? std::max(computing, moving) + apart * std::min(computing, moving)
                             : overlapped(computing, moving);
}

/// What is read and stored, on one core or all: cold constants come from memory, all else from
/// where it stayed.
static double secondsMoving(const loops::Schedule &schedule, const machine::Machine &machine,
                            bool allCores) {
  double cold = schedule.bytesCold, warm = schedule.bytesRead + schedule.bytesWritten - cold;
  const machine::MemoryLevel &memory = machine.memory();
  return warm / bandwidthFor(warm, machine, allCores) +
         cold / std::max(1e9, allCores ? memory.bytesPerSecondAll : memory.bytesPerSecond);
}

static double estimatedAloneSeconds(const loops::KernelShape &kernel,
                                    const machine::Machine &machine) {
  constexpr double startSeconds = 60e-9;
  if (kernel.untuned)
    return kernel.gain * estimatedAloneSeconds(*kernel.untuned, machine);
  double tiles = static_cast<double>(kernel.schedule.tiles());
  double computing = kernel.computeSeconds / std::ceil(tiles / machine.cores) * tiles;
  return startSeconds + overlapped(computing, secondsMoving(kernel.schedule, machine, false));
}

/// By the machine description alone.
static double estimatedSeconds(const loops::KernelShape &kernel, const machine::Machine &machine) {
  if (kernel.untuned)
    return kernel.gain * estimatedSeconds(*kernel.untuned, machine);
  if (machine.threads == 0 && kernel.schedule.tiles() == 1) // No worker waits for another.
    return estimatedAloneSeconds(kernel, machine) + exchangeOfOne(kernel.schedule, machine);
  double moving =
      secondsMoving(kernel.schedule, machine, true) + exchange(kernel.schedule, machine);
  return machine.stageSeconds + withMemory(kernel.computeSeconds, moving, machine);
}

double predictSeconds(const loops::KernelShape &kernel, const machine::Machine &machine) {
  return kernel.measuredSeconds > 0 ? kernel.measuredSeconds
                                    : kernel.bias * estimatedSeconds(kernel, machine);
}

double movingSeconds(const loops::KernelShape &kernel, const machine::Machine &machine) {
  double bytes = kernel.schedule.bytesRead + kernel.schedule.bytesWritten;
  return bytes / std::max(1e9, machine.memory().bytesPerSecondAll);
}

double roughSeconds(const loops::KernelShape &kernel, const machine::Machine &machine) {
  if (kernel.untuned)
    return kernel.gain * roughSeconds(*kernel.untuned, machine);
  return roughSharedSeconds(kernel, 1, machine);
}

double roughSharedSeconds(const loops::KernelShape &kernel, double cores,
                          const machine::Machine &machine) {
  return machine.stageSeconds + kernel.computeSeconds / cores + movingSeconds(kernel, machine);
}

bool areCold(double bytes, const machine::Machine &machine) {
  // Halves of a GPU's cache keep copies of what the other one has.
  double kept = machine.threads > 0 ? 0.5 : 0.9;
  return llvm::none_of(machine.levels, [&](const machine::MemoryLevel &level) {
    return &level != &machine.memory() && bytes < kept * double(level.bytes);
  });
}

double roomForConstants(double bytes) {
  constexpr double mostGrowth = 2, littleBytes = 128 << 20;
  return std::max(littleBytes, mostGrowth * bytes);
}

double predictAloneSeconds(const loops::KernelShape &kernel, const machine::Machine &machine) {
  double measured = predictSeconds(kernel, machine) / estimatedSeconds(kernel, machine);
  return measured * estimatedAloneSeconds(kernel, machine);
}

double predictStepSeconds(const loops::KernelShape &kernel, const machine::Machine &machine) {
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

/// Of so many threads, with so many registers, and bytes of scratch, on one core.
static double blocksAtOnce(int64_t threads, int64_t registers, int64_t scratch,
                           const machine::Machine &machine) {
  const int64_t most = machine.core.blocks;
  int64_t byThreads = machine.threads / std::max<int64_t>(1, threads);
  int64_t byRegisters = machine.core.registers / std::max<int64_t>(1, threads * registers);
  int64_t byScratch = scratch ? machine.levels.back().bytes / scratch : most;
  return double(std::clamp<int64_t>(std::min({byThreads, byRegisters, byScratch}), 1, most));
}

/// Blocks of a launch that are under way at once: each takes what the largest kernel takes.
static double roomFor(llvm::ArrayRef<const loops::KernelShape *> kernels,
                      const machine::Machine &machine) {
  int64_t threads = 1, registers = 0, scratch = 0;
  for (const loops::KernelShape *kernel : kernels) {
    threads = std::max<int64_t>(threads, kernel->schedule.threads);
    registers = std::max<int64_t>(registers, kernel->schedule.registers);
    scratch = std::max<int64_t>(scratch, kernel->schedule.scratchBytes);
  }
  return machine.cores * blocksAtOnce(threads, registers, scratch, machine);
}

bool mayShareLaunch(llvm::ArrayRef<const loops::KernelShape *> kernels) {
  constexpr int enoughFor = 256;
  int least = std::numeric_limits<int>::max(), most = 0;
  for (const loops::KernelShape *kernel : kernels) {
    least = std::min(least, kernel->schedule.threads);
    most = std::max(most, kernel->schedule.threads);
  }
  return most <= enoughFor || least == most;
}

double predictTogetherSeconds(llvm::ArrayRef<const loops::KernelShape *> kernels,
                              const machine::Machine &machine) {
  if (kernels.size() == 1)
    return predictSeconds(*kernels.front(), machine);
  double room = roomFor(kernels, machine), longest = 0, all = 0, inTurn = 0, waves = 0, bytes = 0;
  double firstWaves = 0;
  for (const loops::KernelShape *kernel : kernels) {
    const loops::Schedule &schedule = kernel->schedule;
    double tiles = double(schedule.tiles()), own = roomFor(kernel, machine);
    double seconds = std::max(0.0, predictSeconds(*kernel, machine) - machine.stageSeconds);
    seconds *= std::ceil(tiles / room) / std::ceil(tiles / own);
    longest = std::max(longest, seconds); // Those that fill the machine take turns.
    all += seconds * std::min(1.0, tiles / room);
    inTurn += seconds;
    waves += tiles / room;
    firstWaves += std::min(1.0, tiles / room);
    bytes += schedule.bytesRead + schedule.bytesWritten;
  }
  // However few blocks each has, memory gives no more.
  double moving = std::min(inTurn, bytes / bandwidthFor(bytes, machine, true));
  // The last wave takes as long as a full one, however few blocks are left for it.
  double inWaves = std::min(inTurn, all * std::ceil(waves) / std::max(waves, 1e-9));
  // Of each kernel's first blocks only those of the launch start while another launch ends.
  inWaves += (std::ceil(firstWaves) - 1) * startSeconds(machine);
  return machine.stageSeconds + std::max({longest, inWaves, moving});
}

double predictPhasesSeconds(llvm::ArrayRef<Phase> phases, const machine::Machine &machine) {
  llvm::SmallVector<const loops::KernelShape *> all;
  for (const Phase &phase : phases)
    all.append(phase.begin(), phase.end());
  double room = roomFor(all, machine);
  double seconds = machine.stageSeconds + machine.barrierSeconds * double(phases.size() - 1);
  for (const Phase &phase : phases) {
    double tiles = 0;
    for (const loops::KernelShape *kernel : phase)
      tiles += double(kernel->schedule.tiles());
    double turns = std::ceil(tiles / room) / std::ceil(tiles / roomFor(phase, machine));
    seconds += turns * (predictTogetherSeconds(phase, machine) - machine.stageSeconds);
  }
  return seconds;
}

double predictCallSeconds(double bytes, const machine::Machine &machine) {
  return machine.stageSeconds + 4 * bytes / std::max(1e9, machine.memory().bytesPerSecond);
}

double predictSteps(int64_t most) {
  constexpr int64_t few = 16;
  return double(std::min(most, few)) / 2;
}

double predictDecisionSeconds(const machine::Machine &machine) {
  // The host waits for a device until all that is under way is done, and starts it anew: measured
  // on an H200.
  constexpr double waiting = 15e-6;
  return machine.threads > 0 ? waiting : machine.stageSeconds / 2;
}

double predictLaunchesSeconds(size_t launches, double bytes, const machine::Machine &machine) {
  return static_cast<double>(launches) * machine.stageSeconds +
         bytes / std::max(1e9, machine.memory().bytesPerSecondAll);
}

} // namespace kintsugi::cost
