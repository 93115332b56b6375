//===- forced_test.cpp - Prices of columns that were not taken --------------===//

#include "solve/forced.h"
#include "synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

/// The cheapest plan that has a column, by looking at all.
double cheapestWith(const Problem &problem, ColumnId column) {
  Problem excluding = problem;
  auto covers = [&](const Column &other, ItemId item) {
    return std::ranges::find(other.covers, item) != other.covers.end();
  };
  const Column &forced = problem.columns[static_cast<size_t>(column)];
  std::erase_if(excluding.columns, [&](const Column &other) {
    return other.name != forced.name &&
           std::ranges::any_of(forced.covers, [&](ItemId item) { return covers(other, item); });
  });
  auto solution = solveDynamic(excluding, {.nodes = 1000000, .iterations = 10000000});
  EXPECT_TRUE(solution.ok() && !solution->outOfFuel);
  return solution->hasPlan() ? solution->objective : std::numeric_limits<double>::infinity();
}

/// Of each column that covers something.
void checkPrices(const Problem &problem) {
  auto least = leastCosts(problem, 1000000);
  ASSERT_TRUE(least.ok());
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    if (problem.columns[i].covers.empty())
      continue;
    ColumnId column = static_cast<ColumnId>(i);
    double expected = cheapestWith(problem, column);
    EXPECT_LE((*least)[i], expected * (1 + 1e-7));
    auto found = solveForced(problem, column, *least);
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->hasPlan(), std::isfinite(expected));
    if (!found->hasPlan())
      continue;
    EXPECT_EQ(found->status, SolutionStatus::Optimal);
    EXPECT_NEAR(found->objective, expected, 1e-7 * expected);
    EXPECT_TRUE(std::ranges::count(found->columns, column));
    Status holds = problem.verify(*found);
    EXPECT_TRUE(holds.ok()) << holds.error().message;
  }
}

TEST(Forced, PricesAreThoseOfTheCheapestPlansWithAColumn) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    checkPrices(makeRandomProblem(seed));
  }
}

TEST(Forced, PricesOfSpaces) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    checkPrices(makeSyntheticSpace(
        {.seed = seed, .operators = 12, .candidates = 60, .formats = 2, .derivations = true}));
  }
}

TEST(Forced, WithoutFuelNothingIsProven) {
  Problem problem = makeSyntheticSpace({.seed = 1, .operators = 40, .candidates = 300});
  auto none = leastCosts(problem, 0);
  ASSERT_TRUE(none.ok());
  EXPECT_LE(*std::ranges::max_element(*none), 0);
  auto least = leastCosts(problem, 1000000);
  auto best = solveCbc(problem);
  ASSERT_TRUE(least.ok() && best.ok());
  ColumnId other = 0;
  while (std::ranges::count(best->columns, other) ||
         problem.columns[static_cast<size_t>(other)].covers.empty())
    ++other;
  auto found = solveForced(problem, other, *least, {.nodes = 0, .iterations = 0});
  ASSERT_TRUE(found.ok());
  EXPECT_NE(found->status, SolutionStatus::Optimal);
}

} // namespace
