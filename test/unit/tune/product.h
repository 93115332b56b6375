//===- product.h - A kernel to tune ---------------------------------------------===//
#ifndef KINTSUGI_TEST_TUNE_PRODUCT_H
#define KINTSUGI_TEST_TUNE_PRODUCT_H

#include "space/space.h"
#include "te/parser.h"
#include "gtest/gtest.h"

namespace kintsugi::tune {

/// relu(x w) with constant w, as one group of a program.
struct Product {
  te::Program program;
  schedule::Group group;
  schedule::ScheduleOptions options;

  Product() {
    auto parsed = te::parseProgram("input x[m:64, k:96] f32\n"
                                   "input w[k:96, n:128] f32\n"
                                   "t[m:64, n:128] f32 = sum<f32>[k:96] x[m, k] * w[k, n]\n"
                                   "y[m:64, n:128] f32 = max(t[m, n], 0.0)\n"
                                   "output y\n",
                                   "product.te");
    EXPECT_TRUE(parsed.ok());
    program = std::move(*parsed);
    group.nodes = {0, 1};
    group.outputs = {program.outputs[0].value};
    group.constants = {program.inputs[1]};
    options.machine = *machine::Machine::forLevel("x86-64-v3");
    options.machine.cores = 4;
    options.machine.stageSeconds = 1e-7;
  }

  schedule::ScheduleResult defaults() const {
    return schedule::scheduleGroup(program, group, options);
  }
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TEST_TUNE_PRODUCT_H
