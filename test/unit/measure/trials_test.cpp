#include "measure/trials.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

namespace kintsugi::measure {
namespace {

TEST(Trials, onlyThoseThatCountAreTaken) {
  int calls = 0;
  double least = leastSeconds([&] {
    bool counts = ++calls % 2 == 0;
    if (counts)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return counts;
  });
  EXPECT_GE(least, 5e-3);
  EXPECT_GT(calls, 2);
}

TEST(Trials, withoutAnyThatCountsThereIsNoFigure) {
  EXPECT_TRUE(std::isinf(leastSeconds([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return false;
  })));
  EXPECT_EQ(bestRate([](uint64_t) {
              std::this_thread::sleep_for(std::chrono::milliseconds(100));
              return false;
            }),
            0);
}

TEST(Trials, shortWorkIsRepeated) {
  uint64_t most = 0;
  double rate = 0;
  for (int attempt = 0; attempt < 10 && most <= 1;
       ++attempt) // On a busy machine a nap may be long.
    rate = bestRate([&](uint64_t times) {
      most = std::max(most, times);
      std::this_thread::sleep_for(std::chrono::microseconds(10 * times));
      return true;
    });
  EXPECT_GT(most, 1u);
  EXPECT_GT(rate, 0);
  EXPECT_LE(rate, 1e5);
}

TEST(Trials, sleepingTakesNoProcessorTime) {
  double before = threadSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(threadSeconds() - before, 0.04);
}

} // namespace
} // namespace kintsugi::measure
