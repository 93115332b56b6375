#include "loops/keep.h"

#include "../loops/runner.h"
#include "whole_program.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace kintsugi;
using namespace kintsugi::loops;
using namespace kintsugi::search;
using test::parsed;
using test::vectorMachine;
using test::wholeOf;

namespace {

size_t choicesIn(const std::string &text) {
  te::Program program = parsed(text);
  return keepChoices(fuse(program, wholeOf(program), {})).size();
}

const std::string powers = R"(
input x[i:20, j:40] f32
m[i:20] f32 = max<f32>[j:40] x[i, j]
e[i:20, j:40] f32 = exp(x[i, j] - m[i])
)";

TEST(Keep, WhatTheFirstReaderReducesIsKept) {
  EXPECT_EQ(choicesIn(powers + R"(
s[i:20] f32 = sum<f32>[j:40] e[i, j]
y[i:20, j:40] f32 = e[i, j] / s[i]
output y
)"),
            1u);
}

TEST(Keep, AReductionToAFunctionOfItKeepsIt) {
  EXPECT_EQ(choicesIn(powers + R"(
s[j:40] f32 = sum<f32>[i:20] e[i, j] * e[i, j]
y[i:20, j:40] f32 = e[i, j] / s[j]
output y
)"),
            1u);
}

TEST(Keep, ElementsThatAreReducedTwiceAreNot) {
  EXPECT_EQ(choicesIn(powers + R"(
s[i:20, k:3] f32 = sum<f32>[j:40] e[i, j] * x[i, k]
y[i:20, j:40] f32 = e[i, j] / s[i, 1]
output y
)"),
            0u);
}

TEST(Keep, ElementsThatAreLeftOutAreNot) {
  EXPECT_EQ(choicesIn(powers + R"(
s[i:20] f32 = sum<f32>[j:39] e[i, j]
y[i:20, j:40] f32 = e[i, j] / s[i]
output y
)"),
            0u);
  EXPECT_EQ(choicesIn(powers + R"(
s[i:20] f32 = sum<f32>[j:40] e[i, j] * e[i, 39 - j]
y[i:20, j:40] f32 = e[i, j] / s[i]
output y
)"),
            0u);
}

TEST(Keep, WhatHasPartsIsNot) {
  EXPECT_EQ(choicesIn(R"(
input x[i:20, j:40] f32
e[i:20, j:40] f32 = cases { j < 7: x[i, j]; else: exp(x[i, j]) }
s[i:20] f32 = sum<f32>[j:40] e[i, j]
y[i:20, j:40] f32 = e[i, j] / s[i]
output y
)"),
            0u);
}

TEST(Keep, NotWhereAnotherReadsItFirst) {
  EXPECT_EQ(choicesIn(powers + R"(
t[i:20, j:40] f32 = e[i, 39 - j] + exp(e[i, j])
s[i:20] f32 = sum<f32>[j:40] e[i, j]
y[i:20, j:40] f32 = t[i, j] * e[i, j] / s[i]
z[i:20, j:40] f32 = t[i, 3] * e[i, j] / s[i]
output y
output z
)"),
            0u);
}

/// Neighbours are read, too, so a tile keeps more than its own rows.
TEST(Keep, TilesKeepWhatAllReadersNeed) {
  te::Program program = parsed(R"(
input x[i:4000, j:40] f32
e[i:4000, j:40] f32 = exp(x[i, j])
s[i:4000] f32 = sum<f32>[j:40] e[i, j]
y[i:3999, j:40] f32 = e[i + 1, j] / s[i]
output y
)");
  ScheduleResult result = scheduleGroup(program, wholeOf(program), vectorMachine(1 << 24));
  ASSERT_TRUE(result.schedule) << result.reason;
  const Schedule &schedule = *result.schedule;
  ASSERT_EQ(schedule.nests.size(), 2u) << schedule.print();
  ASSERT_EQ(schedule.nests[0].kept.size(), 1u);
  EXPECT_EQ(schedule.buffers[schedule.nests[0].kept[0].buffer].home, Home::Scratch);
  ASSERT_GT(schedule.tiles(), 1);
  test::Memory memory(schedule.buffers.size());
  for (int64_t position = 0; position < 4000 * 40; ++position)
    memory[0].push_back(double(position % 17) / 17);
  memory[1].assign(3999 * 40, -1);
  ASSERT_EQ(test::runSchedule(schedule, memory), "");
  for (int64_t i = 0; i < 3999; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 40; ++j)
      sum += std::exp(memory[0][i * 40 + j]);
    for (int64_t j = 0; j < 40; ++j)
      ASSERT_NEAR(memory[1][i * 40 + j], std::exp(memory[0][(i + 1) * 40 + j]) / sum, 1e-9);
  }
}

} // namespace
