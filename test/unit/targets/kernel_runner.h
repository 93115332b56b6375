//===- kernel_runner.h - Compiles a schedule, runs it, compares -------------===//
//
// Builds the tile program of a schedule, compiles it for this machine, loads the shared object from
// memory and runs it; the plain runner of schedules says what should come out.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_TARGETS_KERNEL_RUNNER_H
#define KINTSUGI_TEST_TARGETS_KERNEL_RUNNER_H

#include "../schedule/runner.h"
#include "abi/stage.h"

#include <memory>
#include <string>

namespace kintsugi::test {

/// The highest instruction set level that this machine runs.
std::string hostLevel();

/// A compiled schedule, loaded into this process.
class LoadedKernel {
public:
  /// `problem` is empty if all went well.
  LoadedKernel(const schedule::Schedule &schedule, const std::string &level, std::string &problem);
  ~LoadedKernel();

  KinStageFunction function = nullptr;

private:
  void *library = nullptr;
};

/// Elements of a type from doubles, and back.
std::vector<std::byte> pack(ElementType type, const std::vector<double> &values);
std::vector<double> unpack(ElementType type, const std::vector<std::byte> &bytes);

/// Runs all tiles on memory buffers (each with guard bytes behind it that must stay as they are).
/// Returns what is wrong, or "".
std::string runKernel(const schedule::Schedule &schedule, const std::string &level, Memory &memory);

/// Runs kernel and plain runner on the same memory at every level that this machine has, and
/// compares what was written: within `tolerance` of the largest magnitude (0: equal; NaN is equal
/// to NaN). Returns what differs, or "".
std::string compareKernel(const schedule::Schedule &schedule, const Memory &memory,
                          double tolerance);

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_KERNEL_RUNNER_H
