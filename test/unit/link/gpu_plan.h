//===- gpu_plan.h - Plans of texts for a GPU --------------------------------===//
#ifndef KINTSUGI_TEST_LINK_GPU_PLAN_H
#define KINTSUGI_TEST_LINK_GPU_PLAN_H

#include "orchestrate/orchestrate.h"
#include "te/parser.h"

#include <gtest/gtest.h>

namespace kintsugi::test {

/// A text's program and the machine that it is planned for.
class GpuPlan : public testing::Test {
protected:
  void parse(const char *text) {
    machine = *machine::Machine::forLevel("sm_90a");
    auto parsed = te::parseProgram(text, "test.te");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    program = std::move(*parsed);
  }

  orchestrate::Plan planned(orchestrate::PlanMode mode) const {
    orchestrate::OrchestrateOptions options;
    options.space.schedule.machine = machine;
    options.space.schedule.copies = false;
    options.mode = mode;
    auto plan = orchestrate::orchestrate(program, options);
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
    return std::move(*plan);
  }

  machine::Machine machine;
  te::Program program;
};

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_LINK_GPU_PLAN_H
