// Problems for the solver: what is read prints as a text that reads as the same problem, and what a
// solver with little fuel says of it holds.

#include "solve/problem.h"
#include "fuzz.h"
#include "solve/solvers.h"

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto problem = solve::parseProblem(fuzz::textOf(data, size), "fuzzed");
  if (!problem.ok()) {
    fuzz::requireUserError(problem.error());
    return 0;
  }
  auto again = solve::parseProblem(problem->print(), "printed");
  fuzz::require(again.ok() && *again == *problem,
                "a problem is another once it was printed and read");
  solve::SolverOptions options;
  options.nodes = 50;
  options.iterations = 2000;
  for (solve::Solver solver : {solve::solveGreedy, solve::solveDynamic}) {
    auto solution = solver(*problem, options);
    fuzz::require(solution.ok(), "a solver fails on a problem that passes check()");
    if (solution->hasPlan())
      fuzz::require(problem->verify(*solution).ok(), "a solution does not hold");
  }
  return 0;
}
