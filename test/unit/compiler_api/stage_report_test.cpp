//===- stage_report_test.cpp - What a profile says of stages and nodes ------===//

#include "api/compiler/stage_report.h"

#include <gtest/gtest.h>

namespace kintsugi::api {
namespace {

runtime::Manifest manifest() {
  runtime::Manifest result;
  runtime::Stage alone, shared;
  alone.symbol = "k0";
  alone.nodes = {"a"};
  shared.symbol = "j0";
  shared.nodes = {"b", "c"};
  shared.movedBytes = 3000;
  shared.parts = {{"k1", {"b"}, {500}, 1e-6, 1000}, {"k2", {"c"}, {900}, 3e-6, 2000}};
  result.stages = {alone, shared};
  return result;
}

verify::Profile profileOf(const runtime::Manifest &m, std::vector<runtime::PartSpan> parts) {
  std::vector<runtime::StageSpan> run = {{0, 0, 0, 1000}, {1, 0, 1000, 3000, std::move(parts)}};
  return verify::summarize({run}, m);
}

TEST(StageReport, PartsAreInsideOfTheirStage) {
  runtime::Manifest m = manifest();
  Json stages = describeStages(m, profileOf(m, {{0, 2000}, {500, 500}}));
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0]["name"], "j0");
  EXPECT_DOUBLE_EQ(stages[0]["share"].get<double>(), 0.75);
  EXPECT_EQ(stages[0]["shared_by"], "clock");
  EXPECT_FALSE(stages[1].contains("parts"));
  const Json &parts = stages[0]["parts"];
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0]["name"], "k1");
  EXPECT_EQ(parts[0]["part"], 0);
  EXPECT_EQ(parts[0]["nodes"], Json::array({"b"}));
  EXPECT_DOUBLE_EQ(parts[0]["measured_ms"].get<double>(), 2e-3);
  EXPECT_DOUBLE_EQ(parts[0]["share"].get<double>(), 0.6);
  EXPECT_DOUBLE_EQ(parts[1]["share"].get<double>(), 0.15);
  EXPECT_DOUBLE_EQ(parts[1]["gb_per_s"].get<double>(), 4); // While it was under way.
  EXPECT_DOUBLE_EQ(parts[0]["gflop_per_s"].get<double>(), 0.25);
}

TEST(StageReport, PartsWithoutAClockHaveSharesAlone) {
  runtime::Manifest m = manifest();
  Json stages = describeStages(m, profileOf(m, {}));
  EXPECT_EQ(stages[0]["shared_by"], "prediction");
  const Json &parts = stages[0]["parts"];
  EXPECT_EQ(parts[0]["name"], "k2");
  EXPECT_TRUE(parts[0]["measured_ms"].is_null());
  EXPECT_TRUE(parts[0]["gb_per_s"].is_null());
  EXPECT_DOUBLE_EQ(parts[0]["share"].get<double>(), 0.75 * 0.75);
}

TEST(StageReport, NodesOfPartsAddUpToTheStages) {
  runtime::Manifest m = manifest();
  double share = 0;
  for (const Json &node : describeNodes(m, profileOf(m, {{0, 2000}, {500, 500}})))
    share += node["share"].get<double>();
  EXPECT_DOUBLE_EQ(share, 1);
}

} // namespace
} // namespace kintsugi::api
