//===- tile_seconds.h - The time of workers' tiles --------------------------===//
//
// What all tiles of a schedule take on a machine whose workers have vectors, from the cycles of one
// tile's nests.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_TILE_SECONDS_H
#define KINTSUGI_COST_TILE_SECONDS_H

#include "cost/traffic.h"

namespace kintsugi::cost {

/// The rate of the cycles counted here, in each of which a core starts two multiply-adds of whole
/// vectors.
double cyclesPerSecond(const machine::Machine &machine);

/// At the least, where everything that moves is there in time.
double leastSecondsInTiles(int64_t tiles, llvm::ArrayRef<double> cycles,
                           const machine::Machine &machine);

/// Of the busiest worker, but for what comes from as far as the kernel's operands lie. `cycles`: of
/// a tile, by nest, on the average of the tiles.
double secondsInTiles(const loops::Schedule &schedule, const Traffic &traffic,
                      llvm::ArrayRef<double> cycles, const machine::Machine &machine);

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_TILE_SECONDS_H
