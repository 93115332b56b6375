//===- memo_test.cpp ------------------------------------------------------===//

#include "base/memo.h"
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace kintsugi;

TEST(Memo, MakesEachValueOnce) {
  Memo<size_t> memo;
  std::atomic<int> made = 0;
  inParallel(200, 4, [&](size_t number) {
    size_t value = memo.at(std::to_string(number % 10), [&] {
      ++made;
      return number % 10;
    });
    EXPECT_EQ(value, number % 10);
  });
  EXPECT_EQ(made, 10);
  EXPECT_EQ(memo.size(), 10u);
}

TEST(Memo, SaysWhereAnotherThreadIsAtIt) {
  Memo<int> memo;
  std::atomic<bool> isMaking = false, isAsked = false;
  inParallel(2, 2, [&](size_t number) {
    if (number == 0) {
      memo.at("key", [&] {
        isMaking = true;
        while (!isAsked)
          std::this_thread::yield();
        return 7;
      });
      return;
    }
    while (!isMaking)
      std::this_thread::yield();
    EXPECT_EQ(memo.atIfFree("key", [] { return 8; }), nullptr);
    EXPECT_EQ(*memo.atIfFree("other", [] { return 9; }), 9);
    isAsked = true;
    EXPECT_EQ(memo.at("key", [] { return 8; }), 7);
  });
}
