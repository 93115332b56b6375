// The affinity mask says which processors there are.

#include "base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace kintsugi {
namespace {

TEST(Processors, AreThoseOfTheAffinityMask) {
  std::vector<int> all = allowedProcessors(), one;
  ASSERT_FALSE(all.empty());
  std::thread([&] { // The mask is a thread's own.
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(all.back(), &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
    one = allowedProcessors();
  })
      .join();
  EXPECT_EQ(one, std::vector<int>{all.back()});
  EXPECT_EQ(allowedProcessors(), all);
}

} // namespace
} // namespace kintsugi
