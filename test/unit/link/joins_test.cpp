// What joined nodes of a plan become: stages of the manifest, and entries that equal ones share.

#include "link/joins.h"

#include "gpu_plan.h"
#include "link/manifest.h"
#include "orchestrate/joins.h"

namespace kintsugi::link {
namespace {

using orchestrate::Plan;
using orchestrate::PlanNode;

/// Twice: three sums that begin at the same vector, and what adds them up.
const char *const text = R"(
input x[i:24] f32
input u[i:24, j:24] f32
input v[i:24, j:24] f32
input w[i:24, j:24] f32
a[i:24] f32 = sum<f32>[j:24] u[i, j] * x[j]
b[i:24] f32 = sum<f32>[j:24] v[i, j] * x[j]
c[i:24] f32 = sum<f32>[j:24] w[i, j] * x[j]
s[i:24] f32 = a[i] + b[i] + c[i]
d[i:24] f32 = sum<f32>[j:24] u[i, j] * s[j]
e[i:24] f32 = sum<f32>[j:24] v[i, j] * s[j]
f[i:24] f32 = sum<f32>[j:24] w[i, j] * s[j]
t[i:24] f32 = d[i] + e[i] + f[i]
output t
)";

class LinkJoins : public test::GpuPlan {
protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(parse(text)); }

  Plan joined() const {
    Plan plan = planned(orchestrate::PlanMode::Separate);
    search::ScheduleOptions options;
    options.machine = machine;
    orchestrate::joinStages(plan, options, nullptr);
    return plan;
  }
};

const PlanNode *firstJoined(const Plan &plan) {
  for (const PlanNode &child : plan.root.children)
    if (child.kind == PlanNode::Kind::Joined)
      return &child;
  return nullptr;
}

TEST_F(LinkJoins, EqualOnesShareAnEntry) {
  Plan plan = joined();
  Joins joins(plan);
  ASSERT_EQ(joins.entries.size(), 1u) << plan.print();
  const tile::Launch &entry = joins.entries[0];
  ASSERT_EQ(entry.phases.size(), 1u);
  EXPECT_EQ(entry.phases[0].size(), 3u);
  EXPECT_EQ(entry.constants, std::vector<bool>(7, false)); // Three matrices, one vector, results.
  for (const tile::Launch::Part &part : entry.phases[0])
    EXPECT_GE(part.operands.back(), 4u); // What is read comes first.
  std::vector<tile::Launch> launches = launchesOf(plan);
  ASSERT_EQ(launches.size(), 2u); // And the sum's own, for both.
  // The sum comes behind the join twice, and the join behind the first sum.
  const tile::Launch &sum = launches[0], &join = launches[1];
  ASSERT_EQ(join.next.size(), 2u);
  ASSERT_EQ(sum.next.size(), 1u);
  const JoinedStage &joined = joins.of(*firstJoined(plan));
  ASSERT_TRUE(sum.next[0] && join.next[0] && join.next[1]);
  EXPECT_EQ(sum.next[0]->blocks, int64_t(joined.tiles));
  EXPECT_EQ(sum.next[0]->scratchBytes, int64_t(joined.scratchBytes));
  for (const auto &next : join.next)
    EXPECT_EQ(next->blocks, 1);
}

TEST_F(LinkJoins, WhatIsNoLaunchOfKernelsIsNotKnown) {
  Plan plan = joined();
  PlanNode repeat;
  repeat.kind = PlanNode::Kind::Repeat;
  repeat.count = 2;
  repeat.children.push_back(std::move(plan.root.children[1]));
  plan.root.children[1] = std::move(repeat); // The first sum.
  std::vector<tile::Launch> launches = launchesOf(plan);
  ASSERT_EQ(launches.size(), 2u);
  const tile::Launch &sum = launches[0], &join = launches[1];
  ASSERT_EQ(join.next.size(), 2u);
  EXPECT_FALSE(join.next[0]);
  EXPECT_TRUE(join.next[1]);
  ASSERT_EQ(sum.next.size(), 1u);
  EXPECT_FALSE(sum.next[0]);
}

TEST_F(LinkJoins, EachIsAStageOfTheManifest) {
  Plan plan = joined();
  runtime::Manifest manifest = manifestOf(plan, {});
  ASSERT_EQ(manifest.stages.size(), 4u) << plan.print();
  const runtime::Stage &stage = manifest.stages[0];
  EXPECT_EQ(stage.symbol, "j0");
  EXPECT_EQ(manifest.stages[2].symbol, "j0");
  EXPECT_EQ(stage.buffers.size(), 7u);
  EXPECT_EQ(stage.resultCount, 3u);
  EXPECT_FALSE(stage.meets);
  const JoinedStage &joined = Joins(plan).of(*firstJoined(plan));
  EXPECT_EQ(stage.tiles, joined.tiles);
  uint64_t tiles = 0;
  Plan::forEachStage(*firstJoined(plan), [&](unsigned number) {
    tiles += plan.kernels[plan.stages[number].kernel].shape->schedule.tiles();
  });
  EXPECT_EQ(stage.tiles, tiles);
  ASSERT_EQ(stage.parts.size(), 3u);
  double seconds = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(stage.parts[i].movedBytes, 0u);
    seconds += stage.parts[i].predictedSeconds;
  }
  EXPECT_GT(seconds, stage.predictedSeconds); // Apart they take longer.
  EXPECT_TRUE(manifest.stages[1].parts.empty());
  manifest.code.push_back({"sm_90a", {}});
  EXPECT_TRUE(manifest.validate(0).ok());
}

TEST_F(LinkJoins, PhasesMeet) {
  machine.barrierSeconds = 1e-9;
  Plan plan = joined();
  runtime::Manifest manifest = manifestOf(plan, {});
  ASSERT_EQ(manifest.stages.size(), 1u) << plan.print();
  EXPECT_TRUE(manifest.stages[0].meets);
  EXPECT_EQ(manifest.stages[0].resultCount, 8u);
  tile::Launch entry = Joins(plan).entries[0];
  EXPECT_EQ(entry.phases.size(), 4u);
  std::vector<std::string> kernels, symbols;
  for (const std::vector<tile::Launch::Part> &phase : entry.phases)
    for (const tile::Launch::Part &part : phase)
      kernels.push_back(part.kernel);
  for (size_t part : entry.orderOfParts())
    symbols.push_back(kernels[part]);
  ASSERT_EQ(manifest.stages[0].parts.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(manifest.stages[0].parts[i].symbol, symbols[i]);
}

TEST(Launch, NumbersPartsOfOneKernelInARow) {
  tile::Launch launch{"joined", {}, {{{"a", {}}, {"b", {}}, {"a", {}}}, {{"c", {}}, {"a", {}}}}};
  EXPECT_EQ(launch.orderOfParts(), (std::vector<size_t>{0, 2, 1, 3, 4}));
  EXPECT_TRUE(launch.isClocked());
  launch.phases = {{{"a", {}}}};
  EXPECT_FALSE(launch.isClocked());
}

} // namespace
} // namespace kintsugi::link
