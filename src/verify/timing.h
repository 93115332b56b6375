//===- timing.h - What a series of timed runs says --------------------------===//
//
// The statistics of `kintsugi bench`: order statistics only, since run times have long tails and no
// useful mean.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_TIMING_H
#define KINTSUGI_VERIFY_TIMING_H

#include "base/status.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace kintsugi::verify {

struct Timing {
  size_t runs = 0;
  double minSeconds = 0;
  double medianSeconds = 0; ///< The mean of the middle two for an even number.
  double p99Seconds = 0;    ///< The least time that 99 in 100 runs do not exceed (nearest rank).
};

/// All zero for no times. Sorts them.
Timing summarize(std::vector<double> &seconds);

struct TimingOptions {
  double seconds = 3;   ///< Runs start until so much time has passed,
  size_t leastRuns = 3; ///< and until there are so many.
};

/// Times `run` over and over after one run that does not count; its first error ends it.
Expected<Timing> timeRuns(const std::function<Status()> &run, const TimingOptions &options);

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_TIMING_H
