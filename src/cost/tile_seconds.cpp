#include "cost/tile_seconds.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::cost {

double cyclesPerSecond(const machine::Machine &machine) {
  double lanes = std::max(1, machine.vectorBits / 32);
  return std::max(1e9, machine.flopsPerSecond / (4 * lanes));
}

/// Of a tile, to start it and its nests.
static double secondsOfStart(size_t nests) { return 10e-9 + 5e-9 * double(nests); }

static double rounds(int64_t tiles, const machine::Machine &machine) {
  return std::ceil(double(tiles) / machine.cores);
}

double leastSecondsInTiles(int64_t tiles, llvm::ArrayRef<double> cycles,
                           const machine::Machine &machine) {
  double arithmetic = std::accumulate(cycles.begin(), cycles.end(), 0.0) / cyclesPerSecond(machine);
  return rounds(tiles, machine) * (secondsOfStart(cycles.size()) + arithmetic);
}

double secondsInTiles(const loops::Schedule &schedule, const Traffic &traffic,
                      llvm::ArrayRef<double> cycles, const machine::Machine &machine) {
  double rate = cyclesPerSecond(machine);
  // Loads run ahead of their nest's arithmetic, but not perfectly where one takes half a line.
  constexpr int line = 512;
  const double apart = machine.vectorBits >= line ? 0.1 : 0.3;
  llvm::SmallVector<double> seconds;
  for (auto [each, moving] : llvm::zip_equal(cycles, traffic.movingSeconds())) {
    double arithmetic = each / rate;
    seconds.push_back(std::max(arithmetic, moving) + apart * std::min(arithmetic, moving));
  }
  double tile = secondsOfStart(schedule.nests.size()) +
                std::accumulate(seconds.begin(), seconds.end(), 0.0) +
                traffic.secondsInTurns(seconds);
  return rounds(schedule.tiles(), machine) * tile;
}

} // namespace kintsugi::cost
