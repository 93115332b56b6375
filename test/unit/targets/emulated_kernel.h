//===- emulated_kernel.h - Runs a schedule's code for GPUs, compares --------===//
//
// What kernel_runner.h does for processors: NVPTX's text is executed by test/emulator.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_TARGETS_EMULATED_KERNEL_H
#define KINTSUGI_TEST_TARGETS_EMULATED_KERNEL_H

#include "kernel_runner.h"

#include <map>

namespace kintsugi::test {

/// How often warps executed instructions, by name.
class Executed {
public:
  uint64_t operator()(std::string_view prefix) const {
    uint64_t all = 0;
    for (const auto &[name, count] : counts)
      if (name.starts_with(prefix))
        all += count;
    return all;
  }

  std::map<std::string, uint64_t> counts;
};

/// Runs the code for a level and the plain runner on the same operands, and compares all memory.
/// Returns what is wrong, or "".
std::string compareOnGpu(const loops::Schedule &schedule, const std::string &level,
                         const Operands &operands, double tolerance, Executed &executed);

/// Numbers from -1 to 1 for all memory, the same in each run.
Operands someOperands(const loops::Schedule &schedule);

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_EMULATED_KERNEL_H
