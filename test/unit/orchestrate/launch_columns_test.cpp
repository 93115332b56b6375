// Launches that kernels share, as columns: the solver's objective is that of the plan, no plan is
// slower than one whose kernels were chosen without them, and all compute the same.

#include "cost/margins.h"
#include "orchestrate/joins.h"

#include "plan_runner.h"
#include "programs.h"

#include "../te/random_program.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::orchestrate {
namespace {

OrchestrateOptions onGpu(bool mergesLaunches, double barrierSeconds = 0) {
  OrchestrateOptions options = smallOptions();
  options.space.schedule.machine = *machine::Machine::forLevel("sm_90a");
  if (barrierSeconds > 0)
    options.space.schedule.machine.barrierSeconds = barrierSeconds;
  options.space.schedule.scratchLimit = 96 << 10;
  options.space.schedule.ringLimit = 225 << 10;
  options.space.schedule.packing = options.space.schedule.copies = false;
  options.mergesLaunches = mergesLaunches;
  return options;
}

Plan planFor(const te::Program &program, OrchestrateOptions options) {
  Expected<Plan> plan = orchestrate(program, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.ok() ? std::move(*plan) : Plan();
}

/// What the plan takes once its stages are joined as well as they can be.
double secondsOf(Plan &plan, const OrchestrateOptions &options) {
  joinStages(plan, options.space.schedule, nullptr);
  return plan.objectiveSeconds;
}

std::vector<std::vector<double>> inputsOf(const te::Program &program, uint64_t seed) {
  std::vector<std::vector<double>> inputs;
  for (const te::ExactTensor &tensor : te::randomInputs(program, seed))
    inputs.push_back(tensor.floats);
  return inputs;
}

/// Products of one vector, whose sum is read by one more: few blocks each.
std::string products(int count, int size) {
  std::string n = std::to_string(size), sum;
  std::string text = "input x[i:" + n + "] f32\n";
  for (int k = 0; k < count; ++k) {
    std::string name = std::to_string(k);
    text += "input w" + name + "[i:" + n + ", j:" + n + "] f32\n";
    text += "a" + name + "[i:" + n + "] f32 = sum<f32>[j:" + n + "] w" + name + "[i, j] * x[j]\n";
    sum += (k ? " + " : "") + ("tanh(a" + name + "[i])");
  }
  return text + "y[i:" + n + "] f32 = " + sum + "\noutput y\n";
}

unsigned mostAtOnce(const PlanNode &node) {
  unsigned most = 0;
  if (node.kind == PlanNode::Kind::Joined)
    for (const PlanNode &phase : node.children)
      most = std::max<unsigned>(most, std::max<size_t>(1, phase.children.size()));
  for (const PlanNode &child : node.children)
    most = std::max(most, mostAtOnce(child));
  return most;
}

TEST(LaunchColumns, KernelsSideBySideAreChosenWhereTheyAreQuickerThanOne) {
  te::Program program = programOf(products(12, 384).c_str());
  Plan shared = planFor(program, onGpu(true)), alone = planFor(program, onGpu(false));
  EXPECT_GE(mostAtOnce(shared.root), 6u) << shared.print();
  double before = shared.objectiveSeconds;
  EXPECT_EQ(secondsOf(shared, onGpu(true)), before);
  EXPECT_LT(before, secondsOf(alone, onGpu(false)));
}

TEST(LaunchColumns, BlocksThatWaitForEachOtherAreColumnsToo) {
  te::Program program = programOf(products(3, 64).c_str());
  OrchestrateOptions options = onGpu(true, 1e-9);
  options.space.fuse = false;
  Plan plan = planFor(program, options);
  ASSERT_EQ(plan.root.children.size(), 1u) << plan.print();
  EXPECT_EQ(plan.root.children[0].children.size(), 2u) << plan.print();
  double before = plan.objectiveSeconds;
  EXPECT_EQ(secondsOf(plan, options), before);
}

std::vector<te::Program> someByHand() {
  std::vector<te::Program> programs;
  for (const SmallProgram &each : smallPrograms)
    programs.push_back(programOf(each.text));
  for (int count : {2, 5, 9})
    programs.push_back(programOf(products(count, 96).c_str()));
  return programs;
}

/// Launches are found in plans: of kernels that take the same time to 3 % another plan than the one
/// without them may have been looked at.
TEST(LaunchColumns, PlansAreNotSlowerThanWithoutThem) {
  std::vector<te::Program> programs = someByHand();
  te::RandomOptions random;
  random.definitions = 9;
  random.types = {ElementType::F32};
  for (uint64_t seed = 1; seed <= 40; ++seed)
    programs.push_back(te::randomProgram(seed, random));
  size_t shares = 0;
  double all = 0, allAlone = 0;
  for (const te::Program &program : programs)
    for (double barrier : {0.0, 1e-7}) {
      Plan shared = planFor(program, onGpu(true, barrier));
      Plan alone = planFor(program, onGpu(false, barrier));
      double before = shared.objectiveSeconds;
      double after = secondsOf(shared, onGpu(true, barrier));
      EXPECT_LE(after, before * (1 + 1e-9));
      double apart = secondsOf(alone, onGpu(false, barrier));
      EXPECT_LE(after, 1.03 * apart) << shared.print() << alone.print();
      all += after;
      allAlone += apart;
      shares += mostAtOnce(shared.root) > 1;
    }
  EXPECT_GT(shares, 20u);
  EXPECT_LT(all, 0.999 * allAlone);
}

TEST(LaunchColumns, SearchIsNoSlowerThanGreedy) {
  te::RandomOptions random;
  random.definitions = 12;
  random.scans = false;
  random.types = {ElementType::F32};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    te::Program program = te::randomProgram(seed, random);
    OrchestrateOptions greedy = onGpu(true);
    greedy.mode = PlanMode::Greedy;
    Plan best = planFor(program, onGpu(true)), other = planFor(program, greedy);
    double margins = cost::Margins().sharedLaunches * static_cast<double>(other.stages.size()) *
                     greedy.space.schedule.machine.stageSeconds;
    EXPECT_LE(secondsOf(best, onGpu(true)), secondsOf(other, greedy) + margins) << seed;
  }
}

TEST(LaunchColumns, ComputeWhatKernelsAloneDo) {
  for (const te::Program &program : someByHand()) {
    Plan shared = planFor(program, onGpu(true, 1e-7)), alone = planFor(program, onGpu(false));
    std::vector<std::vector<double>> inputs = inputsOf(program, 3);
    PlanRun one = runPlan(shared, inputs), other = runPlan(alone, inputs);
    EXPECT_EQ(one.problem, "") << shared.print();
    ASSERT_EQ(one.outputs.size(), other.outputs.size());
    for (auto [a, b] : llvm::zip_equal(one.outputs, other.outputs))
      for (auto [x, y] : llvm::zip_equal(a, b))
        EXPECT_NEAR(x, y, 1e-9 * std::max(1.0, std::abs(y)));
  }
}

} // namespace
} // namespace kintsugi::orchestrate
