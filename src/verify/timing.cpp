#include "verify/timing.h"

#include <algorithm>
#include <chrono>

namespace kintsugi::verify {

Timing summarize(std::vector<double> &seconds) {
  if (seconds.empty())
    return {};
  std::sort(seconds.begin(), seconds.end());
  size_t count = seconds.size();
  Timing timing;
  timing.runs = count;
  timing.minSeconds = seconds.front();
  timing.medianSeconds = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
  timing.p99Seconds = seconds[(count * 99 + 99) / 100 - 1];
  return timing;
}

Expected<Timing> timeRuns(const std::function<Status()> &run, const TimingOptions &options) {
  using Clock = std::chrono::steady_clock;
  KINTSUGI_RETURN_IF_ERROR(run());
  std::vector<double> seconds;
  std::chrono::duration<double> limit(options.seconds);
  for (auto start = Clock::now();
       seconds.size() < options.leastRuns || Clock::now() - start < limit;) {
    auto before = Clock::now();
    KINTSUGI_RETURN_IF_ERROR(run());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - before).count());
  }
  return summarize(seconds);
}

} // namespace kintsugi::verify
