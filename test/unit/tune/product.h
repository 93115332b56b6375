//===- product.h - A kernel to tune ---------------------------------------------===//
#ifndef KINTSUGI_TEST_TUNE_PRODUCT_H
#define KINTSUGI_TEST_TUNE_PRODUCT_H

#include "space/space.h"
#include "te/parser.h"
#include "gtest/gtest.h"

namespace kintsugi::tune {

/// relu(x w) with constant w, as one group of a program; `finish` follows what is stored.
struct Product {
  te::Program program;
  loops::Group group;
  search::ScheduleOptions options;

  enum class Where : uint8_t { Processor, Gpu };

  explicit Product(Where where = Where::Processor, const std::string &finish = "") {
    std::string m = where == Where::Gpu ? "256" : "64", k = where == Where::Gpu ? "512" : "96";
    std::string type = where == Where::Gpu ? "f16" : "f32"; // Of matrix units.
    auto parsed = te::parseProgram("input x[m:" + m + ", k:" + k + "] " + type + "\n" +
                                       "input w[k:" + k + ", n:128] " + type + "\n" + "t[m:" + m +
                                       ", n:128] f32 = sum<f32>[k:" + k +
                                       "] f32(x[m, k]) * f32(w[k, n])\n" + "y[m:" + m +
                                       ", n:128] f32 = max(t[m, n], 0.0)" + finish + "\noutput y\n",
                                   "product.te");
    EXPECT_TRUE(parsed.ok());
    program = std::move(*parsed);
    group.nodes = {0, 1};
    group.outputs = {program.outputs[0].value};
    group.constants = {program.inputs[1]};
    options.machine = *machine::Machine::forLevel("x86-64-v3");
    options.machine.cores = 4;
    options.machine.stageSeconds = 1e-7;
    if (where == Where::Processor)
      return;
    options.machine = *machine::Machine::forLevel("sm_90a");
    options.scratchLimit = 88 << 10;
    options.ringLimit = 200 << 10;
    options.clusterBlocks = 8;
    options.copies = false;
  }

  search::ScheduleResult defaults() const { return search::scheduleGroup(program, group, options); }
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TEST_TUNE_PRODUCT_H
