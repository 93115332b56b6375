// What a group costs as a kernel of its own follows from its key, is found once, and has its end
// where fuel has.

#include "search/price_list.h"

#include "../te/testing.h"
#include "cost/cost.h"
#include "te/constant_nodes.h"

namespace kintsugi::search {
namespace {

using te::parsed;
using te::Program;

ScheduleOptions optionsFor(const char *level) {
  ScheduleOptions options;
  options.machine = *machine::Machine::forLevel(level);
  return options;
}

/// Three sums, of which the first two differ in names alone.
Program sums() {
  return parsed("input x[i:64, j:512] f32\n"
                "input y[i:64, j:512] f32\n"
                "a[i:64] f32 = sum<f32>[j:512] x[i, j]\n"
                "b[n:64] f32 = sum<f32>[k:512] y[n, k]\n"
                "c[i:64] f32 = sum<f32>[j:512] x[i, j] * y[i, j]\n"
                "output a\n"
                "output b\n"
                "output c\n");
}

loops::Group groupOf(const Program &program, uint32_t node) {
  return kernelGroup(program, te::constantNodes(program), {node}, {program.resultsOf(node)[0]});
}

TEST(PriceList, EqualGroupsAreScheduledOnce) {
  for (const char *level : {"x86-64-v3", "sm_90a"}) {
    Program program = sums();
    PriceList prices(optionsFor(level));
    PriceList::Kernel a = prices.kernelOf(program, groupOf(program, 0));
    ASSERT_TRUE(a);
    EXPECT_EQ(prices.kernelOf(program, groupOf(program, 1)), a);
    EXPECT_EQ(prices.size(), 1u);
    EXPECT_NE(prices.kernelOf(program, groupOf(program, 2)), a);
    EXPECT_EQ(prices.size(), 2u);
  }
}

TEST(PriceList, ListsThatShareAMemoSpendTheSameFuel) {
  PriceMemo memo;
  for (unsigned list = 0; list < 2; ++list) {
    Program program = sums();
    PriceList prices(optionsFor("x86-64-v4"), 1, &memo);
    EXPECT_TRUE(prices.kernelOf(program, groupOf(program, 0)));
    EXPECT_FALSE(prices.kernelOf(program, groupOf(program, 2)));
    EXPECT_TRUE(prices.ranOut());
    EXPECT_EQ(memo.size(), 1u);
  }
  Program program = sums();
  PriceList shared(optionsFor("x86-64-v4"), 2, &memo), own(optionsFor("x86-64-v4"));
  for (uint32_t node : {0u, 2u})
    EXPECT_EQ(shared.secondsOf(program, groupOf(program, node)),
              own.secondsOf(program, groupOf(program, node)));
}

TEST(PriceList, SecondsAreThoseOfTheKernel) {
  Program program = sums();
  PriceList prices(optionsFor("x86-64-v4"));
  std::vector<bool> constant = te::constantNodes(program);
  for (uint32_t node : {0u, 2u}) {
    double seconds = prices.secondsOf(program, constant, node);
    EXPECT_EQ(seconds, cost::predictSeconds(*prices.kernelOf(program, groupOf(program, node)),
                                            prices.machine()));
    EXPECT_EQ(seconds, PriceList(optionsFor("x86-64-v4")).secondsOf(program, constant, node));
  }
}

TEST(PriceList, WhatNoFuelIsLeftForHasNoPrice) {
  Program program = sums();
  PriceList prices(optionsFor("x86-64-v3"), 1);
  std::vector<bool> constant = te::constantNodes(program);
  explain::Log log;
  EXPECT_TRUE(std::isfinite(prices.secondsOf(program, constant, 0)));
  EXPECT_TRUE(std::isfinite(prices.secondsOf(program, constant, 1))); // The same.
  prices.tell(&log, "derive", "sums");
  EXPECT_TRUE(log.records().empty());
  EXPECT_FALSE(prices.ranOut());
  EXPECT_TRUE(std::isinf(prices.secondsOf(program, constant, 2)));
  EXPECT_TRUE(prices.ranOut());
  EXPECT_EQ(prices.size(), 1u);
  prices.tell(&log, "derive", "sums");
  ASSERT_EQ(log.records().size(), 1u);
  EXPECT_EQ(log.records()[0].phase, "derive");
  EXPECT_EQ(log.records()[0].subject, "sums");
}

TEST(PriceList, GroupsNameTheirConstantsOnce) {
  Program program = parsed("input x[i:4] f32\n"
                           "const w[4] f32 = weights(\"w\")\n"
                           "v[i:4] f32 = w[i] + 1\n"
                           "y[i:4] f32 = x[i] * v[i] + w[i]\n"
                           "z[i:4] f32 = y[i] * v[i]\n"
                           "output z\n");
  loops::Group group =
      kernelGroup(program, te::constantNodes(program), {1, 2}, {program.resultsOf(2)[0]});
  ASSERT_EQ(group.constants.size(), 2u);
  EXPECT_EQ(program.value(group.constants[0]).name, "v");
  EXPECT_EQ(program.value(group.constants[1]).name, "w");
}

} // namespace
} // namespace kintsugi::search
