//===- measured_machine.h - The description that compiles here use ----------===//
//
// What `doctor --measure` found is kept beside the cached artifacts, under the machine's identity,
// until it is forgotten; from then on it stands in the place of what the processor suggests. What
// is damaged there, or can't be read, is as good as not there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_MEASURED_MACHINE_H
#define KINTSUGI_API_COMPILER_MEASURED_MACHINE_H

#include "machine/measurement.h"

#include <optional>

namespace kintsugi::api {

class KnownMachine {
public:
  machine::Machine assumed; ///< From the processor's name and caches.
  std::optional<machine::Measurement> measured;

  /// The description to compile with.
  machine::Machine inUse() const { return inUse(assumed); }
  /// The same for code of a level of the instruction set.
  machine::Machine inUseAt(machine::Level level) const {
    return inUse(machine::Machine::detectAt(level));
  }

private:
  machine::Machine inUse(const machine::Machine &machine) const {
    return measured ? measured->applyTo(machine) : machine;
  }
};

/// The machine that this runs on.
KnownMachine knownMachine();

/// Measures it and keeps the result.
Expected<KnownMachine> measureMachine();

/// Afterwards there is no measurement of it.
Status forgetMeasurement();

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_MEASURED_MACHINE_H
