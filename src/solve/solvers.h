//===- solvers.h - Solutions, and the solvers behind one signature --------===//
//
// Every solver is a free function from a Problem and plain options to a Solution, so the caller can
// swap them and a test can hold one against another. None prints, none measures time: fuel is
// counted in nodes and iterations, so the same problem and options give the same solution.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_SOLVERS_H
#define KINTSUGI_SOLVE_SOLVERS_H

#include "solve/problem.h"

namespace kintsugi::solve {

enum class SolutionStatus {
  Optimal,    ///< Proven: gap is 0.
  Feasible,   ///< A plan, with the gap that is left.
  Infeasible, ///< Proven to have no plan.
  Unknown,    ///< No plan was found, and none was ruled out.
};

/// "optimal", "feasible", "infeasible" or "unknown".
const char *statusName(SolutionStatus status);

struct Solution {
  SolutionStatus status = SolutionStatus::Unknown;
  std::vector<ColumnId> columns; ///< Chosen, in an order in which they can run.
  double objective = 0;          ///< Total cost of the chosen columns.
  double bound = 0;              ///< No plan costs less.
  double gap = 0;                ///< (objective - bound) / objective; 0 where objective is 0.
  int64_t iterations = 0;        ///< Simplex iterations, or states generated.
  int64_t nodes = 0;             ///< Branch-and-bound nodes, or states expanded.
  int64_t cuts = 0;              ///< Rows added lazily against plans that cannot run.
  bool outOfFuel = false;
  std::string reason; ///< Why there is no plan, where that is known.

  bool hasPlan() const {
    return status == SolutionStatus::Optimal || status == SolutionStatus::Feasible;
  }
};

struct SolverOptions {
  int64_t nodes = 2000;        ///< Fuel over all parts and rounds.
  int64_t iterations = 500000; ///< Likewise.
  double relativeGap = 0;      ///< Good enough: stop at this gap.
  /// The columns of a plan to start from, in any order; where there are none solveCbc starts from
  /// the greedy one. Other solvers don't look at it.
  std::vector<ColumnId> start;
};

using Solver = Expected<Solution> (*)(const Problem &, const SolverOptions &);

/// Binary linear program through CBC, over independent parts, with lazy cuts against cycles.
Expected<Solution> solveCbc(const Problem &problem, const SolverOptions &options = {});

/// Dynamic programming over the states between columns (what is covered, what is available), best
/// first. Exact; its states grow with the width of the problem: for narrow or small ones.
Expected<Solution> solveDynamic(const Problem &problem, const SolverOptions &options = {});

/// Starts from the separate plan and takes columns by cost saved. Its bound is what each item costs
/// at the least. Unknown where the separate plan does not exist.
Expected<Solution> solveGreedy(const Problem &problem, const SolverOptions &options = {});

/// Each item, as soon as what it consumes is there, by the column that covers it alone and is
/// cheapest with the optional columns it needs.
Expected<Solution> solveSeparate(const Problem &problem, const SolverOptions &options = {});

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_SOLVERS_H
