#include "schedule/scheduler.h"
#include "te/parser.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::schedule;

namespace {

/// The schedule of a whole program where the last cache holds `cacheBytes`.
Schedule scheduled(const char *text, int64_t cacheBytes) {
  te::Program program = std::move(*te::parseProgram(text, "test"));
  Group group;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    group.nodes.push_back(node);
  for (const te::Program::Output &output : program.outputs)
    group.outputs.push_back(output.value);
  ScheduleOptions options;
  options.machine.cores = 2;
  options.machine.vectorBits = 512;
  options.machine.vectorRegisters = 32;
  options.machine.flopsPerSecond = 2e11;
  options.machine.levels = {{"memory", int64_t(1) << 34, 2, 2e10, 4e10},
                            {"L3", cacheBytes, 2, 5e10, 1e11},
                            {"L2", 1 << 18, 1, 1e11, 2e11},
                            {"L1", 48 << 10, 1, 4e11, 8e11}};
  return *scheduleGroup(program, group, options).schedule;
}

const char *const normalization = R"(
input x[i:512, j:1024] f32
t[i:512] f32 = sum<f32>[j:1024] x[i, j]
m[i:512] f32 = t[i] / 1024.0
d[i:512, j:1024] f32 = x[i, j] - m[i]
s[i:512] f32 = sum<f32>[j:1024] d[i, j] * d[i, j]
r[i:512] f32 = 1.0 / sqrt(s[i] + 0.1)
y[i:512, j:1024] f32 = d[i, j] * r[i]
output y
)";

TEST(Streams, LaterNestsAskForTheNextTileAndTheResultGoesPastTheCaches) {
  Schedule schedule = scheduled(normalization, 1 << 20);
  ASSERT_EQ(schedule.nests.size(), 3u);
  EXPECT_TRUE(schedule.nests[0].ahead.empty());
  int64_t tile = schedule.space[0].size * 1024;
  for (unsigned number : {1u, 2u}) {
    ASSERT_EQ(schedule.nests[number].ahead.size(), 1u);
    EXPECT_EQ(schedule.nests[number].ahead[0], (Ahead{0, tile, number - 1, 2}));
  }
  EXPECT_FALSE(schedule.nests[1].pastCaches);
  EXPECT_TRUE(schedule.nests[2].pastCaches);
}

TEST(Streams, ATileStaysInTheNearestCache) {
  Schedule schedule = scheduled(normalization, 1 << 20);
  EXPECT_LE(schedule.space[0].size * 1024 * 4, 16 << 10);
}

TEST(Streams, WhatCachesHoldIsNotStreamed) {
  for (const LoopNest &nest : scheduled(normalization, 1 << 24).nests) {
    EXPECT_TRUE(nest.ahead.empty());
    EXPECT_FALSE(nest.pastCaches);
  }
}

TEST(Streams, WhatIsTurnedIsReadInWholeRows) {
  Schedule schedule = scheduled(R"(
input x[i:8192, j:1024] f32
y[j:1024, i:8192] f32 = x[i, j]
output y
)",
                                1 << 20);
  ASSERT_EQ(schedule.nests.size(), 1u);
  ASSERT_EQ(schedule.space.size(), 1u); // Rows are not cut.
  EXPECT_EQ(schedule.space[0].extent, 8192);
  EXPECT_LE(schedule.space[0].size, 32); // No more than prefetchers follow.
}

TEST(Streams, AnElementwiseKernelAsksAlongItsLoop) {
  Schedule schedule = scheduled(R"(
input x[i:512, j:1024] f32
y[i:512, j:1024] f32 = exp(x[i, j])
output y
)",
                                1 << 20);
  ASSERT_EQ(schedule.nests.size(), 1u);
  ASSERT_EQ(schedule.nests[0].ahead.size(), 1u);
  EXPECT_EQ(schedule.nests[0].ahead[0].elements, 1024); // 4 KiB.
}

TEST(Streams, AResultThatIsReadAgainStays) {
  Schedule schedule = scheduled(R"(
input x[i:512, j:1024] f32
e[i:512, j:1024] f32 = exp(x[i, j])
t[i:512] f32 = sum<f32>[j:1024] e[i, j]
output e
output t
)",
                                1 << 20);
  for (const LoopNest &nest : schedule.nests)
    EXPECT_FALSE(nest.pastCaches);
}

} // namespace
