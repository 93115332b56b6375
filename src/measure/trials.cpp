#include "measure/trials.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

namespace kintsugi::measure {

/// Long enough for the clocks, and short enough to fall between what else runs.
static constexpr double trialSeconds = 3e-4;
/// Of all trials of one thing together, and of those where none counts.
static constexpr double enoughSeconds = 60e-3, mostSeconds = 1;
double threadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

double secondsOf(const std::function<void()> &work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double leastSeconds(const std::function<bool()> &work) {
  double least = INFINITY, spent = 0;
  while (spent < (std::isinf(least) ? mostSeconds : enoughSeconds)) {
    bool counts = false;
    double seconds = secondsOf([&] { counts = work(); });
    spent += seconds;
    if (counts)
      least = std::min(least, seconds);
  }
  return least;
}

double bestRate(const std::function<bool(uint64_t)> &work) {
  uint64_t count = 1;
  work(count); // Fills caches.
  while (secondsOf([&] { work(count); }) < trialSeconds)
    count *= 2;
  return double(count) / leastSeconds([&] { return work(count); });
}

} // namespace kintsugi::measure
