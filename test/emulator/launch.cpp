#include "launch.h"

#include "block.h"

#include <condition_variable>
#include <deque>
#include <optional>
#include <thread>

namespace kintsugi::emulator {
namespace {

/// Clusters that workers take, go on with and put back.
class Runner {
public:
  explicit Runner(Launch &launch)
      : launch(launch), width(std::max(1u, launch.program.clusterWidth)) {}

  void run() {
    unsigned clusters = launch.blocks / width;
    constexpr unsigned worthHelp = 8;
    unsigned workers = clusters < worthHelp ? 1 : launch.habits.workers;
    std::vector<std::thread> helpers;
    for (unsigned k = 1; k < workers; ++k)
      helpers.emplace_back([this] { work(); });
    work();
    for (std::thread &helper : helpers)
      helper.join();
    if (fault)
      throw *fault;
  }

private:
  void work() {
    try {
      // Each counts by itself.
      Launch own = launch;
      own.counts.assign(launch.program.names.size(), 0);
      launch.meets ? workTogether(own) : workAlone(own);
      std::lock_guard lock(mutex);
      for (size_t i = 0; i < own.counts.size(); ++i)
        launch.counts[i] += own.counts[i];
    } catch (Fault &found) {
      std::lock_guard lock(mutex);
      if (!fault)
        fault = std::move(found);
      stops = true;
    }
  }

  void workAlone(Launch &own) {
    while (!stops) {
      unsigned first = width * nextCluster++;
      if (first >= launch.blocks)
        return;
      Cluster cluster(own, first, width);
      while (!cluster.isDone() && !stops)
        goOn(cluster);
      end(cluster);
    }
  }

  /// All are under way, in turns; one host's thread is enough for the few there are.
  void workTogether(Launch &own) {
    if (nextCluster++ > 0)
      return;
    std::vector<std::unique_ptr<Cluster>> clusters;
    for (unsigned first = 0; first < launch.blocks; first += width)
      clusters.push_back(std::make_unique<Cluster>(own, first, width));
    constexpr unsigned mostIdle = 1000;
    for (unsigned idle = 0; !clusters.empty();) {
      bool allIdle = true;
      for (const auto &cluster : clusters) {
        goOn(*cluster, true);
        allIdle &= cluster->isIdle() && !cluster->isDone();
      }
      idle = allIdle ? idle + 1 : 0;
      if (idle > mostIdle)
        throw Fault{Fault::Failed, "kernel '" + launch.program.name +
                                       "': blocks wait for what no block does" +
                                       clusters.front()->blocks.front()->describe()};
      std::erase_if(clusters, [&](const auto &cluster) {
        if (cluster->isDone())
          end(*cluster);
        return cluster->isDone();
      });
    }
  }

  static void end(const Cluster &cluster) {
    for (const auto &block : cluster.blocks)
      if (block->isDone())
        block->checkEnd();
  }

  void goOn(Cluster &cluster, bool mayIdle = false) {
    bool progress = cluster.runRound();
    if (progress && (mayIdle || !cluster.isIdle() || cluster.isDone()))
      return;
    for (const auto &block : cluster.blocks)
      if (!block->isDone())
        throw Fault{Fault::Failed, "kernel '" + launch.program.name + "' block " +
                                       std::to_string(block->number) + ": no thread can go on" +
                                       block->describe()};
  }

  Launch &launch;
  const unsigned width;
  std::atomic<unsigned> nextCluster = 0;
  std::atomic<bool> stops = false;
  std::mutex mutex;
  std::optional<Fault> fault;
};

} // namespace

void run(Launch &launch) {
  launch.counts.assign(launch.program.names.size(), 0);
  Runner(launch).run();
}

} // namespace kintsugi::emulator
