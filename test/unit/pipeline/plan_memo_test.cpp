// A program is planned once under a memo, and what is planned of equal ones is what is planned of
// them without it.

#include "base/status.h"
#include "pipeline/planning.h"
#include "pipeline/targets.h"
#include "te/parser.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::pipeline;

namespace {

te::Program layers(const std::string &result) {
  std::string text = "input x[i:64, k:64] f32\ninput w[k:64, j:64] f32\n"
                     "s[i:64, j:64] f32 = sum<f32>[k:64] x[i, k] * w[k, j]\n" +
                     result + "[i:64, j:64] f32 = max(s[i, j], 0)\noutput " + result + "\n";
  Expected<te::Program> program = te::parseProgram(text, "layers");
  EXPECT_TRUE(program.ok());
  return std::move(*program);
}

class PlanMemoTest : public testing::TestWithParam<const char *> {
protected:
  PlanMemoTest() {
    options.target = GetParam();
    options.machine =
        *machine::Machine::forLevel(options.target == "cuda" ? "sm_90a" : "x86-64-v3");
    target = std::move(*makeTarget(options.target));
  }

  std::unique_ptr<Planned> planOf(const te::Program &program, PlanMemo &memo, explain::Log *log) {
    CompileOptions logged = options;
    logged.log = log;
    Phases phases(logged, report);
    Expected<std::unique_ptr<Planned>> made = planned(program, {logged, *target, phases, memo});
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }

  CompileOptions options;
  CompileReport report;
  std::unique_ptr<targets::Target> target;
};

TEST_P(PlanMemoTest, EqualProgramsHaveOnePlan) {
  PlanMemo memo, another;
  explain::Log log;
  te::Program program = layers("y");
  std::unique_ptr<Planned> first = planOf(program, memo, &log);
  te::Program equal = layers("y");
  std::unique_ptr<Planned> second = planOf(equal, memo, &log);
  EXPECT_EQ(first->program, second->program) << "it was planned again";
  EXPECT_EQ(first->plan.print(), second->plan.print());
  EXPECT_EQ(first->log.records(), second->log.records());
  EXPECT_FALSE(second->log.records().empty());
  EXPECT_EQ(planOf(equal, another, &log)->plan.print(), second->plan.print());
}

TEST_P(PlanMemoTest, WhatOneDoesWithAPlanTheNextDoesNotSee) {
  PlanMemo memo;
  te::Program program = layers("y");
  std::unique_ptr<Planned> first = planOf(program, memo, nullptr);
  std::string before = first->plan.print();
  first->plan.stages.clear();
  first.reset();
  std::unique_ptr<Planned> second = planOf(program, memo, nullptr);
  EXPECT_EQ(second->plan.print(), before);
  for (const orchestrate::Kernel &kernel : second->plan.kernels)
    EXPECT_EQ(kernel.program, second->program.get());
}

TEST_P(PlanMemoTest, NamesArePartOfAPlan) {
  PlanMemo memo;
  std::unique_ptr<Planned> y = planOf(layers("y"), memo, nullptr);
  std::unique_ptr<Planned> z = planOf(layers("z"), memo, nullptr);
  EXPECT_EQ(y->plan.outputs[0].name, "y");
  EXPECT_EQ(z->plan.outputs[0].name, "z");
}

INSTANTIATE_TEST_SUITE_P(Targets, PlanMemoTest, testing::Values("cpu", "cuda"));

} // namespace
