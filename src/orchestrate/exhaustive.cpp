#include "orchestrate/exhaustive.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

namespace {

constexpr int64_t mostStates = 100000;
constexpr int64_t mostSteps = 4000000; ///< From one state to another.

Expected<solve::Solution> solvedToTheEnd(const solve::Problem &problem) {
  solve::SolverOptions options;
  options.nodes = mostStates;
  options.iterations = mostSteps;
  KINTSUGI_ASSIGN(solve::Solution solution, solve::solveDynamic(problem, options));
  if (solution.outOfFuel)
    return usageError("--plan exhaustive: program '" + problem.name + "' has more than " +
                      std::to_string(mostStates) +
                      " sets of kernels to look at; it is for small programs, use search");
  return solution;
}

} // namespace

Expected<solve::Solution> solveExhaustively(const solve::Problem &problem) {
  return solvedToTheEnd(problem);
}

Expected<solve::Solution> cheapestWayToOutputs(const solve::Problem &problem) {
  solve::Problem free;
  free.name = problem.name;
  free.room = problem.room;
  free.resources = problem.resources;
  for (solve::Resource &resource : free.resources)
    if (resource.kind != solve::ResourceKind::Input)
      resource.kind = solve::ResourceKind::Derived;
  std::vector<solve::ColumnId> making; ///< The columns that make anything.
  for (auto [id, column] : llvm::enumerate(problem.columns)) {
    if (column.produces.empty())
      continue;
    solve::Column its = column;
    its.covers.clear();
    free.addColumn(std::move(its));
    making.push_back(solve::ColumnId(id));
  }
  KINTSUGI_ASSIGN(solve::Solution solution, solvedToTheEnd(free));
  for (solve::ColumnId &id : solution.columns)
    id = making[id];
  return solution;
}

} // namespace kintsugi::orchestrate
