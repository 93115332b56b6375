//===- binary_program.h - A 0/1 program, and who solves it ----------------===//
//
// The one place where an outside solver is spoken to: a bare binary linear program in, a choice and
// a bound out. Another solver replaces CBC by one more function of this signature.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_BINARY_PROGRAM_H
#define KINTSUGI_SOLVE_BINARY_PROGRAM_H

#include "solve/rows.h"

namespace kintsugi::solve {

/// Least sum of costs over 0/1 columns under rows; rows name columns by position in `costs`.
struct BinaryProgram {
  std::vector<double> costs;
  std::vector<Row> rows;
};

struct BinaryLimits {
  int64_t nodes = 0;
  int64_t iterations = 0;
  double relativeGap = 0;
  /// A good solution will do: the search may end, incomplete, before anything that takes long.
  bool isDraft = false;
  bool startIsDraft = false; ///< No better one is near it.
};

struct BinaryResult {
  bool infeasible = false;      ///< Proven.
  bool found = false;           ///< `chosen` holds a solution.
  bool complete = false;        ///< The search ended by itself: optimal within the gap.
  std::vector<ColumnId> chosen; ///< Ascending.
  double bound = 0;             ///< No solution costs less.
  int64_t nodes = 0;
  int64_t iterations = 0;
};

/// CBC 2.10, silent and single-threaded: same program and limits, same result. `start`, where not
/// empty, is a solution to begin from. Fails only where CBC itself does (kind Internal).
Expected<BinaryResult> solveBinaryCbc(const BinaryProgram &program, const BinaryLimits &limits,
                                      const std::vector<ColumnId> &start);

/// By column: no solution that has it costs less. From the relaxation; 0 for all where that is not
/// solved within so many iterations. Fails as solveBinaryCbc().
Expected<std::vector<double>> leastCostsCbc(const BinaryProgram &program, int64_t iterations);

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_BINARY_PROGRAM_H
