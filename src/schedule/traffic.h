//===- traffic.h - What a schedule moves, and how long a tile waits for it ---===//
//
// What a tile reads once comes from as far as the whole kernel's operands lie, which `cost` prices;
// what its nests read again, and its scratch, comes from the cache that holds all of it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_TRAFFIC_H
#define KINTSUGI_SCHEDULE_TRAFFIC_H

#include "machine/machine.h"
#include "schedule/schedule.h"

namespace kintsugi::schedule {

/// Fills in schedule.operations, bytesRead and bytesWritten.
void countTraffic(Schedule &schedule, const machine::Machine &machine);

/// What all tiles read from memory buffers, each for itself.
double bytesReadByTiles(const Schedule &schedule, const machine::Machine &machine);

/// Seconds that one core moves data between its caches for one tile.
double movingSeconds(const Schedule &schedule, const machine::Machine &machine);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_TRAFFIC_H
