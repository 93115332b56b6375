//===- agreement_test.cpp - Solvers held against each other ---------------===//
//
// Subsets by brute force judge the dynamic programming; that one judges CBC, hundreds of times.
//
//===----------------------------------------------------------------------===//

#include "solve/plan.h"
#include "synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

/// The least cost over all subsets of columns; infinite where none is a plan.
double bruteForce(const Problem &problem) {
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t set = 0; set < (1u << problem.columns.size()); ++set) {
    std::vector<ColumnId> chosen;
    std::vector<int> covered(problem.items.size());
    for (size_t i = 0; i < problem.columns.size(); ++i)
      if (set >> i & 1) {
        chosen.push_back(static_cast<ColumnId>(i));
        for (ItemId item : problem.columns[i].covers)
          ++covered[index(item)];
      }
    if (std::ranges::any_of(covered, [](int times) { return times != 1; }))
      continue;
    Execution run = execute(problem, chosen);
    if (hasRoom(problem, chosen) && run.stuck.empty() && producesOutputs(problem, run))
      best = std::min(best, totalCost(problem, chosen));
  }
  return best;
}

/// Columns take from 0 to 5, and there is room for some share of all that.
void limit(Problem &problem, uint64_t seed) {
  Random random(seed);
  double all = 0;
  for (Column &column : problem.columns)
    all += column.takes = random.below(6);
  problem.room = std::floor(all * random.real(0, 0.6));
}

Solution solved(Solver solver, const Problem &problem) {
  SolverOptions plenty;
  plenty.nodes = 1000000;
  plenty.iterations = 10000000;
  auto solution = solver(problem, plenty);
  EXPECT_TRUE(solution.ok()) << solution.error().message;
  Status status = problem.verify(*solution);
  EXPECT_TRUE(status.ok()) << status.error().message << "\n" << problem.print();
  return *solution;
}

TEST(Agreement, DynamicProgrammingWithBruteForce) {
  int feasible = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Problem problem = makeRandomProblem(seed);
    if (problem.columns.size() > 12)
      problem.columns.resize(12);
    double best = bruteForce(problem);
    Solution solution = solved(solveDynamic, problem);
    ASSERT_EQ(solution.hasPlan(), best < std::numeric_limits<double>::infinity())
        << problem.print();
    if (!solution.hasPlan())
      continue;
    ++feasible;
    ASSERT_NEAR(solution.objective, best, 1e-9 * best) << problem.print();
  }
  EXPECT_GE(feasible, 100);
}

TEST(Agreement, WhatColumnsTakeWithBruteForce) {
  int feasible = 0, dearer = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Problem problem = makeRandomProblem(seed);
    if (problem.columns.size() > 12)
      problem.columns.resize(12);
    double unlimited = bruteForce(problem);
    limit(problem, seed);
    double best = bruteForce(problem);
    Solution exact = solved(solveDynamic, problem), solution = solved(solveCbc, problem);
    ASSERT_EQ(exact.hasPlan(), best < std::numeric_limits<double>::infinity()) << problem.print();
    ASSERT_EQ(solution.status, exact.status) << problem.print();
    if (!exact.hasPlan())
      continue;
    ++feasible;
    dearer += best > unlimited;
    ASSERT_NEAR(exact.objective, best, 1e-9 * best) << problem.print();
    ASSERT_NEAR(solution.objective, best, 1e-7 * best) << problem.print();
  }
  EXPECT_GE(feasible, 60);
  EXPECT_GE(dearer, 15);
}

TEST(Agreement, CbcWithDynamicProgrammingOnRandomProblems) {
  int feasible = 0, cut = 0;
  for (uint64_t seed = 1000; seed < 2000; ++seed) {
    Problem problem = makeRandomProblem(seed);
    Solution exact = solved(solveDynamic, problem), solution = solved(solveCbc, problem);
    ASSERT_EQ(solution.status, exact.status) << problem.print();
    if (!exact.hasPlan())
      continue;
    ++feasible;
    cut += solution.cuts > 0;
    ASSERT_NEAR(solution.objective, exact.objective, 1e-7 * exact.objective) << problem.print();
    Solution greedy = solved(solveGreedy, problem);
    if (greedy.hasPlan()) {
      EXPECT_GE(greedy.objective, exact.objective * (1 - 1e-9));
      EXPECT_LE(greedy.bound, exact.objective * (1 + 1e-9));
    }
  }
  EXPECT_GE(feasible, 400);
  EXPECT_GE(cut, 50);
}

TEST(Agreement, WhatColumnsTakeOnRandomProblems) {
  int feasible = 0;
  for (uint64_t seed = 2000; seed < 2500; ++seed) {
    Problem problem = makeRandomProblem(seed);
    limit(problem, seed);
    Solution exact = solved(solveDynamic, problem), solution = solved(solveCbc, problem);
    ASSERT_EQ(solution.status, exact.status) << problem.print();
    if (!exact.hasPlan())
      continue;
    ++feasible;
    ASSERT_NEAR(solution.objective, exact.objective, 1e-7 * exact.objective) << problem.print();
    Solution greedy = solved(solveGreedy, problem);
    if (greedy.hasPlan())
      EXPECT_GE(greedy.objective, exact.objective * (1 - 1e-9));
  }
  EXPECT_GE(feasible, 150);
}

TEST(Agreement, CbcWithDynamicProgrammingOnSmallSpaces) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Problem problem = makeSyntheticSpace(
        {seed, 8 + static_cast<int>(seed % 5), 70, 1 + static_cast<int>(seed % 3), seed % 2 == 0});
    Solution exact = solved(solveDynamic, problem), solution = solved(solveCbc, problem);
    ASSERT_EQ(exact.status, SolutionStatus::Optimal);
    ASSERT_EQ(solution.status, SolutionStatus::Optimal);
    ASSERT_NEAR(solution.objective, exact.objective, 1e-7 * exact.objective) << problem.print();
    Solution greedy = solved(solveGreedy, problem), separate = solved(solveSeparate, problem);
    ASSERT_TRUE(greedy.hasPlan() && separate.hasPlan());
    EXPECT_LE(greedy.objective, separate.objective);
    EXPECT_GE(greedy.objective, exact.objective * (1 - 1e-9));
  }
}

} // namespace
