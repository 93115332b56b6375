// Stages that share a launch: none waits for another, and the plan computes what it did.

#include "orchestrate/joins.h"

#include "loops/block_memory.h"
#include "plan_runner.h"
#include "programs.h"

#include "llvm/ADT/STLExtras.h"

#include <random>
#include <set>

namespace kintsugi::orchestrate {
namespace {

/// Branches that all begin at x, of which every second one is a step longer, and a sum of all.
std::string branches(int count, int size) {
  std::string n = std::to_string(size);
  std::string text = "input x[i:" + n + "] f32\n", sum;
  for (int k = 0; k < count; ++k) {
    std::string name = std::to_string(k);
    text += "input w" + name + "[i:" + n + ", j:" + n + "] f32\n";
    text += "a" + name + "[i:" + n + "] f32 = sum<f32>[j:" + n + "] w" + name + "[i, j] * x[j]\n";
    if (k % 2)
      text += "b" + name + "[i:" + n + "] f32 = sum<f32>[j:" + n + "] w" + name + "[j, i] * a" +
              name + "[j]\n";
    sum += (k ? " + " : "") + std::string(k % 2 ? "b" : "a") + name + "[i]";
  }
  return text + "y[i:" + n + "] f32 = " + sum + "\noutput y\n";
}

search::ScheduleOptions
onGpu(const machine::Machine &machine = *machine::Machine::forLevel("sm_90a")) {
  search::ScheduleOptions options;
  options.machine = machine;
  options.scratchLimit = 96 << 10;
  options.ringLimit = 225 << 10;
  return options;
}

Plan plannedForBlocks(const te::Program &program) {
  OrchestrateOptions options = smallOptions();
  options.space.schedule.machine = *machine::Machine::forLevel("sm_90a");
  options.space.schedule.packing = options.space.schedule.copies = false;
  options.mode = PlanMode::Separate;
  Expected<Plan> plan = orchestrate(program, options);
  EXPECT_TRUE(plan.ok());
  return std::move(*plan);
}

void collectJoined(const PlanNode &node, std::vector<const PlanNode *> &joined) {
  if (node.kind == PlanNode::Kind::Joined)
    joined.push_back(&node);
  for (const PlanNode &child : node.children)
    collectJoined(child, joined);
}

std::vector<const PlanNode *> joinedOf(const Plan &plan) {
  std::vector<const PlanNode *> joined;
  collectJoined(plan.root, joined);
  return joined;
}

std::set<unsigned> stagesOf(const PlanNode &node) {
  std::set<unsigned> stages;
  Plan::forEachStage(node, [&](unsigned stage) { stages.insert(stage); });
  return stages;
}

std::vector<std::vector<double>> randomInputs(const te::Program &program) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::vector<double>> inputs;
  for (te::ValueId input : program.inputs) {
    size_t elements = 1;
    for (te::Extent extent : program.shape(input))
      elements *= size_t(extent.constant());
    for (double &value : inputs.emplace_back(elements))
      value = uniform(random);
  }
  return inputs;
}

TEST(Joins, StagesSideBySideShareALaunch) {
  te::Program program = programOf(branches(4, 24).c_str());
  Plan plan = plannedForBlocks(program);
  PlanRun before = runPlan(plan, randomInputs(program));
  double apart = plan.objectiveSeconds;
  explain::Log log;
  joinStages(plan, onGpu(), &log);
  std::vector<const PlanNode *> joined = joinedOf(plan);
  ASSERT_EQ(joined.size(), 2u) << plan.print(); // What reads x, and what reads that.
  EXPECT_EQ(stagesOf(*joined[0]).size(), 4u);
  EXPECT_EQ(stagesOf(*joined[1]).size(), 2u);
  EXPECT_LT(plan.objectiveSeconds, apart);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log.records()[0].decision, "side by side in one launch");
  PlanRun after = runPlan(plan, randomInputs(program));
  EXPECT_EQ(after.problem, "");
  EXPECT_EQ(after.outputs, before.outputs);
}

TEST(Joins, GroupsShareALaunchWhereItsBlocksWaitForLess) {
  machine::Machine machine = *machine::Machine::forLevel("sm_90a");
  machine.barrierSeconds = 1e-9;
  te::Program program = programOf(branches(4, 24).c_str());
  Plan plan = plannedForBlocks(program);
  PlanRun before = runPlan(plan, randomInputs(program));
  explain::Log log;
  joinStages(plan, onGpu(machine), &log);
  std::vector<const PlanNode *> joined = joinedOf(plan);
  ASSERT_EQ(joined.size(), 1u) << plan.print();
  std::vector<size_t> sizes;
  for (const PlanNode &phase : joined[0]->children)
    sizes.push_back(stagesOf(phase).size());
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 2, 1}));
  EXPECT_EQ(log.records().back().decision, "one launch whose blocks wait for each other");
  PlanRun after = runPlan(plan, randomInputs(program));
  EXPECT_EQ(after.problem, "");
  EXPECT_EQ(after.outputs, before.outputs);
  machine.barrierSeconds = 0; // Blocks can't wait.
  plan = plannedForBlocks(program);
  joinStages(plan, onGpu(machine), nullptr);
  for (const PlanNode *node : joinedOf(plan))
    EXPECT_EQ(node->children.size(), 1u) << plan.print();
}

TEST(Joins, EachStageStaysAndNoneReadsWhatSharesItsLaunch) {
  Plan plan = plannedForBlocks(programOf(branches(7, 20).c_str()));
  std::set<unsigned> before = stagesOf(plan.root);
  joinStages(plan, onGpu(), nullptr);
  EXPECT_EQ(stagesOf(plan.root), before);
  for (const PlanNode *joined : joinedOf(plan))
    for (unsigned one : stagesOf(*joined))
      for (unsigned other : stagesOf(*joined))
        for (unsigned result : llvm::ArrayRef(plan.stages[one].operands).take_back(1))
          for (unsigned operand : plan.stages[other].operands) {
            const PlanBuffer &a = plan.buffers[result], &b = plan.buffers[operand];
            bool apart = a.arenaOffset + a.bytes <= b.arenaOffset ||
                         b.arenaOffset + b.bytes <= a.arenaOffset;
            EXPECT_TRUE((one == other && result == operand) || apart ||
                        b.kind != BufferKind::Temporary)
                << plan.print();
          }
}

TEST(Joins, ChainsStayAsTheyAre) {
  for (const char *text : {smallPrograms[1].text, smallPrograms[3].text}) {
    Plan plan = plannedForBlocks(programOf(text));
    std::string before = plan.print();
    joinStages(plan, onGpu(), nullptr);
    EXPECT_EQ(plan.print(), before);
  }
}

TEST(Joins, LargeBlocksHaveRegistersForTheirOwnKernelsAlone) {
  machine::Machine machine = *machine::Machine::forLevel("sm_90a");
  machine.barrierSeconds = 1e-9;
  te::Program program = programOf(branches(4, 24).c_str());
  for (int threads : {256, 512}) {
    Plan plan = plannedForBlocks(program);
    for (Kernel &kernel : plan.kernels) {
      auto shape = std::make_shared<loops::KernelShape>(*kernel.shape);
      shape->schedule.threads = &kernel == &plan.kernels.back() ? 128 : threads;
      kernel.shape = shape;
    }
    joinStages(plan, onGpu(machine), nullptr);
    unsigned phases = 0;
    for (const PlanNode *joined : joinedOf(plan))
      phases += joined->children.size();
    EXPECT_EQ(phases, threads == 256 ? 3u : 2u) << plan.print(); // The last one is alone.
  }
}

TEST(Joins, BlocksHaveMemoryForWhatAnyKernelTakes) {
  te::Program program = programOf("input x[i:24] f32\ninput v[i:24, j:24] f32\n"
                                  "input w[i:24, j:24] f32\n"
                                  "a[i:24] f32 = sum<f32>[j:24] v[i, j] * x[j]\n"
                                  "b[i:24] f32 = sum<f32>[j:24] w[j, i] * x[j]\n"
                                  "y[i:24] f32 = a[i] + b[i]\noutput y\n");
  constexpr int64_t limit = 96 << 10, exchanged = 256 * 4;
  for (int64_t scratch : {limit - exchanged, limit - exchanged + 1}) {
    Plan plan = plannedForBlocks(program);
    ASSERT_EQ(plan.kernels.size(), 3u);
    for (Kernel &kernel : llvm::MutableArrayRef(plan.kernels).take_front(2)) {
      bool isFirst = &kernel == &plan.kernels.front();
      auto shape = std::make_shared<loops::KernelShape>(*kernel.shape);
      loops::Schedule &schedule = shape->schedule;
      schedule.threads = 256;
      schedule.scratchBytes = isFirst ? scratch : 0;
      schedule.nests.back().registers = {};
      schedule.nests.back().registers.lanes = isFirst ? 1 : 64;
      schedule.nests.back().registers.apart = 4;
      ASSERT_EQ(loops::memoryOf(schedule, 32).exchanged, isFirst ? 0 : exchanged);
      kernel.shape = shape;
    }
    joinStages(plan, onGpu(), nullptr);
    EXPECT_EQ(joinedOf(plan).empty(), scratch + exchanged > limit) << plan.print();
  }
}

TEST(Joins, WhatFillsTheMachineInUnlikeBlocksStaysApart) {
  // A block that takes all of a core's scratch leaves no room for the other's many blocks.
  machine::Machine machine = *machine::Machine::forLevel("sm_90a");
  te::Program program = programOf(branches(2, 512).c_str());
  Plan plan = plannedForBlocks(program);
  for (Kernel &kernel : plan.kernels) {
    auto shape = std::make_shared<loops::KernelShape>(*kernel.shape);
    shape->computeSeconds = 1e-3;
    if (&kernel == &plan.kernels.front())
      shape->schedule.scratchBytes = machine.levels.back().bytes;
    kernel.shape = shape;
  }
  joinStages(plan, onGpu(machine), nullptr);
  EXPECT_TRUE(joinedOf(plan).empty()) << plan.print();
}

} // namespace
} // namespace kintsugi::orchestrate
