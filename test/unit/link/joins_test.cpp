// What joined nodes of a plan become: stages of the manifest, and entries that equal ones share.

#include "link/joins.h"

#include "link/manifest.h"
#include "orchestrate/joins.h"
#include "orchestrate/orchestrate.h"
#include "te/parser.h"

#include <gtest/gtest.h>

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

class LinkJoins : public testing::Test {
protected:
  void SetUp() override {
    machine = *machine::Machine::forLevel("sm_90a");
    auto parsed = te::parseProgram(text, "test.te");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    program = std::move(*parsed);
  }

  Plan planned() {
    orchestrate::OrchestrateOptions options;
    options.space.schedule.machine = machine;
    options.space.schedule.copies = false;
    options.mode = orchestrate::PlanMode::Separate;
    auto plan = orchestrate::orchestrate(program, options);
    EXPECT_TRUE(plan.ok());
    orchestrate::joinStages(*plan, machine, nullptr);
    return std::move(*plan);
  }

  machine::Machine machine;
  te::Program program;
};

const PlanNode *firstJoined(const Plan &plan) {
  for (const PlanNode &child : plan.root.children)
    if (child.kind == PlanNode::Kind::Joined)
      return &child;
  return nullptr;
}

TEST_F(LinkJoins, EqualOnesShareAnEntry) {
  Plan plan = planned();
  Joins joins(plan);
  ASSERT_EQ(joins.entries.size(), 1u) << plan.print();
  const tile::Launch &entry = joins.entries[0];
  ASSERT_EQ(entry.phases.size(), 1u);
  EXPECT_EQ(entry.phases[0].size(), 3u);
  EXPECT_EQ(entry.constants, std::vector<bool>(7, false)); // Three matrices, one vector, results.
  for (const tile::Launch::Part &part : entry.phases[0])
    EXPECT_GE(part.operands.back(), 4u); // What is read comes first.
  std::vector<tile::Launch> launches = launchesOf(plan);
  EXPECT_EQ(launches.size(), 2u); // And the sum's own, for both.
}

TEST_F(LinkJoins, EachIsAStageOfTheManifest) {
  Plan plan = planned();
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
  manifest.code.push_back({"sm_90a", {}});
  EXPECT_TRUE(manifest.validate(0).ok());
}

TEST_F(LinkJoins, PhasesMeet) {
  machine.barrierSeconds = 1e-9;
  Plan plan = planned();
  runtime::Manifest manifest = manifestOf(plan, {});
  ASSERT_EQ(manifest.stages.size(), 1u) << plan.print();
  EXPECT_TRUE(manifest.stages[0].meets);
  EXPECT_EQ(manifest.stages[0].resultCount, 8u);
  EXPECT_EQ(Joins(plan).entries[0].phases.size(), 4u);
}

} // namespace
} // namespace kintsugi::link
