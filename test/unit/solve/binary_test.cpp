// Binary programs by way of few of their columns have the optimum of all of them.

#include "solve/components.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

constexpr int items = 24;

/// Sets of three items each, and each item alone at a higher price; every item in exactly one set.
BinaryProgram partitioning(uint64_t seed, size_t sets) {
  std::mt19937_64 random(seed);
  BinaryProgram program;
  program.rows.assign(items, Row{{}, {}, 1, 1});
  auto add = [&](double cost, const std::set<int> &members) {
    for (int item : members)
      program.rows[size_t(item)].plus.push_back(ColumnId(program.costs.size()));
    program.costs.push_back(cost);
  };
  for (int item = 0; item < items; ++item)
    add(40, {item});
  while (program.costs.size() < items + sets) {
    std::set<int> members;
    while (members.size() < 3)
      members.insert(int(random() % items));
    add(5 + double(random() % 1000) / 100, members);
  }
  return program;
}

std::vector<ColumnId> eachAlone() {
  std::vector<ColumnId> ids;
  for (int item = 0; item < items; ++item)
    ids.push_back(item);
  return ids;
}

double costOf(const BinaryProgram &program, const std::vector<ColumnId> &chosen) {
  double total = 0;
  for (ColumnId id : chosen)
    total += program.costs[index(id)];
  return total;
}

BinaryResult solved(const BinaryProgram &program, const std::vector<ColumnId> &start,
                    bool isDraft = false) {
  BinaryLimits limits{100000, 10000000, 0, isDraft};
  auto result = solveBinaryCbc(program, limits, start);
  EXPECT_TRUE(result.ok());
  if (!result.ok())
    return {};
  std::vector<int> covered(items);
  for (size_t row = 0; row < program.rows.size(); ++row)
    for (ColumnId id : result->chosen)
      covered[row] += std::ranges::count(program.rows[row].plus, id);
  EXPECT_EQ(covered, std::vector<int>(items, 1));
  EXPECT_LE(result->bound, costOf(program, result->chosen) * (1 + 1e-9));
  return *result;
}

TEST(BinaryPrograms, HaveTheSameOptimumFromAStart) {
  unsigned branched = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    BinaryProgram program = partitioning(seed, 600);
    BinaryResult all = solved(program, {}), few = solved(program, eachAlone());
    ASSERT_TRUE(all.complete && few.complete);
    EXPECT_NEAR(costOf(program, few.chosen), costOf(program, all.chosen), 1e-6);
    EXPECT_NEAR(few.bound, all.bound, 1e-6);
    branched += few.nodes > 0;
  }
  EXPECT_GT(branched, 0u) << "none needed more than its relaxation";
}

TEST(BinaryPrograms, ADraftIsASolutionWithAValidBound) {
  unsigned incomplete = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    BinaryProgram program = partitioning(seed, 600);
    BinaryResult draft = solved(program, eachAlone(), true);
    double optimum = costOf(program, solved(program, {}).chosen);
    EXPECT_LE(draft.bound, optimum * (1 + 1e-9));
    EXPECT_GE(costOf(program, draft.chosen), optimum * (1 - 1e-9));
    EXPECT_LE(costOf(program, draft.chosen), 40.0 * items);
    incomplete += !draft.complete;
  }
  EXPECT_GT(incomplete, 0u) << "none was a draft";
}

TEST(BinaryPrograms, WithoutSomeColumnsAreThoseOfTheOthers) {
  BinaryProgram program{{1, 2, 3}, {Row{{0, 2}, {1}, 0, 1}, Row{{1}, {}, 1, 1}}};
  Component part = restrictedTo(program, {true, false, true});
  EXPECT_EQ(part.columns, (std::vector<ColumnId>{0, 2}));
  EXPECT_EQ(part.program.costs, (std::vector<double>{1, 3}));
  ASSERT_EQ(part.program.rows.size(), 2u);
  EXPECT_EQ(part.program.rows[0].plus, (std::vector<ColumnId>{0, 1}));
  EXPECT_TRUE(part.program.rows[0].minus.empty() && part.program.rows[1].plus.empty());
  EXPECT_EQ(part.program.rows[1].lower, 1);
}

} // namespace
