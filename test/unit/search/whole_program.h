//===- whole_program.h - Programs of text as one kernel ---------------------===//
#ifndef KINTSUGI_TEST_UNIT_SEARCH_WHOLE_PROGRAM_H
#define KINTSUGI_TEST_UNIT_SEARCH_WHOLE_PROGRAM_H

#include "search/scheduler.h"
#include "te/parser.h"
#include "gtest/gtest.h"

namespace kintsugi::test {

inline te::Program parsed(const std::string &text) {
  Expected<te::Program> program = te::parseProgram(text, "test.te");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return std::move(*program);
}

/// All definitions.
inline loops::Group wholeOf(const te::Program &program) {
  loops::Group group;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    group.nodes.push_back(node);
  for (const te::Program::Output &output : program.outputs)
    group.outputs.push_back(output.value);
  return group;
}

/// Two cores, whose last cache holds `cacheBytes`.
inline search::ScheduleOptions vectorMachine(int64_t cacheBytes, int vectorBits = 512) {
  search::ScheduleOptions options;
  options.machine.cores = 2;
  options.machine.vectorBits = vectorBits;
  options.machine.vectorRegisters = 32;
  options.machine.flopsPerSecond = 2e11;
  options.machine.levels = {{"memory", int64_t(1) << 34, 2, 2e10, 4e10},
                            {"L3", cacheBytes, 2, 5e10, 1e11},
                            {"L2", 1 << 18, 1, 1e11, 2e11},
                            {"L1", 48 << 10, 1, 4e11, 8e11}};
  return options;
}

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_UNIT_SEARCH_WHOLE_PROGRAM_H
