#include "forked.h"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace kintsugi::conformance {
namespace {

using Work = std::function<std::string(size_t)>;

std::map<size_t, ChildResult> runAll(size_t count, const ChildLimits &limits, const Work &work) {
  std::map<size_t, ChildResult> results;
  Status status = runForked(count, limits, work, [&](size_t number, const ChildResult &result) {
    EXPECT_TRUE(results.emplace(number, result).second);
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(results.size(), count);
  return results;
}

std::string errorOf(const ChildLimits &limits, const Work &work) {
  ChildResult result = runAll(1, limits, work).at(0);
  return result.outcome.ok() ? "" : result.outcome.error().message;
}

TEST(Forked, bringsEveryResult) {
  auto results = runAll(30, {.seconds = 10, .jobs = 3}, [](size_t number) {
    return std::string(number * 10000, 'x') + std::to_string(number);
  });
  for (const auto &[number, result] : results) {
    ASSERT_TRUE(result.outcome.ok());
    EXPECT_EQ(*result.outcome, std::string(number * 10000, 'x') + std::to_string(number));
  }
}

TEST(Forked, childrenShareNothing) {
  static int counter = 0;
  auto results = runAll(3, {.jobs = 1}, [](size_t) { return std::to_string(++counter); });
  for (const auto &[number, result] : results)
    EXPECT_EQ(*result.outcome, "1");
}

TEST(Forked, crashCostsOneChild) {
  auto results = runAll(3, {.jobs = 2}, [](size_t number) -> std::string {
    if (number == 1) {
      std::fprintf(stderr, "assertion failed\nmore\n");
      std::abort();
    }
    return "fine";
  });
  EXPECT_TRUE(results.at(0).outcome.ok());
  EXPECT_TRUE(results.at(2).outcome.ok());
  ASSERT_FALSE(results.at(1).outcome.ok());
  EXPECT_EQ(results.at(1).outcome.error().message, "ended by signal 6 (Aborted): assertion failed");
}

TEST(Forked, exitIsAnError) {
  EXPECT_EQ(errorOf({}, [](size_t) -> std::string { _exit(7); }), "exited with 7");
}

TEST(Forked, waitingChildrenAreKilled) {
  std::string message = errorOf({.seconds = 0.1}, [](size_t) -> std::string {
    while (true)
      pause();
  });
  EXPECT_EQ(message, "took longer than 0.1 s");
}

TEST(Forked, busyChildrenAreKilled) {
  std::string message = errorOf({.seconds = 1}, [](size_t) -> std::string {
    for (volatile unsigned i = 0;; i = i + 1) {
    }
  });
  EXPECT_EQ(message, "took longer than 1 s");
}

TEST(Forked, memoryIsLimited) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  const uint64_t limit = 0; // Sanitizers reserve terabytes of addresses.
#else
  const uint64_t limit = uint64_t(1) << 30;
#endif
  auto results = runAll(1, {.bytes = limit}, [](size_t) {
    void *memory = mmap(nullptr, size_t(3) << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return std::string(memory == MAP_FAILED ? "refused" : "given");
  });
  EXPECT_EQ(*results.at(0).outcome, limit ? "refused" : "given");
}

} // namespace
} // namespace kintsugi::conformance
