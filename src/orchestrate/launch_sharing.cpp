#include "orchestrate/launch_sharing.h"

#include "cost/cost.h"
#include "cost/margins.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

namespace {

/// Parameters of a launch are few, and each is an operand: half of their 4096 bytes, of which the
/// last few are not operands'.
constexpr size_t mostOperands = 248;

class Sharer {
public:
  Sharer(llvm::ArrayRef<KernelRun> runs, const loops::BlockLimits &limits,
         const machine::Machine &machine)
      : runs(runs), limits(limits), machine(machine) {}

  std::vector<Launch> launches() const {
    std::vector<LaunchPhase> phases = grouped();
    std::vector<size_t> begins = beginsOf(phases);
    std::vector<Launch> result;
    for (size_t number = 0; number < begins.size(); ++number) {
      size_t end = number + 1 < begins.size() ? begins[number + 1] : phases.size();
      result.push_back(
          launchOf(llvm::ArrayRef(phases).slice(begins[number], end - begins[number])));
    }
    return result;
  }

private:
  LaunchPhase extended(const LaunchPhase &phase, unsigned run) const {
    LaunchPhase result = phase;
    result.runs.push_back(run);
    result.apart += runs[run].seconds;
    result.together = result.runs.size() == 1
                          ? result.apart
                          : cost::predictTogetherSeconds(kernelsOf(result), machine);
    return result;
  }

  bool pays(const LaunchPhase &phase, unsigned run, const LaunchPhase &with) const {
    return operandsOf(with) <= mostOperands && haveRoom(with) &&
           with.together < phase.together + runs[run].seconds - leastSaving();
  }

  double leastSaving() const { return cost::Margins().mergedLaunches * machine.stageSeconds; }

  /// Phases that follow each other: in the order of their levels where some are shared, otherwise
  /// as the runs were.
  std::vector<LaunchPhase> grouped() const {
    std::vector<std::vector<LaunchPhase>> byLevel;
    for (auto [number, run] : llvm::enumerate(runs)) {
      byLevel.resize(std::max<size_t>(byLevel.size(), run.level + 1));
      addTo(byLevel[run.level], number);
    }
    bool any = llvm::any_of(byLevel, [](const std::vector<LaunchPhase> &phases) {
      return llvm::any_of(phases, [](const LaunchPhase &phase) { return phase.runs.size() > 1; });
    });
    std::vector<LaunchPhase> all;
    if (!any)
      for (unsigned run = 0; run < runs.size(); ++run)
        all.push_back(extended({}, run));
    else
      for (std::vector<LaunchPhase> &phases : byLevel)
        llvm::move(phases, std::back_inserter(all));
    return all;
  }

  void addTo(std::vector<LaunchPhase> &phases, unsigned run) const {
    for (LaunchPhase &phase : phases) {
      LaunchPhase with = extended(phase, run);
      if (!pays(phase, run, with))
        continue;
      phase = std::move(with);
      return;
    }
    phases.push_back(extended({}, run));
  }

  cost::Phase kernelsOf(const LaunchPhase &phase) const {
    cost::Phase kernels;
    for (unsigned run : phase.runs)
      kernels.push_back(runs[run].kernel);
    return kernels;
  }

  /// Whether a block has the registers and the shared memory that any of the kernels take.
  bool haveRoom(llvm::ArrayRef<LaunchPhase> phases) const {
    llvm::SmallVector<const loops::KernelShape *> kernels;
    for (const LaunchPhase &phase : phases)
      kernels.append(kernelsOf(phase));
    loops::BlockMemory memory;
    for (const loops::KernelShape *kernel : kernels)
      memory.add(loops::memoryOf(kernel->schedule, machine.core.subgroup));
    return cost::mayShareLaunch(kernels) && memory.isWithin(limits);
  }

  /// Where each launch of a row of phases begins, so that all take the least time together.
  std::vector<size_t> beginsOf(llvm::ArrayRef<LaunchPhase> phases) const {
    constexpr size_t mostPhases = 16;
    std::vector<cost::Phase> kernels;
    llvm::transform(phases, std::back_inserter(kernels),
                    [&](const LaunchPhase &phase) { return kernelsOf(phase); });
    std::vector<double> best(phases.size() + 1, 0);
    std::vector<size_t> begins(phases.size() + 1, 0);
    for (size_t end = 1; end <= phases.size(); ++end) {
      begins[end] = end - 1;
      best[end] = best[end - 1] + phases[end - 1].together;
      if (machine.barrierSeconds == 0)
        continue;
      size_t operands = operandsOf(phases[end - 1]);
      for (size_t begin = end - 1; begin-- > 0 && end - begin <= mostPhases;) {
        operands += operandsOf(phases[begin]);
        if (operands > mostOperands || !haveRoom(phases.slice(begin, end - begin)))
          break;
        double seconds =
            best[begin] + leastSaving() +
            cost::predictPhasesSeconds(llvm::ArrayRef(kernels).slice(begin, end - begin), machine);
        if (seconds >= best[end])
          continue;
        best[end] = seconds;
        begins[end] = begin;
      }
    }
    std::vector<size_t> launches;
    for (size_t end = phases.size(); end > 0; end = begins[end])
      launches.insert(launches.begin(), begins[end]);
    return launches;
  }

  Launch launchOf(llvm::ArrayRef<LaunchPhase> phases) const {
    Launch launch;
    llvm::SmallVector<cost::Phase> kernels;
    for (const LaunchPhase &phase : phases) {
      launch.phases.push_back(phase);
      launch.apart += phase.apart;
      launch.inTurn += phase.together;
      kernels.push_back(kernelsOf(phase));
    }
    launch.seconds =
        phases.size() == 1 ? launch.inTurn : cost::predictPhasesSeconds(kernels, machine);
    return launch;
  }

  size_t operandsOf(const LaunchPhase &phase) const {
    size_t operands = 0;
    for (unsigned run : phase.runs)
      operands += runs[run].operands;
    return operands;
  }

  llvm::ArrayRef<KernelRun> runs;
  const loops::BlockLimits &limits;
  const machine::Machine &machine;
};

} // namespace

size_t Launch::numRuns() const {
  size_t count = 0;
  for (const LaunchPhase &phase : phases)
    count += phase.runs.size();
  return count;
}

LaunchSharing::LaunchSharing(const search::ScheduleOptions &options) : machine(options.machine) {
  limits.scratchBytes = options.scratchLimit;
  limits.ringBytes = options.ringLimit;
}

bool LaunchSharing::canShare(const loops::KernelShape &kernel) const {
  // Whole subgroups work, or none of one does.
  const loops::Schedule &schedule = kernel.schedule;
  return schedule.threads > 0 && schedule.threads % machine.core.subgroup == 0 &&
         schedule.tiles() > 0 && schedule.blocks() == schedule.tiles();
}

std::vector<Launch> LaunchSharing::launchesOf(llvm::ArrayRef<KernelRun> runs) const {
  return Sharer(runs, limits, machine).launches();
}

} // namespace kintsugi::orchestrate
