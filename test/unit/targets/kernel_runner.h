//===- kernel_runner.h - Compiles a schedule, runs it, compares -------------===//
//
// Builds the tile program of a schedule, compiles it for this machine, loads the shared object from
// memory and runs it; the plain runner says what should come out.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_TARGETS_KERNEL_RUNNER_H
#define KINTSUGI_TEST_TARGETS_KERNEL_RUNNER_H

#include "abi/stage.h"
#include "plain_runner.h"

#include <memory>
#include <string>

namespace kintsugi::test {

/// The elements of memory buffers as doubles, by buffer number; missing ones are zero.
using Operands = std::vector<std::vector<double>>;

/// The instruction set levels that this machine runs, from x86-64-v3 on.
std::vector<std::string> hostLevels();
/// The highest of them.
std::string hostLevel();

/// A compiled schedule, loaded into this process.
class LoadedKernel {
public:
  /// `problem` is empty if all went well.
  LoadedKernel(const loops::Schedule &schedule, const std::string &level, std::string &problem);
  ~LoadedKernel();

  KinStageFunction function = nullptr;

private:
  void *library = nullptr;
};

/// A number rounded to a type (saturating for integers), and one of that type as a double.
Number numberOf(ElementType type, double value);
double asDouble(ElementType type, Number number);

/// The bytes of memory, and back.
std::vector<std::byte> packed(ElementType type, const std::vector<double> &values);
std::vector<double> unpacked(ElementType type, const std::vector<std::byte> &bytes);

/// Compares what a kernel made of operands with what the plain runner does: as compareKernel.
std::string compareWithPlain(const loops::Schedule &schedule, const Operands &operands,
                             const Operands &got, double tolerance);

/// Runs all tiles on operands that nothing may be read or written behind. Returns what is wrong, or
/// "".
std::string runKernel(const loops::Schedule &schedule, const std::string &level,
                      Operands &operands);

/// Runs kernel and plain runner on the same operands at every level that this machine has, and
/// compares all memory: within `tolerance` of the largest magnitude (0: equal; NaN is equal to
/// NaN). Returns what differs, or "".
std::string compareKernel(const loops::Schedule &schedule, const Operands &operands,
                          double tolerance);

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_KERNEL_RUNNER_H
