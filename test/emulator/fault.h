//===- fault.h - What ends a launch, or the loading of a text --------------===//
#ifndef KINTSUGI_TEST_EMULATOR_FAULT_H
#define KINTSUGI_TEST_EMULATOR_FAULT_H

#include <string>

namespace kintsugi::emulator {

/// Thrown within the emulator alone; the driver's functions return numbers.
struct Fault {
  /// Numbers of the driver's interface.
  enum Code {
    InvalidValue = 1,
    InvalidText = 218,
    IllegalAddress = 700,
    Misaligned = 716,
    Failed = 719
  };

  Code code;
  std::string message;
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_FAULT_H
