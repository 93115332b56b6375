// What a plan promises: each definition once, in order, without harm in the arena, and the same
// results whatever was chosen.

#include "orchestrate/choice.h"

#include "plan_runner.h"
#include "programs.h"

#include "te/constant.h"
#include "te/interpreter.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <random>
#include <set>

namespace kintsugi::orchestrate {
namespace {

constexpr PlanMode modes[] = {PlanMode::Search, PlanMode::Greedy, PlanMode::Separate};

/// The definitions of a program and of its scans' bodies, as a plan's stages name them.
void collect(const te::Program &program, std::multiset<std::string> &lines) {
  for (auto [number, node] : llvm::enumerate(program.nodes)) {
    if (std::holds_alternative<te::Definition>(node))
      lines.insert(te::printNode(program, number));
    if (const auto *scan = std::get_if<te::Scan>(&node))
      collect(*scan->body, lines);
  }
}

class PlanTest : public testing::TestWithParam<SmallProgram> {
protected:
  void SetUp() override { program = programOf(GetParam().text); }

  te::Program program;
};

TEST_P(PlanTest, CoversEachDefinitionOnce) {
  std::multiset<std::string> expected;
  collect(program, expected);
  for (PlanMode mode : modes) {
    Plan plan = planned(program, mode);
    std::multiset<std::string> lines;
    size_t count = 0;
    for (const Stage &stage : plan.stages) {
      llvm::SmallVector<llvm::StringRef> parts;
      llvm::StringRef(stage.expressions).split(parts, '\n', -1, false);
      for (llvm::StringRef part : parts)
        lines.insert(part.str());
      count += stage.definitions;
    }
    EXPECT_EQ(lines, expected) << plan.print();
    EXPECT_EQ(count, expected.size());
  }
}

TEST_P(PlanTest, EachStageStandsInOneTreeOnce) {
  for (PlanMode mode : modes) {
    Plan plan = planned(program, mode);
    std::vector<unsigned> seen(plan.stages.size(), 0);
    for (const PlanNode *tree : {&plan.constants, &plan.root})
      Plan::forEachStage(*tree, [&](unsigned stage) { ++seen[stage]; });
    EXPECT_EQ(seen, std::vector<unsigned>(plan.stages.size(), 1)) << plan.print();
  }
}

TEST_P(PlanTest, AllPlansComputeWhatTheProgramSays) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::vector<double>> inputs;
  std::vector<te::ExactTensor> exact;
  for (te::ValueId input : program.inputs) {
    Expected<te::ExactTensor> tensor =
        te::ExactTensor::create(program.value(input).type, te::plainShape(program.shape(input)));
    ASSERT_TRUE(tensor.ok());
    for (double &x : tensor->floats)
      x = uniform(random);
    inputs.push_back(tensor->floats);
    exact.push_back(std::move(*tensor));
  }
  Expected<std::vector<te::ExactTensor>> expected = te::evaluate(program, exact);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  for (PlanMode mode : modes) {
    Plan plan = planned(program, mode);
    SCOPED_TRACE(plan.print());
    PlanRun run = runPlan(plan, inputs);
    ASSERT_EQ(run.problem, "");
    ASSERT_EQ(run.outputs.size(), expected->size());
    for (auto [actual, tensor] : llvm::zip(run.outputs, *expected)) {
      ASSERT_EQ(actual.size(), tensor.floats.size());
      for (auto [a, b] : llvm::zip(actual, tensor.floats))
        ASSERT_NEAR(a, b, 1e-9 * (1 + std::abs(b)));
    }
  }
}

TEST_P(PlanTest, SearchIsNoWorseThanGreedyAndGreedyThanSeparate) {
  double search = planned(program, PlanMode::Search).objectiveSeconds;
  double greedy = planned(program, PlanMode::Greedy).objectiveSeconds;
  double separate = planned(program, PlanMode::Separate).objectiveSeconds;
  EXPECT_GT(search, 0);
  EXPECT_LE(search, greedy * (1 + 1e-9));
  EXPECT_LE(greedy, separate * (1 + 1e-9));
  EXPECT_LT(search, separate) << "nothing was fused";
}

TEST_P(PlanTest, IsTheSameEachTime) {
  EXPECT_EQ(planned(program).print(), planned(program).print());
}

INSTANTIATE_TEST_SUITE_P(Programs, PlanTest, testing::ValuesIn(smallPrograms),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Costs, BytesDecideAmongEqualTimesOnly) {
  machine::Machine machine = *machine::Machine::forLevel("x86-64-v3");
  loops::KernelShape one, other;
  one.measuredSeconds = other.measuredSeconds = 1e-5;
  one.schedule.bytesRead = 1 << 20;
  other.schedule.bytesRead = (1 << 20) + (1 << 14);
  EXPECT_LT(costOf(one, machine), costOf(other, machine));
  EXPECT_NEAR(costOf(one, machine), 10, 1e-3);
  one.measuredSeconds = 1.0001e-5;
  EXPECT_GT(costOf(one, machine), costOf(other, machine));
}

TEST(Arena, BuffersThatAreNeverAliveTogetherShareBytes) {
  te::Program program = programOf("input x[i:1000] f32\n"
                                  "a[i:1000] f32 = exp(x[i])\n"
                                  "b[i:1000] f32 = a[i] + a[999 - i]\n"
                                  "c[i:1000] f32 = b[i] + b[999 - i]\n"
                                  "d[i:1000] f32 = c[i] + c[999 - i]\n"
                                  "output d");
  Plan plan = planned(program, PlanMode::Separate);
  EXPECT_EQ(plan.stages.size(), 4u);
  EXPECT_LE(plan.arenaBytes, 2u * 4032u) << plan.print();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Two scans that don't wait for each other, and one that waits for both. `units` is how wide they
/// are.
std::string scans(int units) {
  std::string n = std::to_string(units);
  std::string text = "input x[t:50, j:" + n + "] f32\ninput w[j:" + n + ", k:" + n +
                     "] f32\nz[k:" + n + "] f32 = 0\n";
  auto scan = [&](const std::string &name, const std::string &input) {
    return "(h" + name + "[" + n + "] f32, " + name + "[50, " + n +
           "] f32) = scan[50] carry(z) capture(" + input + ", w) {\ninput step[] i64\ninput h[" +
           n + "] f32\ninput in[50, " + n + "] f32\ninput w[" + n + ", " + n + "] f32\ns[j:" + n +
           "] f32 = sum<f32>[k:" + n + "] h[k] * w[j, k]\ng[j:" + n +
           "] f32 = tanh(s[j] + in[step[], j])\noutput g\noutput g as y\n}\n";
  };
  return text + scan("a", "x") + "r[t:50, j:" + n + "] f32 = x[49 - t, j]\n" + scan("b", "r") +
         "s[t:50, j:" + n + "] f32 = a[t, j] + b[49 - t, j]\n" + scan("c", "s") +
         "output c\noutput hb\n";
}

void collectBuffers(const Plan &plan, const PlanNode &node, std::set<unsigned> &read,
                    std::set<unsigned> &written) {
  if (node.kind == PlanNode::Kind::Stage) {
    llvm::ArrayRef<unsigned> operands = plan.stages[node.stage].operands;
    size_t results = plan.stages[node.stage].results;
    read.insert(operands.begin(), operands.end() - results);
    written.insert(operands.end() - results, operands.end());
  }
  for (const auto *copies : {&node.copies, &node.stacks})
    for (const BufferCopy &copy : *copies) {
      read.insert(copy.from);
      written.insert(copy.to);
    }
  if (node.step != ~0u)
    written.insert(node.step);
  for (const PlanNode &child : node.children)
    collectBuffers(plan, child, read, written);
}

bool overlap(const Plan &plan, unsigned one, unsigned other) {
  const PlanBuffer &a = plan.buffers[one], &b = plan.buffers[other];
  return one == other ||
         (a.kind == BufferKind::Temporary && b.kind == BufferKind::Temporary &&
          a.arenaOffset < b.arenaOffset + b.bytes && b.arenaOffset < a.arenaOffset + a.bytes);
}

const PlanNode *lanesOf(const PlanNode &node) {
  if (node.kind == PlanNode::Kind::Lanes)
    return &node;
  for (const PlanNode &child : node.children)
    if (const PlanNode *found = lanesOf(child))
      return found;
  return nullptr;
}

TEST(Lanes, ScansThatDontWaitForEachOtherHaveAWorkerEach) {
  te::Program program = programOf(scans(96).c_str());
  Plan plan = planned(program);
  const PlanNode *lanes = lanesOf(plan.root);
  ASSERT_TRUE(lanes) << plan.print();
  ASSERT_EQ(lanes->children.size(), 2u);
  std::set<unsigned> read[2], written[2];
  for (int lane : {0, 1})
    collectBuffers(plan, lanes->children[lane], read[lane], written[lane]);
  for (int lane : {0, 1})
    for (unsigned buffer : written[lane])
      for (const std::set<unsigned> *others : {&read[1 - lane], &written[1 - lane]})
        for (unsigned other : *others)
          EXPECT_FALSE(overlap(plan, buffer, other)) << plan.print();
}

TEST(Lanes, OnlyWhereAWorkerIsAsQuickAlone) {
  EXPECT_FALSE(lanesOf(planned(programOf(scans(512).c_str())).root)) << "too much for one cache";
  OrchestrateOptions options = smallOptions();
  options.lanes = false;
  te::Program program = programOf(scans(96).c_str());
  Expected<Plan> without = orchestrate(program, options);
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(lanesOf(without->root)) << "not asked for";
  options = smallOptions();
  options.space.schedule.machine.cores = 1;
  Expected<Plan> one = orchestrate(program, options);
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(lanesOf(one->root)) << "there is one worker";
}

TEST(Constants, WhatDependsOnConstantsAloneRunsOnce) {
  Plan plan = planned(programOf(smallPrograms[0].text));
  std::vector<std::string> constants;
  Plan::forEachStage(plan.constants,
                     [&](unsigned stage) { constants.push_back(plan.stages[stage].expressions); });
  EXPECT_EQ(constants, std::vector<std::string>{"d[n:17] f32 = c[n%4] * 2\n"});
}

/// The numbers of a record by name.
std::map<std::string, double> numbersOf(const explain::Record &record) {
  std::map<std::string, double> numbers;
  for (const explain::Number &number : record.numbers)
    numbers[number.name] = number.value;
  return numbers;
}

TEST(Log, SaysWhatTheSolverFoundAndWhichKernelComputesWhat) {
  te::Program program = programOf(smallPrograms[1].text);
  explain::Log log;
  OrchestrateOptions options = smallOptions();
  options.log = &log;
  Expected<Plan> plan = orchestrate(program, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  size_t solved = 0, stages = 0, grown = 0;
  for (const explain::Record &record : log.records()) {
    std::map<std::string, double> numbers = numbersOf(record);
    if (record.phase == "space")
      ++grown;
    else if (record.decision == "optimal") {
      ++solved;
      EXPECT_NEAR(numbers["objective"], plan->objectiveSeconds, 1e-12);
      EXPECT_LE(numbers["bound"], numbers["objective"]);
      EXPECT_EQ(numbers.count("gap") + numbers.count("cuts"), 2u);
    } else if (record.subject == "stage " + std::to_string(stages)) {
      EXPECT_EQ(numbers["predicted"], plan->stages[stages].predictedSeconds);
      EXPECT_NE(record.decision.find("kernel k"), std::string::npos);
      ++stages;
    }
  }
  EXPECT_EQ(solved, 1u);
  EXPECT_EQ(grown, 1u);
  EXPECT_EQ(stages, plan->stages.size());
}

TEST(Log, SaysWhyAGroupHasNoSchedule) {
  explain::Log log;
  OrchestrateOptions options = smallOptions();
  options.log = &log;
  options.space.schedule.scratchLimit = 64;
  Expected<Plan> plan = orchestrate(programOf(smallPrograms[2].text), options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  size_t rejected = 0;
  for (const explain::Record &record : log.records())
    if (record.decision == "no schedule") {
      ++rejected;
      EXPECT_TRUE(record.subject.starts_with("group '")) << record.subject;
      EXPECT_FALSE(record.reasons.at(0).empty());
    }
  EXPECT_GT(rejected, 0u);
}

} // namespace
} // namespace kintsugi::orchestrate
