//===- on_gpu.h - Schedules of programs as one kernel for a GPU ------------===//
#ifndef KINTSUGI_TEST_UNIT_SEARCH_ON_GPU_H
#define KINTSUGI_TEST_UNIT_SEARCH_ON_GPU_H

#include "whole_program.h"

namespace kintsugi::test {

/// All definitions as one kernel for a GPU, `constants` of them known when it is compiled.
inline search::ScheduleResult resultOf(const te::Program &program,
                                       llvm::ArrayRef<te::ValueId> constants = {},
                                       int64_t ringLimit = 200 << 10, unsigned clusterBlocks = 1,
                                       bool bulk = true) {
  loops::Group group = wholeOf(program);
  group.constants.assign(constants.begin(), constants.end());
  search::ScheduleOptions options;
  options.machine = *machine::Machine::forLevel("sm_90a");
  options.ringLimit = ringLimit;
  options.clusterBlocks = clusterBlocks;
  options.bulk = bulk;
  options.scratchLimit = 88 << 10;
  options.copies = false;
  search::ScheduleResult result = search::scheduleGroup(program, group, options);
  EXPECT_TRUE(result.schedule) << result.reason;
  return result;
}

inline loops::Schedule scheduled(const te::Program &program,
                                 llvm::ArrayRef<te::ValueId> constants = {},
                                 int64_t ringLimit = 200 << 10) {
  return std::move(*resultOf(program, constants, ringLimit).schedule);
}

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_UNIT_SEARCH_ON_GPU_H
