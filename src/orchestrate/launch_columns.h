//===- launch_columns.h - Kernels that share a launch, as columns ------------===//
//
// What a kernel costs depends on what it shares a launch with, which a column for each kernel can't
// say. So launches that several kernels share are columns themselves, at the price of the whole
// launch (launch_sharing.h): the solver then weighs them against kernels that do the same in one.
// There are too many to list. They come from plans, the best and the greedy one: of the problem as
// it is; without kernels whose parts are as quick side by side; and where each kernel costs only
// what it adds to a launch of another like it, so that much is done apart; of whole operators
// alone, so that their borders, which launches may need, are in one. The launches that the kernels
// of these plans would share are columns. Then all is solved again, and once more while the best
// plan has launches that are not known yet.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_LAUNCH_COLUMNS_H
#define KINTSUGI_ORCHESTRATE_LAUNCH_COLUMNS_H

#include "orchestrate/launch_sharing.h"
#include "solve/solvers.h"
#include "space/space.h"

#include <map>
#include <set>

namespace kintsugi::orchestrate {

class LaunchColumns {
public:
  /// Columns of kernels that don't wait for each other, in each phase.
  using Phases = std::vector<std::vector<solve::ColumnId>>;
  using Solve = llvm::function_ref<Expected<solve::Solution>(const solve::Problem &,
                                                             llvm::ArrayRef<solve::ColumnId>)>;

  /// `options`: those of the space that the kernels are of, whose threads look for plans. Not
  /// `shares`: each kernel has a launch of its own, and no columns are added.
  LaunchColumns(const space::SpaceOptions &options, bool shares)
      : machine(options.schedule.machine), sharing(options.schedule), shares(shares),
        threads(options.threads) {}

  /// Says which kernel a column of the problem runs. Of which it is not said run none: calls,
  /// scans.
  void setKernel(solve::ColumnId column, const space::Candidate &candidate);

  /// Adds the launch that a column's parts share, which read nothing of each other, where it pays.
  void addParts(solve::Problem &problem, solve::ColumnId column,
                llvm::ArrayRef<solve::ColumnId> parts);

  /// The best plan found by `solve`, which is given a problem and a plan to start from, on several
  /// threads. Adds columns to the problem.
  Expected<solve::Solution> solve(solve::Problem &problem, llvm::ArrayRef<solve::ColumnId> start,
                                  Solve solve);

  /// Those of a problem of which each column is one of this problem's, by number.
  LaunchColumns within(llvm::ArrayRef<solve::ColumnId> columns) const;

  /// A plan of that problem as one of this, which gets its launches.
  std::vector<solve::ColumnId> take(solve::Problem &problem, const LaunchColumns &within,
                                    llvm::ArrayRef<solve::ColumnId> columns,
                                    llvm::ArrayRef<solve::ColumnId> plan);

  /// What a column runs: itself where it is no launch of several.
  Phases phasesOf(solve::ColumnId column) const;
  std::vector<solve::ColumnId> kernelsOf(llvm::ArrayRef<solve::ColumnId> columns) const;
  /// Whether a column is a kernel or a launch of several.
  bool runs(solve::ColumnId column) const;
  /// What is predicted of a column that is a launch of several or of which setKernel has told.
  double secondsOf(solve::ColumnId column) const;

private:
  struct Kernel {
    const loops::KernelShape *kernel;
    size_t operands;
    double seconds;
    bool canShare;
    bool keepsOperators;
  };
  struct Runs { ///< Neighbours in a plan, between what can share no launch.
    std::vector<solve::ColumnId> columns;
    std::vector<KernelRun> kernels;
  };
  struct Shared {
    Launch launch;
    std::vector<solve::ColumnId> columns; ///< By run.
  };

  std::vector<std::vector<solve::ColumnId>>
  plansForLaunches(const solve::Problem &problem, const std::vector<solve::ColumnId> &known,
                   Solve solve) const;
  bool addLaunches(solve::Problem &problem, llvm::ArrayRef<solve::ColumnId> plan);
  std::pair<solve::ColumnId, bool> addLaunch(solve::Problem &problem, Launch launch,
                                             std::vector<solve::ColumnId> columns);
  static std::set<solve::ColumnId> kernelsOf(const Shared &shared);
  std::map<unsigned, Runs> runsOf(const solve::Problem &problem,
                                  llvm::ArrayRef<solve::ColumnId> plan) const;
  solve::Problem asIfShared(const solve::Problem &problem) const;
  solve::Problem without(const solve::Problem &problem,
                         const std::set<solve::ColumnId> &some) const;
  std::vector<solve::ColumnId> withLaunches(const solve::Problem &problem,
                                            llvm::ArrayRef<solve::ColumnId> plan) const;

  const machine::Machine &machine;
  LaunchSharing sharing;
  bool shares;
  unsigned threads;
  std::map<solve::ColumnId, Kernel> kernels;
  std::map<solve::ColumnId, Shared> launches;
  std::map<std::set<solve::ColumnId>, solve::ColumnId> known; ///< Launches, by their kernels.
  std::set<solve::ColumnId> needless; ///< Kernels whose parts are as quick in one launch.
};

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_LAUNCH_COLUMNS_H
