//===- timing_test.cpp - Statistics of runs ----------------------------------===//

#include "verify/timing.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kintsugi::verify {
namespace {

Timing of(std::vector<double> seconds) { return summarize(seconds); }

TEST(Timing, OrderStatistics) {
  Timing odd = of({3, 1, 2});
  EXPECT_EQ(odd.runs, 3u);
  EXPECT_EQ(odd.minSeconds, 1);
  EXPECT_EQ(odd.medianSeconds, 2);
  EXPECT_EQ(odd.p99Seconds, 3);
  EXPECT_EQ(of({4, 1, 2, 3}).medianSeconds, 2.5);
  EXPECT_EQ(of({5}).p99Seconds, 5);
  EXPECT_EQ(of({}).runs, 0u);
}

TEST(Timing, The99thPercentileLeavesOutOneInAHundred) {
  std::vector<double> seconds(200);
  std::iota(seconds.begin(), seconds.end(), 1);
  EXPECT_EQ(of(seconds).p99Seconds, 198);
  seconds.resize(100);
  EXPECT_EQ(of(seconds).p99Seconds, 99);
  seconds.resize(99);
  EXPECT_EQ(of(seconds).p99Seconds, 99);
}

TEST(Timing, RunsAtLeastSoOftenAfterOneThatDoesNotCount) {
  size_t calls = 0;
  TimingOptions options;
  options.seconds = 0;
  options.leastRuns = 4;
  Expected<Timing> timing = timeRuns(
      [&] {
        ++calls;
        return Status::success();
      },
      options);
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->runs, 4u);
  EXPECT_EQ(calls, 5u);
}

TEST(Timing, TheFirstErrorEndsIt) {
  size_t calls = 0;
  Expected<Timing> timing = timeRuns(
      [&]() -> Status {
        if (++calls == 2)
          return usageError("enough");
        return Status::success();
      },
      {});
  EXPECT_FALSE(timing.ok());
  EXPECT_EQ(timing.error().message, "enough");
  EXPECT_EQ(calls, 2u);
}

} // namespace
} // namespace kintsugi::verify
