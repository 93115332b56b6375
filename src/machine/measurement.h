//===- measurement.h - What a machine was seen to sustain -------------------===//
//
// The figures of `kintsugi doctor --measure`, and the description with them in the place of those
// that a processor's name and caches suggest. Kept as JSON between compiles, so what is read back
// may be anything.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MACHINE_MEASUREMENT_H
#define KINTSUGI_MACHINE_MEASUREMENT_H

#include "base/json.h"
#include "machine/machine.h"

namespace kintsugi::machine {

/// Bytes a second from a level of memory. A copy counts what it reads and what it writes.
struct MeasuredMemory {
  std::string name; ///< As in the description.
  double readOne = 0, readAll = 0;
  double copyOne = 0, copyAll = 0;

  bool operator==(const MeasuredMemory &) const = default;
};

/// With the vectors of one level of the instruction set.
struct MeasuredLevel {
  std::string level;      ///< "x86-64-v3", ...
  double flopsOne = 0;    ///< A core working alone, f32 multiply-adds counted as two.
  double flopsAll = 0;    ///< Each core when all work.
  double flopsOneF64 = 0; ///< As flopsOne, in f64.
  std::vector<MeasuredMemory> memory;

  bool operator==(const MeasuredLevel &) const = default;
};

/// Of a device whose stages are launches.
struct MeasuredLaunches {
  std::string device;        ///< As its driver names it.
  double stageSeconds = 0;   ///< Another launch in a recorded run.
  double barrierSeconds = 0; ///< Another phase of a launch.

  Machine applyTo(Machine assumed) const;

  Json toJson() const;
  /// As Measurement::fromJson.
  static Expected<MeasuredLaunches> fromJson(const Json &json);

  bool operator==(const MeasuredLaunches &) const = default;
};

struct Measurement {
  double stageSeconds = 0; ///< Start and barrier of one stage on workers that spin.
  double wakeSeconds = 0;  ///< The same where they sleep.
  std::vector<MeasuredLevel> levels;

  /// The description with what was measured at its level of the instruction set.
  Machine applyTo(Machine assumed) const;

  Json toJson() const;
  /// An input error for anything that toJson() would not give, and for figures no machine has.
  static Expected<Measurement> fromJson(const Json &json);

  bool operator==(const Measurement &) const = default;
};

} // namespace kintsugi::machine

#endif // KINTSUGI_MACHINE_MEASUREMENT_H
