#include "cost/block_seconds.h"

#include "cost/thread_work.h"
#include "cost/traffic.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::cost {

using namespace loops;

int coresOfClusters(unsigned blocks, int cores) { return blocks <= 2 ? cores : cores - cores / 11; }

/// What a block's nests have been counted too much: each as if the block started with it, while
/// all but the first find places, registers and instructions as the one before left them.
static double startsCounted(double nests) {
  constexpr double less = 450;
  return less * std::max(0.0, nests - 1);
}

static double startsCounted(const Schedule &schedule) {
  constexpr double nestsOfStream = 4;
  double nests = 0;
  for (const LoopNest &nest : schedule.nests)
    nests += nest.streamed ? 2 - nestsOfStream : 1;
  return startsCounted(nests);
}

/// Which share of the time that a block keeps its core busy those that share the core with it take
/// longer. Blocks that start together wait together, too; products bring their operands ahead, and
/// streamed nests know of others themselves.
static double delayOf(const Schedule &schedule) {
  double delay = 1;
  for (const LoopNest &nest : schedule.nests)
    delay = std::min(delay, nest.streamed ? 0 : nest.matrix ? 0.5 : 1);
  return delay;
}

namespace {

/// Bytes that all blocks move beside rings.
struct Moving {
  double first; ///< That tiles store, and read for the first time.
  double again; ///< That tiles read once more, and do not find near.
  double once;  ///< Each counted once, however many tiles read it.
  double stored;
  double underWay; ///< The share of tiles that are under way together.
  double blocks;
};

} // namespace

/// One core's way for all of it. What stays in the cache of all cores comes from there as fast as
/// anything else. Beyond it, memory works while blocks bring what others have brought, but what a
/// nest reads again is asked for when its block has nothing else to bring. And memory that is read
/// and stored at once changes from one to the other: the more often, the more of the cache is taken
/// by what tiles under way bring and store in many places, as lines leave it before their
/// neighbours have come. There blocks are many, and started one by one.
static double secondsMoving(const Moving &bytes, const machine::Machine &machine) {
  constexpr double mostCrowded = 0.13, starts = 0.1e-9;
  const machine::MemoryLevel &shared = machine.levels[machine.levels.size() > 1 ? 1 : 0];
  double fromMemory = bytes.once / machine.memory().bytesPerSecond;
  double room = double(shared.bytes);
  if (bytes.once <= room)
    return std::max((bytes.first + bytes.again) / shared.bytesPerSecond, fromMemory);
  double inTurns = 2 * std::min(bytes.once - bytes.stored, bytes.stored) * bytes.underWay;
  return (std::max(bytes.first / shared.bytesPerSecond, fromMemory) +
          bytes.again / shared.bytesPerSecond) *
             (1 + mostCrowded * std::min(1.0, inTurns / room)) +
         starts * bytes.blocks * machine.cores;
}

static double hertzOf(const machine::Machine &machine) {
  return machine.flopsPerSecond / (2 * machine.core.multiplyAdds);
}

/// The first blocks start while what was launched before ends; what is left of that is a launch's.
static constexpr double startsEarly = 500;

double startSeconds(const machine::Machine &machine) { return startsEarly / hertzOf(machine); }

double secondsInBlocks(const Schedule &schedule, const BlockCycles &cycles,
                       const machine::Machine &machine) {
  double threads = schedule.threads, tiles = double(schedule.tiles());
  double blocks = double(schedule.blocks());
  double scratch = double(std::max<int64_t>(1, schedule.scratchBytes));
  double together = std::min({double(machine.threads) / threads,
                              double(machine.core.registers) / (threads * schedule.registers),
                              2 * double(machine.levels.back().bytes) / scratch});
  together = std::max(1.0, std::floor(together));
  double hertz = hertzOf(machine);
  int cores = coresOfClusters(unsigned(schedule.blocks() / schedule.tiles()), machine.cores);
  double each = std::ceil(blocks / cores); // Of the busiest core.
  double busy = each * cycles.busy / hertz;
  double beside = delayOf(schedule) * (std::min(each, together) - 1) * cycles.busy;
  double own = cycles.alone - startsCounted(schedule);
  double alone = (std::ceil(each / together) * (own + beside) - startsEarly) / hertz;
  Traffic traffic(schedule, machine);
  // What a tile reads first its later nests find near, if there is room for that of all blocks.
  double near = 2 * double(machine.levels.back().bytes) - together * scratch;
  double read = traffic.bytesReadBesideRings(true);
  bool staysNear = together * read <= near * tiles;
  // What else lies in a line is not brought, but a part of one is asked for as a whole one is.
  constexpr double asked = 0.25;
  double besides = schedule.bytesWritten + asked * tiles * cycles.scattered;
  double again = staysNear ? 0 : traffic.bytesReadBesideRings(false) - read;
  double once = besides + traffic.bytesOnceBesideRings();
  double share = std::min(1.0, together * cores / blocks); // Of all blocks, those under way.
  Moving parts{besides + read, again, once, schedule.bytesWritten, share, blocks};
  double moving = secondsMoving(parts, machine) / std::min<double>(blocks, machine.cores);
  // Blocks that start together have uneven shares of the way; those that follow even them out.
  constexpr double uneven = 0.1;
  moving *= 1 + uneven * std::min(each, together) / each;
  // A block that follows another has nothing on its way at first, as others of its core have.
  constexpr double follows = 0.8e-6;
  moving += (std::ceil(each / together) - 1) * follows / (together * together);
  double computing = std::max(busy, alone);
  constexpr double apart = 0.3;
  return std::max(computing, moving) + apart * std::min(computing, moving);
}

double leastSecondsInBlocks(int64_t tiles, size_t nests, int threads, const BlockCycles &known,
                            const machine::Machine &machine) {
  double each = std::ceil(double(tiles) / machine.cores);
  double together = std::max(1.0, std::floor(double(machine.threads) / threads));
  double own = std::max(0.0, known.alone - startsCounted(double(nests)));
  double alone = std::ceil(each / together) * own - startsEarly;
  return std::max(each * known.busy, alone) / hertzOf(machine);
}

} // namespace kintsugi::cost
