//===- scale_test.cpp - Full-size spaces are solved within the fuel -------===//

#include "solve/solvers.h"
#include "synthetic.h"

#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

void expectSmallGap(const SyntheticOptions &options) {
  Problem problem = makeSyntheticSpace(options);
  auto solution = solveCbc(problem);
  ASSERT_TRUE(solution.ok()) << solution.error().message;
  Status status = problem.verify(*solution);
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_TRUE(solution->hasPlan());
  EXPECT_LE(solution->gap, 0.01);
  EXPECT_FALSE(solution->outOfFuel);
}

TEST(Scale, ThousandOperatorsEightThousandCandidates) {
  for (uint64_t seed : {1, 2}) {
    Problem problem = makeSyntheticSpace({seed, 1000, 8000, 1, false});
    EXPECT_EQ(problem.items.size(), 1000u);
    EXPECT_EQ(problem.columns.size(), 8000u);
    expectSmallGap({seed, 1000, 8000, 1, false});
  }
}

/// Cuts of long rows may err where numbers are large: whatever ends the search, no bound is above
/// what another one found.
TEST(Scale, BoundsOfSearchesThatEndEarlyHold) {
  for (uint64_t seed : {4, 5, 6}) {
    Problem problem = makeSyntheticSpace({seed, 300, 6000, 4, true});
    std::vector<Solution> found;
    for (int64_t nodes : {0, 10, 2000}) {
      SolverOptions options;
      options.nodes = nodes;
      auto solution = solveCbc(problem, options);
      ASSERT_TRUE(solution.ok() && solution->hasPlan());
      found.push_back(*solution);
    }
    for (const Solution &one : found)
      for (const Solution &other : found)
        EXPECT_LE(one.bound, other.objective * (1 + 1e-7)) << seed;
  }
}

TEST(Scale, FourFormatsAndDerivations) { expectSmallGap({3, 1000, 8000, 4, true}); }

TEST(Scale, EqualLayersAreSolvedOnce) {
  // Twelve copies of one layer, chained by a plain value: the fuel of one, not of twelve.
  Problem layer = makeSyntheticSpace({9, 40, 300, 1, true});
  auto once = solveCbc(layer);
  ASSERT_TRUE(once.ok());
  Problem chain;
  ResourceId last = chain.addResource("input", ResourceKind::Input);
  for (int copy = 0; copy < 12; ++copy) {
    std::string suffix = "#" + std::to_string(copy);
    int firstItem = static_cast<int>(chain.items.size());
    int firstResource = static_cast<int>(chain.resources.size()) - 1; // Layer resource 0 is `last`.
    for (const Item &item : layer.items)
      chain.addItem(item.name + suffix);
    for (size_t r = 1; r < layer.resources.size(); ++r) {
      ResourceId id = chain.addResource(layer.resources[r].name + suffix, layer.resources[r].kind);
      if (layer.resources[r].output)
        chain.setOutput(id);
    }
    for (Column column : layer.columns) {
      column.name += suffix;
      for (ItemId &item : column.covers)
        item += firstItem;
      for (ResourceId &resource : column.consumes)
        resource = resource == 0 ? last : resource + firstResource;
      for (ResourceId &resource : column.produces)
        resource += firstResource;
      chain.addColumn(std::move(column));
    }
    for (size_t r = 1; r < layer.resources.size(); ++r)
      if (layer.resources[r].output)
        last = static_cast<ResourceId>(r) + firstResource;
  }
  auto twelve = solveCbc(chain);
  ASSERT_TRUE(twelve.ok()) << twelve.error().message;
  ASSERT_TRUE(chain.verify(*twelve).ok());
  EXPECT_EQ(twelve->status, SolutionStatus::Optimal);
  EXPECT_NEAR(twelve->objective, 12 * once->objective, 1e-6 * twelve->objective);
  EXPECT_LE(twelve->iterations, 2 * once->iterations);
}

} // namespace
