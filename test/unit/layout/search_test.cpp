// The search over labels, without programs.

#include "layout/search.h"

#include "../te/random_program.h"

#include <gtest/gtest.h>
#include <limits>

namespace kintsugi::layout {
namespace {

/// A chain of two-label variables whose neighbours pay 1 when they differ; factor k < size is the
/// liking of variable k for label 1.
FactorGraph chain(std::vector<double> likings) {
  FactorGraph graph;
  unsigned size = likings.size();
  graph.variables = size;
  for (unsigned k = 0; k < size; ++k)
    graph.factors.push_back({k});
  for (unsigned k = 0; k + 1 < size; ++k)
    graph.factors.push_back({k, k + 1});
  graph.cost = [likings, size](unsigned factor, const Labelling &labels) {
    if (factor < size)
      return labels[factor] ? 2 - likings[factor] : 2.0;
    return labels[factor - size] == labels[factor - size + 1] ? 0.0 : 1.0;
  };
  return graph;
}

TEST(Search, SingleFlipsEndWhereOnlyARunHelps) {
  FactorGraph graph = chain({0, 0.9, 0.9, 0.9, 0});
  std::vector<Labelling> start = {{0, 0, 0, 0, 0}};
  std::vector<Move> singles = {{{1, 1}}, {{2, 1}}, {{3, 1}}};
  EXPECT_EQ(search(graph, start, singles, 1000).labelling, start[0]);
  std::vector<Move> runs = singles;
  runs.push_back({{1, 1}, {2, 1}, {3, 1}});
  SearchResult result = search(graph, start, runs, 1000);
  EXPECT_EQ(result.labelling, (Labelling{0, 1, 1, 1, 0}));
  EXPECT_DOUBLE_EQ(result.cost, 10 - 2.7 + 2);
  EXPECT_DOUBLE_EQ(result.cost, costOf(graph, result.labelling));
}

TEST(Search, TheBetterStartWins) {
  FactorGraph graph = chain({0.9, 0.9, 0.9});
  std::vector<Labelling> starts = {{0, 0, 0}, {1, 1, 1}};
  EXPECT_EQ(search(graph, starts, {}, 1000).labelling, starts[1]);
  std::swap(starts[0], starts[1]);
  EXPECT_EQ(search(graph, starts, {}, 1000).labelling, starts[0]);
}

TEST(Search, FuelEndsItWithWhatItHas) {
  FactorGraph graph = chain({3, 3, 3});
  std::vector<Labelling> start = {{0, 0, 0}};
  std::vector<Move> singles = {{{0, 1}}, {{1, 1}}, {{2, 1}}};
  EXPECT_EQ(search(graph, start, singles, 0).labelling, start[0]);
  EXPECT_EQ(search(graph, start, singles, 1).labelling, (Labelling{1, 0, 0}));
  EXPECT_EQ(search(graph, start, singles, 100).labelling, (Labelling{1, 1, 1}));
}

TEST(Search, WhatIsForbiddenIsNotChosen) {
  FactorGraph graph = chain({3, 3, 3});
  auto cost = graph.cost;
  graph.cost = [cost](unsigned factor, const Labelling &labels) {
    return factor == 1 && labels[1] ? std::numeric_limits<double>::infinity()
                                    : cost(factor, labels);
  };
  std::vector<Labelling> starts = {{0, 0, 0}, {1, 1, 1}};
  std::vector<Move> singles = {{{0, 1}}, {{1, 1}}, {{2, 1}}};
  EXPECT_EQ(search(graph, starts, singles, 100).labelling, (Labelling{1, 0, 1}));
}

TEST(Search, RandomGraphsEndInALocalOptimumNoWorseThanTheStarts) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    te::Chance chance(seed);
    FactorGraph graph;
    graph.variables = 8;
    std::vector<std::vector<double>> tables;
    for (unsigned factor = 0; factor < 12; ++factor) {
      graph.factors.push_back({static_cast<unsigned>(chance.between(0, 3)),
                               static_cast<unsigned>(chance.between(4, 7))});
      tables.emplace_back();
      for (unsigned entry = 0; entry < 9; ++entry)
        tables.back().push_back(static_cast<double>(chance.between(0, 100)));
    }
    graph.cost = [&](unsigned factor, const Labelling &labels) {
      const auto &scope = graph.factors[factor];
      return tables[factor][3 * labels[scope[0]] + labels[scope[1]]];
    };
    std::vector<Move> moves;
    for (unsigned variable = 0; variable < 8; ++variable)
      for (unsigned label = 0; label < 3; ++label)
        moves.push_back({{variable, label}});
    std::vector<Labelling> starts = {Labelling(8, 0), Labelling(8, 1)};
    SearchResult result = search(graph, starts, moves, 10000);
    EXPECT_DOUBLE_EQ(result.cost, costOf(graph, result.labelling));
    EXPECT_LE(result.cost, std::min(costOf(graph, starts[0]), costOf(graph, starts[1])));
    for (const Move &move : moves) {
      Labelling moved = result.labelling;
      moved[move[0].variable] = move[0].label;
      EXPECT_GE(costOf(graph, moved), result.cost);
    }
  }
}

} // namespace
} // namespace kintsugi::layout
