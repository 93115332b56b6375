//===- stream_cycles.h - The cycles of attention in one pass ---------------===//
//
// What a block of threads takes for attention on matrix units whose scores and powers never leave
// registers (loops/softmax_nests.h), as FlashAttention has it: cycles of both products, of the
// exponentials between them, bytes of keys and values through scratch and from far, and what the
// block waits.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_STREAM_CYCLES_H
#define KINTSUGI_COST_STREAM_CYCLES_H

#include "cost/block_cycles.h"
#include "loops/block_memory.h"
#include "loops/softmax_nests.h"

namespace kintsugi::cost {

class StreamCycles {
public:
  /// Of four nests, found to be attention; all outlive this.
  StreamCycles(llvm::ArrayRef<loops::LoopNest> nests, const loops::SoftmaxNests &found,
               const loops::Schedule &schedule, const loops::BlockLimits &limits);

  /// With tiles of the scores' product and of the weighted values'. `skips`: blocks of keys that a
  /// mask hides are left out.
  BlockCycles of(const loops::MatrixTile &scores, const loops::MatrixTile &weighted,
                 bool skips) const;

private:
  /// A block of keys.
  struct Step {
    double brought; ///< Bytes of keys and values,
    double moved;   ///< and all that come through scratch.
    double onUnits; ///< Cycles that both products keep the matrix units busy.
    double ofWarp;  ///< Instructions of a warp, without those that stage what is no plain copy.
    double staging; ///< Those, of a thread.
    double powers;  ///< Elements to which e is raised.
  };
  Step stepOf(const loops::MatrixTile &scores, const loops::MatrixTile &weighted) const;
  double busyIn(const Step &step, const loops::MatrixTile &scores) const;

  const double keys, depth;          ///< Of scores: columns and terms.
  const double operations;           ///< On each score before its power is taken.
  const double keysMove, valuesMove; ///< Instructions of a thread for a chunk, beyond a copy.
  const int threads;
  const bool fillsCores; ///< There are more tiles than cores.
  const machine::BlockCore &core;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_STREAM_CYCLES_H
