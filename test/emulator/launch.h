//===- launch.h - Running a kernel's blocks ---------------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_LAUNCH_H
#define KINTSUGI_TEST_EMULATOR_LAUNCH_H

#include "fault.h"
#include "memory.h"
#include "program.h"

#include <atomic>
#include <string>

namespace kintsugi::emulator {

/// How the emulated device differs from run to run.
struct Habits {
  uint32_t seed = 1;     ///< Of the order of what may come in any.
  unsigned workers = 2;  ///< Threads of the host.
  bool perturbs = false; ///< Approximations are off by as much as they may be.
};

struct Launch {
  const Program &program;
  const Memory &memory;
  Habits habits;
  unsigned blocks = 1, threads = 1;
  uint32_t openBytes = 0; ///< Of shared memory.
  bool startsEarly = false, meets = false;
  std::vector<std::byte> parameters;
  std::vector<uint64_t> counts; ///< Of instructions that warps execute, by the program's names.
};

/// Throws a Fault.
void run(Launch &launch);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_LAUNCH_H
