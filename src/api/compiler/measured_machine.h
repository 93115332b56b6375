//===- measured_machine.h - The description that compiles here use ----------===//
//
// What `doctor --measure` found is kept beside the cached artifacts, under the machine's identity,
// until it is forgotten; from then on it stands in the place of what the processor suggests. What
// is damaged there, or can't be read, is as good as not there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_MEASURED_MACHINE_H
#define KINTSUGI_API_COMPILER_MEASURED_MACHINE_H

#include "devices/cuda/cuda_device.h"
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

/// The device that the target cuda compiles for and runs on, by number: as it is assumed to be,
/// with what was measured of it. Without it nothing is known of it.
machine::Machine knownGpu(int number);

/// What was measured of the devices of this machine, in their order, as they are now.
std::vector<std::optional<machine::MeasuredLaunches>>
measuredGpus(const std::vector<devices::CudaDeviceInfo> &devices);

/// That which measurements of a device hold for.
std::string identityOf(const devices::CudaDeviceInfo &device);

/// From now on this stands in the description of the machine.
Status keepMeasurement(const machine::Measurement &measurement);

/// Measures it, and the devices that it has, and keeps the result.
Expected<KnownMachine> measureMachine();

/// Afterwards there is no measurement of them.
Status forgetMeasurement();

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_MEASURED_MACHINE_H
