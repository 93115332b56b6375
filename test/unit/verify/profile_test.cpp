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
  Profile profile = summarize({run(400, 100), run(500, 900), run(600, 100)}, manifest());
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
  Profile profile = summarize({}, manifest());
  EXPECT_EQ(profile.stages.size(), 3u);
  EXPECT_TRUE(profile.shown.empty());
}

TEST(Profile, NodesShareAStageByItsArithmetic) {
  Manifest m = manifest();
  EXPECT_EQ(sharesOfNodes(m.stages[0]), (std::vector<double>{0.9, 0.1}));
  EXPECT_EQ(sharesOfNodes(m.stages[1]), (std::vector<double>{0.5, 0.5}));
  m.stages[1].operations = {0, 0};
  EXPECT_EQ(sharesOfNodes(m.stages[1]), (std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(sharesOfNodes(m.stages[2]).empty());
  std::vector<NodeProfile> nodes = profileOfNodes(m, summarize({run(500, 2000)}, m));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].node, "relu");
  EXPECT_NEAR(nodes[0].seconds, 1100e-9, 1e-15);
  EXPECT_EQ(nodes[0].stages, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(nodes[1].node, "copy");
  EXPECT_EQ(nodes[2].node, "conv");
  EXPECT_NEAR(nodes[2].seconds, 900e-9, 1e-15);
}

/// Two kernels side by side, a node of both among theirs, and one that is predicted to take as
/// long.
Manifest sharedLaunch() {
  Manifest result;
  result.modelName = "model";
  result.target = "cuda";
  Stage launch = stage("j0", {"conv", "relu", "pool"}, {900, 600, 0});
  launch.parts = {{"k0", {"conv", "relu"}, {900, 100}, 1e-6, 64},
                  {"k1", {"relu"}, {500}, 1e-6, 32},
                  {"k2", {"pool"}, {}, 2e-6, 16}};
  result.stages = {launch, stage("k3", {"pool"}, {})};
  return result;
}

/// The parts' times; none: not known.
std::vector<StageSpan> sharedRun(std::vector<int64_t> times) {
  StageSpan launch = {0, 0, 100, 1000};
  for (int64_t time : times)
    launch.parts.push_back({10 * int64_t(launch.parts.size()), time});
  return {launch, {1, 0, 2000, 500}};
}

TEST(Profile, PartsShareALaunchByTheTimeTheyAreUnderWay) {
  Manifest m = sharedLaunch();
  Profile profile = summarize(
      {sharedRun({300, 600, 100}), sharedRun({200, 700, 100}), sharedRun({400, 600, 200})}, m);
  const StageProfile &launch = profile.stages[0];
  ASSERT_EQ(launch.parts.size(), 3u);
  EXPECT_TRUE(launch.isClocked);
  EXPECT_DOUBLE_EQ(launch.parts[0].seconds, 300e-9);
  EXPECT_DOUBLE_EQ(launch.parts[1].seconds, 600e-9);
  EXPECT_DOUBLE_EQ(launch.parts[0].share, 0.3);
  EXPECT_DOUBLE_EQ(launch.parts[1].share, 0.6);
  EXPECT_DOUBLE_EQ(launch.parts[2].share, 0.1);
  EXPECT_TRUE(profile.stages[1].parts.empty());
  std::vector<NodeProfile> nodes = profileOfNodes(m, profile);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].node, "relu"); // A tenth of the first part, and the second one.
  EXPECT_NEAR(nodes[0].seconds, 630e-9, 1e-15);
  EXPECT_EQ(nodes[0].stages, std::vector<uint32_t>{0});
  EXPECT_EQ(nodes[1].node, "pool"); // In the last part, and alone.
  EXPECT_NEAR(nodes[1].seconds, 600e-9, 1e-15);
  EXPECT_EQ(nodes[1].stages, (std::vector<uint32_t>{0, 1}));
  EXPECT_NEAR(nodes[2].seconds, 270e-9, 1e-15);
}

TEST(Profile, PartsShareALaunchAsPredictedWhereMostRunsDoNotTell) {
  Manifest m = sharedLaunch();
  auto known = sharedRun({300, 600, 100}), unknown = sharedRun({});
  EXPECT_TRUE(summarize({known, unknown, known}, m).stages[0].isClocked);
  Profile profile = summarize({known, unknown}, m);
  const StageProfile &launch = profile.stages[0];
  EXPECT_FALSE(launch.isClocked);
  EXPECT_EQ(launch.parts[0].seconds, 0);
  EXPECT_DOUBLE_EQ(launch.parts[0].share, 0.25);
  EXPECT_DOUBLE_EQ(launch.parts[2].share, 0.5);
  for (runtime::Work &part : m.stages[0].parts)
    part.predictedSeconds = -1; // Of an artifact that says anything.
  EXPECT_DOUBLE_EQ(summarize({unknown}, m).stages[0].parts[2].share, 1 / 3.0);
}

TEST(Profile, PartsOfLaunchesInALoopAddUp) {
  Manifest m = sharedLaunch();
  auto twice = sharedRun({300, 600, 100});
  twice.push_back(twice[0]);
  EXPECT_DOUBLE_EQ(summarize({twice}, m).stages[0].parts[1].seconds, 1200e-9);
  twice.back().parts.clear(); // Half of it is not known.
  EXPECT_FALSE(summarize({twice}, m).stages[0].isClocked);
}

TEST(TraceEvents, PartsLieSideBySide) {
  StageSpan launch = {0, 0, 100, 1000, {{500, 300}, {100, 400}, {200, 900}}};
  std::vector<StageSpan> spans = {launch};
  std::vector<Json> slices;
  std::set<std::string> tracks;
  Json trace = traceEvents(sharedLaunch(), spans);
  for (const Json &event : trace["traceEvents"]) {
    if (event["ph"] == "M")
      tracks.insert(event["args"]["name"].get<std::string>());
    else
      slices.push_back(event);
  }
  EXPECT_EQ(tracks, (std::set<std::string>{"model (cuda)", "lane 0", "lane 0, parts 1",
                                           "lane 0, parts 2"}));
  // The launch, k1 with relu, k2 with pool, and on the first one's track k0 with conv and relu.
  ASSERT_EQ(slices.size(), 8u);
  EXPECT_EQ(slices[0]["cat"], "stage");
  EXPECT_EQ(slices[1]["name"], "k1 relu");
  EXPECT_EQ(slices[1]["cat"], "part");
  EXPECT_EQ(slices[1]["ts"], 0.2);
  EXPECT_EQ(slices[1]["args"]["part"], 1);
  EXPECT_EQ(slices[2]["name"], "relu");
  EXPECT_EQ(slices[3]["name"], "k2 pool");
  EXPECT_EQ(slices[3]["dur"], 0.8); // No longer than its launch.
  EXPECT_NE(slices[3]["tid"], slices[1]["tid"]);
  EXPECT_EQ(slices[5]["name"], "k0 conv and 1 more");
  EXPECT_EQ(slices[5]["tid"], slices[1]["tid"]);
  EXPECT_EQ(slices[6]["tid"], slices[1]["tid"]);
  EXPECT_EQ(slices[6]["dur"], 0.27);
  spans[0].parts.clear(); // Then the launch's nodes share it.
  EXPECT_EQ(traceEvents(sharedLaunch(), spans)["traceEvents"].size(), 2u + 1 + 2);
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
