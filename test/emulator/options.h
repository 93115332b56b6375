//===- options.h - Which device is emulated, and how ------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_OPTIONS_H
#define KINTSUGI_TEST_EMULATOR_OPTIONS_H

#include "launch.h"

#include <string>

namespace kintsugi::emulator {

struct Options {
  const char *name = "Emulated H200";
  int major = 9, minor = 0;
  int multiprocessors = 132;
  int sharedBytes = 232448; ///< Of a block that asks for them.
  Habits habits;
  std::string countsFile; ///< Gets a line of JSON for each launch.
};

/// Of KINTSUGI_EMULATOR, a list: "sm_80" or "sm_90a", "seed=N", "workers=N", "perturb",
/// "counts=FILE".
Options readOptions();

/// Of KINTSUGI_EMULATOR_FAULT, "FROM=>TO": what tests change in a text to see that it is noticed.
void plantFault(std::string &text);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_OPTIONS_H
