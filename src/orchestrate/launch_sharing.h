//===- launch_sharing.h - Which kernels share a launch ----------------------===//
//
// For machines whose cores run blocks of threads, where each kernel is a launch. Kernels that don't
// wait for each other become one launch, whose blocks are the tiles of all of them, where the cost
// model says that this is quicker: small ones then run at the same time, and large ones start and
// end once. Such groups that follow each other share a launch as well, in which all blocks wait for
// each other in between, where that costs less than launches do (Souffle's partitioning).
//
// It stands apart since two ask: the choice of kernels, where what shares a launch is a column
// (launch_columns.h), and the plan, in which they are joined (joins.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_LAUNCH_SHARING_H
#define KINTSUGI_ORCHESTRATE_LAUNCH_SHARING_H

#include "loops/block_memory.h"
#include "loops/kernel.h"
#include "search/scheduler.h"

namespace kintsugi::orchestrate {

/// A kernel that runs once, among others.
struct KernelRun {
  const loops::KernelShape *kernel;
  size_t operands;
  double seconds; ///< Predicted, in a launch of its own.
  unsigned level; ///< How many runs have to be over one after the other before it starts.
};

/// Runs that don't wait for each other, by number.
struct LaunchPhase {
  llvm::SmallVector<unsigned> runs;
  double apart = 0, together = 0; ///< Predicted seconds, each in a launch, and all in one.
};

struct Launch {
  std::vector<LaunchPhase> phases; ///< Whose blocks wait for each other.
  double apart = 0;                ///< Predicted seconds of all runs, each in a launch,
  double inTurn = 0;               ///< of the phases, each in a launch,
  double seconds = 0;              ///< and of this launch.

  size_t numRuns() const;
};

class LaunchSharing {
public:
  /// `options`: those that the kernels were scheduled with.
  explicit LaunchSharing(const search::ScheduleOptions &options);

  /// Whether a kernel's blocks can be some of a launch's.
  bool canShare(const loops::KernelShape &kernel) const;

  /// The launches of runs that can share some: in the order of their levels where any is shared,
  /// otherwise in the order of the runs.
  std::vector<Launch> launchesOf(llvm::ArrayRef<KernelRun> runs) const;

private:
  const machine::Machine &machine;
  loops::BlockLimits limits;
};

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_LAUNCH_SHARING_H
