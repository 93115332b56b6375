//===- wave_scans.h - Equal scans of a chain as one scan over waves ---------===//
//
// Neighbouring scans of a chain (scan_chain.h) whose cells are equal, such as the layers of a deep
// recurrent network, are the lanes of one scan. In wave w lane l does its step w - l: what the lane
// before it gave out at that step was computed in the wave before. So all lanes' cells are one
// definition each, with a dimension of lanes over stacked states and weights, and products between
// the scans are part of the wave. A lane whose step is none of its own keeps its state.
//
// Where a loop's step is a launch, a chain of L scans of T steps takes T + L - 1 waves in place of
// L * T steps.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_WAVE_SCANS_H
#define KINTSUGI_DERIVE_WAVE_SCANS_H

#include "derive/merge_scans.h"
#include "simplify/rebuild.h"

#include <map>
#include <set>

namespace kintsugi::derive {

/// What the lanes have in one place, as values of the program that the scans are in: one for each
/// lane, or a single one that they share.
using Lanes = llvm::SmallVector<te::ValueId>;

struct WaveScan {
  std::shared_ptr<const te::Program> body;
  std::vector<Lanes> initial; ///< Of each carried tensor; empty where the first values are zeros.
  std::vector<Lanes> captured;
  /// What stacks a lane's result, by the result's number and the lane's, where it is read outside.
  struct Stack {
    unsigned output; ///< Of the body.
    bool isOfAll;    ///< Of all lanes in one.
  };
  std::map<std::pair<unsigned, unsigned>, Stack> stacked;
  /// Nodes of the program that it stands for: the scans and what only they read between them.
  std::set<uint32_t> replaced;
};

/// The merged scans as waves; nothing where their cells or the products between them differ. What
/// some lanes give out is stacked for all of them, which is no work of its own, up to so many
/// bytes.
std::optional<WaveScan> waveOf(const te::Program &program, const MergedScans &merged,
                               double mostStackBytes = 64 << 20);

/// Adds the scan and what stands for the results of those that it replaces.
void addWave(simplify::Rebuilder &out, const MergedScans &merged, const WaveScan &wave);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_WAVE_SCANS_H
