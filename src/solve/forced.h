//===- forced.h - What it costs to take a column that was not taken ---------===//
//
// Why a plan is as it is: each column that it does not have has a price, by which the best plan
// with it costs more than the best one. The relaxation gives a bound for every column at once; the
// price itself takes a solution of the problem without what the column excludes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_FORCED_H
#define KINTSUGI_SOLVE_FORCED_H

#include "solve/solvers.h"

namespace kintsugi::solve {

/// By column: no plan that has it costs less. From the relaxation's reduced costs; infinite for
/// columns that can run in no plan, 0 for all where `iterations` don't suffice.
Expected<std::vector<double>> leastCosts(const Problem &problem, int64_t iterations);

/// The best plan with a column, which has to cover something: each item is covered once, so what
/// covers any of the same is excluded. `least`: of leastCosts(); columns dearer than the plan that
/// is found need not be looked at.
Expected<Solution> solveForced(const Problem &problem, ColumnId column,
                               const std::vector<double> &least, const SolverOptions &options = {});

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_FORCED_H
