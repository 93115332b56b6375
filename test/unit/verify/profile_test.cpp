//===- profile_test.cpp - Where the time of runs goes -----------------------===//

#include "verify/profile.h"
#include "verify/trace_events.h"

#include <gtest/gtest.h>

#include <set>

namespace kintsugi::verify {
namespace {

using runtime::Manifest;
using runtime::Stage;
using runtime::StageSpan;

Stage stage(std::string symbol, std::vector<std::string> nodes, std::vector<uint64_t> operations) {
  Stage stage;
  stage.symbol = std::move(symbol);
  stage.nodes = std::move(nodes);
  stage.operations = std::move(operations);
  return stage;
}

Manifest manifest() {
  Manifest result;
  result.modelName = "model";
  result.target = "cpu";
  result.stages = {stage("k0", {"conv", "relu"}, {900, 100}), stage("k1", {"copy", "relu"}, {}),
                   stage("k2", {}, {})};
  return result;
}

/// Stage 0 twice, stage 1 once.
std::vector<StageSpan> run(int64_t first, int64_t second) {
  return {{0, 0, 10, first}, {0, 0, 2000, first}, {1, 1, 5000, second}};
}

TEST(Profile, TakesMediansOverRuns) {
  Profile profile = summarize({run(400, 100), run(500, 900), run(600, 100)}, 3);
  EXPECT_EQ(profile.runs, 3u);
  EXPECT_DOUBLE_EQ(profile.stages[0].seconds, 1000e-9);
  EXPECT_EQ(profile.stages[0].launches, 2u);
  EXPECT_DOUBLE_EQ(profile.stages[1].seconds, 100e-9);
  EXPECT_DOUBLE_EQ(profile.stages[2].seconds, 0);
  EXPECT_EQ(profile.stages[2].launches, 0u);
  EXPECT_DOUBLE_EQ(profile.seconds, 1100e-9);
  ASSERT_EQ(profile.shown.size(), 3u); // Sums are 900, 1900 and 1300.
  EXPECT_EQ(profile.shown[0].nanoseconds, 600);
}

TEST(Profile, NothingIsKnownWithoutRuns) {
  Profile profile = summarize({}, 2);
  EXPECT_EQ(profile.stages.size(), 2u);
  EXPECT_TRUE(profile.shown.empty());
}

TEST(Profile, NodesShareAStageByItsArithmetic) {
  Manifest m = manifest();
  EXPECT_EQ(sharesOfNodes(m.stages[0]), (std::vector<double>{0.9, 0.1}));
  EXPECT_EQ(sharesOfNodes(m.stages[1]), (std::vector<double>{0.5, 0.5}));
  m.stages[1].operations = {0, 0};
  EXPECT_EQ(sharesOfNodes(m.stages[1]), (std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(sharesOfNodes(m.stages[2]).empty());
  std::vector<NodeProfile> nodes = profileOfNodes(m, summarize({run(500, 2000)}, 3));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].node, "relu");
  EXPECT_NEAR(nodes[0].seconds, 1100e-9, 1e-15);
  EXPECT_EQ(nodes[0].stages, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(nodes[1].node, "copy");
  EXPECT_EQ(nodes[2].node, "conv");
  EXPECT_NEAR(nodes[2].seconds, 900e-9, 1e-15);
}

TEST(TraceEvents, ASliceForEachLaunchAndItsNodesInside) {
  Json trace = traceEvents(manifest(), run(1000, 301));
  std::vector<Json> slices;
  std::set<std::string> tracks;
  for (const Json &event : trace["traceEvents"]) {
    if (event["ph"] == "M")
      tracks.insert(event["args"]["name"].get<std::string>());
    else
      slices.push_back(event);
  }
  EXPECT_EQ(tracks, (std::set<std::string>{"model (cpu)", "lane 0", "lane 1"}));
  ASSERT_EQ(slices.size(), 9u);
  EXPECT_EQ(slices[0]["name"], "k0 conv and 1 more");
  EXPECT_EQ(slices[0]["ts"], 0.01);
  EXPECT_EQ(slices[0]["dur"], 1.0);
  EXPECT_EQ(slices[0]["args"]["operations"], 1000);
  EXPECT_EQ(slices[1]["name"], "conv");
  EXPECT_EQ(slices[1]["cat"], "node");
  EXPECT_EQ(slices[1]["dur"], 0.9);
  EXPECT_EQ(slices[2]["name"], "relu");
  EXPECT_EQ(slices[6]["tid"], 2);
  for (size_t i : {0, 3, 6}) {
    double begin = slices[i]["ts"], end = begin + slices[i]["dur"].get<double>(), at = begin;
    for (size_t node : {i + 1, i + 2}) {
      EXPECT_EQ(slices[node]["tid"], slices[i]["tid"]);
      EXPECT_NEAR(slices[node]["ts"].get<double>(), at, 1e-9);
      at = slices[node]["ts"].get<double>() + slices[node]["dur"].get<double>();
    }
    EXPECT_LE(at, end + 1e-9);
  }
}

TEST(TraceEvents, AStageWithoutNodesIsItsSymbol) {
  std::vector<StageSpan> spans = {{2, 0, 0, 5}};
  Json trace = traceEvents(manifest(), spans);
  EXPECT_EQ(trace["traceEvents"].back()["name"], "k2");
  EXPECT_EQ(trace["traceEvents"].size(), 3u);
}

} // namespace
} // namespace kintsugi::verify
