//===- block_cycles.h - What a block of threads takes ----------------------===//
//
// Blocks of threads share the cores that they run on: what one of them takes is counted apart, of
// the units that it keeps busy and of the time from its start to its end.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_BLOCK_CYCLES_H
#define KINTSUGI_COST_BLOCK_CYCLES_H

namespace kintsugi::cost {

/// What a block takes for a nest, or for all of them.
struct BlockCycles {
  double busy = 0;      ///< Of a core's units: blocks of one core add up.
  double alone = 0;     ///< From start to end for a block that has a core to itself.
  double scattered = 0; ///< Bytes that lie in lines with those that warps ask memory for together.

  BlockCycles &operator+=(const BlockCycles &other);

  /// What is to be small where it is not known how many blocks a core has.
  double cost() const { return alone + 0.5 * busy + scattered / 100; }
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_BLOCK_CYCLES_H
