//===- plan_order_test.cpp - What is written when its input was read ------===//

#include "runtime/plan_order.h"

#include "fixture.h"

#include <gtest/gtest.h>

using namespace kintsugi::runtime;

namespace {

/// Stage 0 reads x, stage 1 writes y, stage 2 (the call) writes best and where.
class Order : public testing::Test {
protected:
  bool isBehind(Plan plan, size_t output = 0) {
    manifest.plan = std::move(plan);
    return PlanOrder(manifest).isWrittenBehind(output, 0);
  }
  static Plan stage(uint32_t number) { return Plan::ofStage(number); }

  Manifest manifest = affineParts().manifest;
  uint32_t x = manifest.inputs[0].buffer, y = manifest.outputs[0].buffer;
};

} // namespace

TEST_F(Order, IsThatOfThePlan) {
  EXPECT_TRUE(isBehind(Plan::sequence({stage(0), stage(1)})));
  EXPECT_FALSE(isBehind(Plan::sequence({stage(1), stage(0)})));
  EXPECT_FALSE(isBehind(Plan::sequence({stage(0), stage(1), stage(0)})));
  EXPECT_TRUE(isBehind(Plan::sequence({Plan::sequence({stage(0), stage(0)}), stage(1), stage(1)})));
  EXPECT_TRUE(isBehind(Plan::sequence({stage(1), stage(0)}), 1)) << "of what no stage writes";
  EXPECT_TRUE(isBehind(Plan::sequence({stage(1)})));
}

TEST_F(Order, IsNoneAmongWhatIsRepeatedOrSideBySide) {
  EXPECT_FALSE(isBehind(Plan::repeat(3, Plan::sequence({stage(0), stage(1)}))));
  EXPECT_FALSE(isBehind(Plan::lanes({stage(0), stage(1)})));
  EXPECT_FALSE(isBehind(Plan::lanes({Plan::sequence({stage(0), stage(1)}), stage(2)})));
  EXPECT_TRUE(isBehind(Plan::sequence({Plan::repeat(3, stage(0)), stage(1)})));
  EXPECT_TRUE(isBehind(Plan::sequence({stage(0), Plan::lanes({stage(1), stage(2)})}), 1));
  EXPECT_FALSE(isBehind(Plan::repeat(3, stage(1), {{x, 3}})));
  EXPECT_FALSE(isBehind(Plan::repeat(3, stage(0), {{3, y}})));
}

TEST_F(Order, KnowsCopiesAndBranches) {
  EXPECT_TRUE(isBehind(Plan::sequence({stage(0), Plan::copy({{3, y}})})));
  EXPECT_FALSE(isBehind(Plan::sequence({Plan::copy({{3, y}}), stage(0)})));
  EXPECT_FALSE(isBehind(Plan::sequence({stage(1), Plan::copy({{x, 3}})})));
  EXPECT_FALSE(isBehind(Plan::copy({{x, y}})));
  EXPECT_TRUE(isBehind(Plan::sequence({Plan::branch(3, stage(0), stage(2)), stage(1)})));
  EXPECT_FALSE(isBehind(Plan::branch(3, stage(1), stage(0))));
  EXPECT_FALSE(isBehind(Plan::sequence({stage(1), Plan::branch(x, stage(2), stage(2))})));
}

TEST_F(Order, KnowsAliasesAndWhatIsReadAtTheEnd) {
  auto view = uint32_t(manifest.buffers.size());
  manifest.buffers.push_back(
      {"x_tail", kintsugi::ElementType::F32, {936}, 3744, Home::alias(x, 256)});
  manifest.stages[2].buffers[0] = view;
  Plan plan = Plan::sequence({stage(0), stage(1), stage(2)});
  EXPECT_FALSE(isBehind(plan));
  EXPECT_FALSE(isBehind(plan, 1));
  manifest.stages[2].buffers[0] = 3;
  EXPECT_TRUE(isBehind(plan));
  manifest.outputs.push_back({"tail", kintsugi::ElementType::F32, {936}, view});
  EXPECT_FALSE(isBehind(plan));
}
