//===- workers_test.cpp - Threads that share tiles ------------------------===//

#include "runtime/workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace kintsugi::runtime;

namespace {

/// Counts how often each item was computed, and which workers took part.
struct Tally {
  explicit Tally(uint64_t count) : items(count) {}

  static void add(void *argument, uint32_t worker, uint64_t begin, uint64_t end) {
    auto &tally = *static_cast<Tally *>(argument);
    uint32_t most = tally.highestWorker.load();
    while (worker > most && !tally.highestWorker.compare_exchange_weak(most, worker))
      ;
    for (uint64_t i = begin; i < end; ++i)
      ++tally.items[i]; // Not atomic: each item belongs to one worker.
  }

  bool eachExactly(int times) const {
    return std::all_of(items.begin(), items.end(), [&](int n) { return n == times; });
  }

  std::vector<int> items;
  std::atomic<uint32_t> highestWorker{0};
};

} // namespace

TEST(Workers, EveryItemIsComputedOnce) {
  Workers workers;
  EXPECT_EQ(workers.grow(4), 4u);
  ASSERT_TRUE(workers.tryHold());
  for (uint64_t count : {0, 1, 2, 3, 4, 5, 15, 16, 17, 1000, 12345}) {
    Tally tally(count);
    workers.run(4, count, Tally::add, &tally);
    EXPECT_TRUE(tally.eachExactly(1)) << count;
  }
  workers.letGo();
}

TEST(Workers, ItemsInARowAreGivenOutTogether) {
  Workers workers;
  workers.grow(3);
  ASSERT_TRUE(workers.tryHold());
  struct Rows : Tally {
    using Tally::Tally;
    std::atomic<bool> areWhole{true};
    static void add(void *argument, uint32_t worker, uint64_t begin, uint64_t end) {
      auto &rows = *static_cast<Rows *>(argument);
      if (begin % 5 != 0 || end % 5 != 0)
        rows.areWhole = false;
      Tally::add(static_cast<Tally *>(&rows), worker, begin, end);
    }
  };
  for (uint64_t count : {0, 5, 10, 35, 1000, 12345}) {
    Rows rows(count);
    workers.run(3, count, Rows::add, &rows, 5);
    EXPECT_TRUE(rows.eachExactly(1)) << count;
    EXPECT_TRUE(rows.areWhole) << count;
  }
  workers.letGo();
}

TEST(Workers, ManyShortStagesInARow) {
  Workers workers;
  workers.grow(3);
  ASSERT_TRUE(workers.tryHold());
  Tally tally(7);
  for (int i = 0; i < 5000; ++i)
    workers.run(3, 7, Tally::add, &tally);
  EXPECT_TRUE(tally.eachExactly(5000));
  workers.letGo();
}

TEST(Workers, NoMoreThanAskedForTakePart) {
  Workers workers;
  workers.grow(6);
  ASSERT_TRUE(workers.tryHold());
  for (uint32_t threads : {1, 2, 3}) {
    Tally tally(500);
    for (int i = 0; i < 200; ++i)
      workers.run(threads, 500, Tally::add, &tally);
    EXPECT_LT(tally.highestWorker, threads);
    EXPECT_TRUE(tally.eachExactly(200));
  }
  workers.letGo();
}

TEST(Workers, OthersTakePartOnceTheyAreAwake) {
  Workers workers;
  workers.grow(2);
  ASSERT_TRUE(workers.tryHold());
  // The first item waits for the second, which only another thread can compute.
  struct Meeting {
    std::atomic<int> arrived{0};
    static void wait(void *argument, uint32_t, uint64_t, uint64_t) {
      auto &meeting = *static_cast<Meeting *>(argument);
      ++meeting.arrived;
      while (meeting.arrived.load() < 2)
        std::this_thread::yield();
    }
  };
  for (int i = 0; i < 20; ++i) {
    Meeting meeting;
    workers.run(2, 2, Meeting::wait, &meeting);
    EXPECT_EQ(meeting.arrived, 2);
    if (i % 4 == 0) // Long enough to fall asleep.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  workers.letGo();
}

TEST(Workers, EachHasAShareOfNeighbours) {
  Workers workers;
  workers.grow(2);
  ASSERT_TRUE(workers.tryHold());
  // Both wait in their first chunk until the other has come.
  struct Shares {
    std::atomic<int> arrived{0};
    std::atomic<uint64_t> first[2] = {~0ull, ~0ull};
    static void start(void *argument, uint32_t worker, uint64_t begin, uint64_t) {
      auto &shares = *static_cast<Shares *>(argument);
      uint64_t none = ~0ull;
      if (!shares.first[worker].compare_exchange_strong(none, begin))
        return;
      ++shares.arrived;
      while (shares.arrived.load() < 2)
        std::this_thread::yield();
    }
  };
  for (int i = 0; i < 20; ++i) {
    Shares shares;
    workers.run(2, 21, Shares::start, &shares);
    EXPECT_EQ(shares.first[0], 0u);
    EXPECT_EQ(shares.first[1], 11u);
  }
  workers.letGo();
}

TEST(Workers, OneRunHoldsThem) {
  Workers workers;
  workers.grow(2);
  EXPECT_TRUE(workers.tryHold());
  EXPECT_FALSE(workers.tryHold());
  workers.letGo();
  EXPECT_TRUE(workers.tryHold());
  workers.letGo();
}

TEST(Workers, GrowWhileOthersRun) {
  Workers workers;
  workers.grow(2);
  std::thread grower([&] {
    for (uint32_t threads = 3; threads <= 8; ++threads)
      workers.grow(threads);
  });
  ASSERT_TRUE(workers.tryHold());
  Tally tally(100);
  for (int i = 0; i < 500; ++i)
    workers.run(8, 100, Tally::add, &tally);
  workers.letGo();
  grower.join();
  EXPECT_TRUE(tally.eachExactly(500));
}

TEST(Workers, ComeAndGo) {
  for (int i = 0; i < 20; ++i) {
    Workers workers;
    workers.grow(4);
    if (i % 2 == 0)
      continue; // Never used.
    ASSERT_TRUE(workers.tryHold());
    Tally tally(64);
    workers.run(4, 64, Tally::add, &tally);
    EXPECT_TRUE(tally.eachExactly(1));
    workers.letGo();
  }
}
