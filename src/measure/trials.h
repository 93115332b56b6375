//===- trials.h - Timing work among what else a machine does ----------------===//
//
// The best of many short trials: whatever else runs only makes them slower. A trial says itself
// whether it counts: one during which others had the cores tells how busy they are, not how fast
// the machine is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MEASURE_TRIALS_H
#define KINTSUGI_MEASURE_TRIALS_H

#include <cstdint>
#include <functional>

namespace kintsugi::measure {

double secondsOf(const std::function<void()> &work);

/// Processor time that the calling thread has had.
double threadSeconds();

/// The least seconds that `work` takes where it returns true; infinity where it never does.
double leastSeconds(const std::function<bool()> &work);

/// The most that `work(n)`, which does n times as much as work(1), gets done a second where it
/// returns true; 0 where it never does.
double bestRate(const std::function<bool(uint64_t)> &work);

} // namespace kintsugi::measure

#endif // KINTSUGI_MEASURE_TRIALS_H
