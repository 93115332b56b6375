//===- traffic.h - What a schedule moves, and how long a tile waits for it ---===//
//
// What a tile reads once comes from as far as the whole kernel's operands lie, which `cost` prices;
// what its nests read again, and its scratch, comes from the cache that holds all of it. So does
// what the blocks of a sum come back to when the near cache has lost it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_TRAFFIC_H
#define KINTSUGI_COST_TRAFFIC_H

#include "loops/schedule.h"
#include "machine/machine.h"

namespace kintsugi::cost {

class Traffic {
public:
  /// Of a schedule that outlives this and whose nests stay as they are.
  Traffic(const loops::Schedule &schedule, const machine::Machine &machine);

  /// Fills in operations and bytes.
  void count(loops::Schedule &into, llvm::ArrayRef<te::ValueId> constants, bool areCold) const;
  /// What all blocks' tiles read from memory buffers, each for itself, but for what products bring
  /// through rings: that is in their cycles. Where a tile does not stay near, each of its nests
  /// reads for itself, too.
  double bytesReadBesideRings(bool staysNear) const;
  /// The same, each element once for all tiles together.
  double bytesOnceBesideRings() const;
  /// Seconds that one core moves data between its caches for one tile, by nest.
  std::vector<double> movingSeconds() const;
  /// Seconds of a tile in which its nests, which take `seconds` each, and memory wait for each
  /// other: what is streamed comes and goes while one nest runs, and rests while the others do, but
  /// for what is under way from nest to nest.
  double secondsInTurns(llvm::ArrayRef<double> seconds) const;

private:
  bool liesInRuns(unsigned buffer) const;
  double secondsReadingAgain(const loops::LoopNest &nest) const;
  /// Of a tile, by buffer.
  std::vector<double> besideRings(bool staysNear) const;

  const loops::Schedule &schedule;
  const machine::Machine &machine;
  std::vector<std::vector<double>> ofRuns; ///< By nest and buffer: bytes of memory.
  std::vector<double> ofTile;              ///< By buffer, on the average where nests are shared.
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_TRAFFIC_H
