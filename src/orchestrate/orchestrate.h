//===- orchestrate.h - Choosing the kernels of a program --------------------===//
//
// Builds the space of a program, prices its candidates, has a solver choose those that cover every
// definition once at the least predicted time (Korch, section 4), and lays the choice out as a
// plan. The bodies of scans are programs of their own and are planned on their own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_ORCHESTRATE_H
#define KINTSUGI_ORCHESTRATE_ORCHESTRATE_H

#include "orchestrate/plan.h"
#include "solve/solvers.h"

#include <optional>

namespace kintsugi::orchestrate {

enum class PlanMode : uint8_t {
  Search,     ///< The solver's optimum.
  Greedy,     ///< Fused where it saves most, one step at a time.
  Separate,   ///< Each definition a kernel.
  Exhaustive, ///< The optimum by looking at all choices: for small programs, to check Search.
};

struct OrchestrateOptions {
  space::SpaceOptions space;
  /// Of the constant program, where it does not run on the same machine.
  std::optional<space::SpaceOptions> constantSpace;
  PlanMode mode = PlanMode::Search;
  bool lanes = true;           ///< Scans that don't wait for each other may run side by side.
  bool mergesLaunches = false; ///< Kernels that don't wait for each other will share launches.
  solve::SolverOptions solver;
  std::vector<te::OpenInputs> open; ///< The plan says what sizes below the greatest need.
  /// Of so many kernels that were not chosen the log is told what choosing them would cost: each
  /// takes a solution more.
  unsigned priced = 0;
  /// Told which groups kernels were chosen for, in this plan or among equal programs; may be null.
  space::GroupNames *chosen = nullptr;
  /// Told what the solver said and which kernel computes what at which cost; the space's log, too.
  explain::Log *log = nullptr;
};

/// Whether scans may run side by side: blocks of threads run in turn.
bool mayHaveLanes(const OrchestrateOptions &options);

/// The texts of intermediate boxes, filled in where asked for (--emit space, --emit problem).
struct OrchestrateTexts {
  std::string space;
  std::string problem;
};

Expected<Plan> orchestrate(const te::Program &program, const OrchestrateOptions &options,
                           OrchestrateTexts *texts = nullptr);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_ORCHESTRATE_H
