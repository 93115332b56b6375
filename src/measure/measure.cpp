#include "measure/measure.h"

#include "machine/probes.h"
#include "measure/trials.h"
#include "runtime/host_memory.h"
#include "runtime/workers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

namespace kintsugi::measure {

using machine::MeasuredLevel;
using machine::MeasuredMemory;
using machine::Measurement;
using machine::MemoryLevel;

namespace {

/// To three digits: more are noise. An error for what could not be measured: nothing of a machine
/// is 0 or infinite.
Expected<double> known(double value) {
  if (value <= 0 || !std::isfinite(value))
    return machineError("something else keeps the cores busy; measure when the machine is quiet");
  double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

/// The outermost cache; memory itself where there is none.
const MemoryLevel &lastCache(const machine::Machine &machine) {
  return machine.levels[machine.levels.size() > 1 ? 1 : 0];
}

/// Bytes that each core reads over and over, so that they come from that level: more than the next
/// level inwards holds, and little enough for all cores that share an instance.
uint64_t regionIn(const machine::Machine &machine, const MemoryLevel &level) {
  constexpr uint64_t unit = 1 << 12, least = uint64_t(64) << 20;
  static_assert(unit % (2 * machine::probeBlock) == 0);
  uint64_t bytes;
  if (&level == &machine.memory()) {
    // Several times what the caches hold, over all cores.
    const MemoryLevel &last = lastCache(machine);
    bytes = std::min(std::max(least, 4 * uint64_t(last.bytes) / uint64_t(last.sharedBy)),
                     uint64_t(level.bytes) / 4 / uint64_t(machine.cores));
  } else if (&level == &machine.levels.back()) {
    bytes = uint64_t(level.bytes) / 2;
  } else {
    uint64_t inside = uint64_t((&level + 1)->bytes);
    bytes = std::max(2 * inside, uint64_t(level.bytes) / uint64_t(2 * level.sharedBy));
  }
  return std::max(unit, bytes / unit * unit);
}

class Meter {
public:
  static Expected<std::unique_ptr<Meter>> create(const machine::Machine &machine) {
    auto meter = std::make_unique<Meter>();
    meter->cores = meter->workers.grow(machine.cores);
    for (const MemoryLevel &level : machine.levels)
      meter->bytesOfCore = std::max(meter->bytesOfCore, regionIn(machine, level));
    KINTSUGI_ASSIGN(meter->memory,
                    runtime::HostMemory::allocate(meter->bytesOfCore * meter->cores));
    // What was never written to are pages of zeros, all the same one.
    meter->onCores(meter->cores, [&](uint32_t core) {
      std::ranges::fill(meter->regionOf(core, meter->bytesOfCore), std::byte(1));
    });
    return meter;
  }

  Expected<MeasuredLevel> measureLevel(const machine::Machine &machine);
  double stageSeconds();
  double wakeSeconds(); ///< The median: how deep a core sleeps varies.

private:
  using Work = std::function<void(uint32_t)>;

  /// `work` with each number below `count`, on a core each. Whether they had those cores all the
  /// time that it took.
  bool onCores(uint32_t count, const Work &work);

  /// So many stages, with tiles that are long enough for every worker to get some. Whether they
  /// did.
  bool runStages(uint32_t count, uint64_t stages);

  std::span<std::byte> regionOf(uint32_t core, uint64_t bytes) {
    return memory.bytes().subspan(core * bytesOfCore, bytes);
  }

  /// Bytes a second that `probe` moves on so many cores, each in a region of its own.
  template <typename Probe>
  double memoryRate(Probe probe, machine::Level level, uint32_t count, uint64_t bytes);

  /// Of each core.
  double flopsRate(double (*probe)(machine::Level, uint64_t), machine::Level level,
                   uint32_t count) {
    constexpr uint64_t steps = 1 << 14;
    return probe(level, steps) * bestRate([&](uint64_t times) {
             return onCores(count, [&](uint32_t) { probe(level, steps * times); });
           });
  }

  /// What a stage of runStages() takes besides its tiles, given what it takes.
  double overhead(double seconds) {
    double alone = 1 / bestRate([&](uint64_t stages) { return runStages(1, stages); });
    return std::max(5e-8, seconds - alone / cores);
  }

  static constexpr uint32_t tilesOfCore = 4; ///< In a stage of runStages().

  runtime::Workers workers;
  uint32_t cores = 1;
  uint64_t bytesOfCore = 0; ///< Of `memory`, for each core.
  runtime::HostMemory memory;
};

bool Meter::onCores(uint32_t count, const Work &work) {
  constexpr double share = 0.95;
  struct Task {
    const Work &work;
    std::vector<double> seconds; ///< Of processor time.
  } task{work, std::vector<double>(count)};
  double taken = secondsOf([&] {
    workers.run(
        count, count,
        [](void *argument, uint32_t, uint64_t begin, uint64_t end) {
          auto &task = *static_cast<Task *>(argument);
          for (; begin != end; ++begin) {
            double before = threadSeconds();
            task.work(uint32_t(begin));
            task.seconds[begin] = threadSeconds() - before;
          }
        },
        &task);
  });
  return std::accumulate(task.seconds.begin(), task.seconds.end(), 0.0) >= share * count * taken;
}

bool Meter::runStages(uint32_t count, uint64_t stages) {
  std::vector<uint64_t> taken(count);
  for (uint64_t stage = 0; stage != stages; ++stage)
    workers.run(
        count, uint64_t(cores) * tilesOfCore,
        [](void *taken, uint32_t worker, uint64_t begin, uint64_t end) {
          static_cast<uint64_t *>(taken)[worker] += end - begin;
          for (; begin != end; ++begin)
            machine::probeMultiplyAdds32(machine::Level::V1, 1 << 8);
        },
        taken.data());
  return std::ranges::min(taken) >= stages;
}

template <typename Probe>
double Meter::memoryRate(Probe probe, machine::Level level, uint32_t count, uint64_t bytes) {
  constexpr uint64_t largestTrial = uint64_t(16) << 20;
  if (bytes <= largestTrial)
    return double(bytes) * count * bestRate([&](uint64_t passes) {
             return onCores(count,
                            [&](uint32_t core) { probe(level, regionOf(core, bytes), passes); });
           });
  // A part in each trial: when it comes to be read again, all others went through the caches.
  uint64_t next = 0;
  double seconds = leastSeconds([&] {
    bool counts = onCores(count, [&](uint32_t core) {
      probe(level, regionOf(core, bytes).subspan(next, largestTrial), 1);
    });
    next = next + 2 * largestTrial <= bytes ? next + largestTrial : 0;
    return counts;
  });
  return double(largestTrial) * count / seconds;
}

Expected<MeasuredLevel> Meter::measureLevel(const machine::Machine &machine) {
  machine::Level level = *machine::levelOf(machine.level);
  MeasuredLevel result;
  result.level = machine.level;
  KINTSUGI_ASSIGN(result.flopsOne, known(flopsRate(machine::probeMultiplyAdds32, level, 1)));
  KINTSUGI_ASSIGN(result.flopsAll, known(flopsRate(machine::probeMultiplyAdds32, level, cores)));
  KINTSUGI_ASSIGN(result.flopsOneF64, known(flopsRate(machine::probeMultiplyAdds64, level, 1)));
  for (const MemoryLevel &at : machine.levels) {
    uint64_t each = regionIn(machine, at), one = each;
    // A core alone has the last cache to itself.
    if (&at == &machine.memory())
      one = std::min(each * lastCache(machine).sharedBy, memory.bytes().size());
    MeasuredMemory found{at.name};
    KINTSUGI_ASSIGN(found.readOne, known(memoryRate(machine::probeRead, level, 1, one)));
    KINTSUGI_ASSIGN(found.readAll, known(memoryRate(machine::probeRead, level, cores, each)));
    KINTSUGI_ASSIGN(found.copyOne, known(memoryRate(machine::probeCopy, level, 1, one)));
    KINTSUGI_ASSIGN(found.copyAll, known(memoryRate(machine::probeCopy, level, cores, each)));
    result.memory.push_back(std::move(found));
  }
  return result;
}

double Meter::stageSeconds() {
  return overhead(1 / bestRate([&](uint64_t stages) { return runStages(cores, stages); }));
}

double Meter::wakeSeconds() {
  constexpr int sleeps = 101;
  constexpr std::chrono::milliseconds untilAsleep{1};
  std::vector<double> seconds;
  for (int i = 0; i < sleeps; ++i) {
    std::this_thread::sleep_for(untilAsleep);
    seconds.push_back(secondsOf([&] { runStages(cores, 1); }));
  }
  std::nth_element(seconds.begin(), seconds.begin() + sleeps / 2, seconds.end());
  return overhead(seconds[sleeps / 2]);
}

} // namespace

Expected<Measurement> measure(const std::vector<machine::Machine> &machines) {
  KINTSUGI_ASSIGN(std::unique_ptr<Meter> meter, Meter::create(machines.front()));
  Measurement result;
  for (const machine::Machine &machine : machines) {
    KINTSUGI_ASSIGN(MeasuredLevel level, meter->measureLevel(machine));
    result.levels.push_back(std::move(level));
  }
  KINTSUGI_ASSIGN(result.stageSeconds, known(meter->stageSeconds()));
  KINTSUGI_ASSIGN(result.wakeSeconds, known(meter->wakeSeconds()));
  return result;
}

} // namespace kintsugi::measure
