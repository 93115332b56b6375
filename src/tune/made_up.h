//===- made_up.h - Values for kernels that are timed alone ------------------===//
#ifndef KINTSUGI_TUNE_MADE_UP_H
#define KINTSUGI_TUNE_MADE_UP_H

#include "loops/schedule.h"

#include <cstddef>
#include <vector>

namespace kintsugi::tune {

/// Whether made-up values serve: integers could be positions or how often a loop runs.
bool canBeMeasured(const loops::Schedule &schedule);

/// Floats on [-1.73, 1.73), booleans even; the same few over and over, others for each seed.
std::vector<std::byte> madeUpValues(ElementType type, uint64_t bytes, uint64_t seed = 0);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_MADE_UP_H
