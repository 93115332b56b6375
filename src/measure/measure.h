//===- measure.h - What this machine sustains -------------------------------===//
//
// Times the probes of machine/probes.h on one core and on all, and the start of stages on workers
// like those that run models. Takes a few seconds. Each figure is the best of several trials:
// whatever else runs only makes them slower.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MEASURE_MEASURE_H
#define KINTSUGI_MEASURE_MEASURE_H

#include "machine/measurement.h"

namespace kintsugi::measure {

/// `machines` describe the machine that this runs on, each with another level of the instruction
/// set that it has. A machine error where something else keeps the cores busy all the
/// time, or there is not enough memory.
Expected<machine::Measurement> measure(const std::vector<machine::Machine> &machines);

} // namespace kintsugi::measure

#endif // KINTSUGI_MEASURE_MEASURE_H
