//===- parallel_test.cpp --------------------------------------------------===//

#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace kintsugi;

TEST(InParallel, DoesEachPieceOnce) {
  for (unsigned threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> times(100);
    inParallel(times.size(), threads, [&](size_t number) { ++times[number]; });
    for (const std::atomic<int> &each : times)
      EXPECT_EQ(each, 1);
  }
}

TEST(InParallel, IsInOrderOnOneThread) {
  std::vector<size_t> order;
  inParallel(4, 1, [&](size_t number) { order.push_back(number); });
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3}));
}

TEST(InParallel, RunsPiecesAtTheSameTime) {
  std::atomic<int> here = 0;
  inParallel(3, 3, [&](size_t) { // Ends only if all three are at work together.
    ++here;
    while (here < 3)
      std::this_thread::yield();
  });
  EXPECT_EQ(here, 3);
}

TEST(MakeInParallel, KeepsTheOrderOfTheNumbers) {
  std::atomic<int> here = 0;
  auto made = makeInParallel(3, 3, [&](size_t number) { // The last one ends first.
    ++here;
    while (here < int(5 - number))
      std::this_thread::yield();
    ++here;
    return std::to_string(number);
  });
  EXPECT_EQ(made, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(ThreadsOfEach, AreOneAtLeast) {
  EXPECT_EQ(threadsOfEach(8, 3), 2u);
  EXPECT_EQ(threadsOfEach(2, 5), 1u);
}
