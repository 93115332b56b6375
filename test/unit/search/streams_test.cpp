#include "../loops/runner.h"
#include "whole_program.h"

using namespace kintsugi;
using namespace kintsugi::loops;
using namespace kintsugi::search;
using test::parsed;
using test::vectorMachine;
using test::wholeOf;

namespace {

/// The schedule of a whole program where the last cache holds `cacheBytes`.
Schedule scheduled(const char *text, int64_t cacheBytes, int vectorBits = 512) {
  te::Program program = parsed(text);
  return *scheduleGroup(program, wholeOf(program), vectorMachine(cacheBytes, vectorBits)).schedule;
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

TEST(Streams, TheNestBeforeTheStoresAsksForTheNextTileAndTheResultGoesPastTheCaches) {
  Schedule schedule = scheduled(normalization, 1 << 20);
  ASSERT_EQ(schedule.nests.size(), 3u);
  EXPECT_TRUE(schedule.nests[0].ahead.empty());
  EXPECT_TRUE(schedule.nests[2].ahead.empty());
  ASSERT_EQ(schedule.nests[1].ahead.size(), 1u);
  EXPECT_EQ(schedule.nests[1].ahead[0], (Ahead{0, schedule.space[0].size * 1024, true}));
  EXPECT_FALSE(schedule.nests[1].pastCaches);
  EXPECT_TRUE(schedule.nests[2].pastCaches);
}

TEST(Streams, ATileStaysInTheNearestCache) {
  Schedule schedule = scheduled(normalization, 1 << 20);
  EXPECT_LE(schedule.space[0].size * 1024 * 4, 16 << 10);
}

/// What is under way from nest to nest is about a row: with more, nests and memory take turns.
TEST(Streams, ATileIsSmallWhereItsNestsTakeTurnsWithMemory) {
  EXPECT_EQ(scheduled(normalization, 1 << 20).space[0].size, 1);
  EXPECT_GT(scheduled(normalization, 1 << 24).space[0].size, 1);
}

TEST(Streams, WhatCachesHoldIsNotStreamed) {
  for (const LoopNest &nest : scheduled(normalization, 1 << 24).nests) {
    EXPECT_TRUE(nest.ahead.empty());
    EXPECT_FALSE(nest.pastCaches);
  }
}

/// What the product of 98 rows by a constant asks for ahead.
llvm::SmallVector<Ahead, 1> aheadOfProduct(const std::string &rows) {
  te::Program program = parsed("input x[i:" + rows +
                               ", k:512] f32\n"
                               "const w[k:512, j:512] f32 = weights(\"w\")\n"
                               "y[i:" +
                               rows +
                               ", j:512] f32 = sum<f32>[k:512] x[i, k] * w[k, j]\n"
                               "output y\n");
  Group group = wholeOf(program);
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].kind == te::ValueKind::Constant)
      group.constants.push_back({number});
  Schedule schedule = *scheduleGroup(program, group, vectorMachine(1 << 24, 256)).schedule;
  EXPECT_EQ(schedule.nests.size(), 1u);
  const LoopNest &nest = schedule.nests[0];
  for (const Ahead &ahead : nest.ahead) {
    // Blocks of rows each ask for a little of it, before a few steps of their sums.
    int64_t rows = nest.registers.rows;
    int64_t blocks = (nest.extentOf(nest.registers.rowIterator) + rows - 1) / rows;
    EXPECT_EQ(ahead.sharedFrom.has_value(), blocks >= 4) << schedule.print();
    EXPECT_EQ(nest.numReductions(), ahead.sharedFrom ? 2u : 1u);
    EXPECT_EQ(schedule.buffers[ahead.buffer].value, group.constants[0]);
    EXPECT_FALSE(ahead.isNextTile);
    // By the columns of a block, or of two where a block cuts what is packed side by side.
    int64_t columns = nest.registers.stepOf(nest.registers.vectorIterator);
    EXPECT_TRUE(ahead.elements == 512 * columns || ahead.elements == 2 * 512 * columns);
  }
  return nest.ahead;
}

TEST(Streams, TheNextPanelOfAConstantIsAskedForWhileBlocksComeBackToOne) {
  llvm::SmallVector<Ahead, 1> many = aheadOfProduct("98");
  ASSERT_EQ(many.size(), 1u);
  EXPECT_TRUE(many[0].sharedFrom);
  bool isAskedForByEach = false; // By the blocks of some number of rows, where memory is slow.
  for (int rows = 8; rows < 64; ++rows)
    for (const Ahead &ahead : aheadOfProduct(std::to_string(rows)))
      isAskedForByEach |= !ahead.sharedFrom;
  EXPECT_TRUE(isAskedForByEach);
  EXPECT_TRUE(aheadOfProduct("1").empty()) << "none comes back";
}

/// Of a product of 16,384 rows of 128, beside a window's of rows of 32.
TEST(Streams, TheNextBlockOfShortRowsIsAskedForWhereOnlyMemoryHoldsThem) {
  const char *const product = R"(
input x[i:16384, k:128] f32
input w[k:128, j:32] f32
y[i:16384, j:32] f32 = sum<f32>[k:128] x[i, k] * w[k, j]
output y
)";
  Schedule schedule = scheduled(product, 1 << 20);
  const LoopNest &nest = schedule.nests.back();
  unsigned asked = 0;
  for (const Ahead &ahead : nest.ahead) {
    if (ahead.rowsApart == 0)
      continue;
    ++asked;
    EXPECT_EQ(ahead.rowsApart, 128);
    EXPECT_EQ(ahead.elements, 128 * nest.registers.rows);
    EXPECT_EQ(schedule.buffers[ahead.buffer].elements, 16384 * 128);
  }
  EXPECT_EQ(asked, 1u) << schedule.print();
  EXPECT_NE(schedule.print().find("row by row"), std::string::npos);
  for (const LoopNest &each : scheduled(product, 1 << 27).nests)
    for (const Ahead &ahead : each.ahead)
      EXPECT_EQ(ahead.rowsApart, 0);
  const Schedule windows = scheduled(R"(
input x[i:258, j:258, c:32] f32
input w[o:32, c:32, r:3, s:3] f32
y[i:256, j:256, o:32] f32 = sum<f32>[r:3, s:3, c:32] x[i + r, j + s, c] * w[o, c, r, s]
output y
)",
                                     1 << 20);
  for (const LoopNest &each : windows.nests)
    for (const Ahead &ahead : each.ahead)
      EXPECT_EQ(ahead.rowsApart, 0) << "a step inside of a row comes back to it";
}

const char *const turned = R"(
input x[i:8192, j:1024] f32
y[j:1024, i:8192] f32 = x[i, j]
output y
)";

/// One vector is a line, and goes to memory as a whole.
TEST(Streams, WhatIsTurnedIsReadInLongRows) {
  Schedule schedule = scheduled(turned, 1 << 20);
  ASSERT_EQ(schedule.nests.size(), 1u);
  EXPECT_GE(schedule.nests[0].extentOf(0), 512);
  EXPECT_EQ(schedule.space.back().extent, 8192);
  EXPECT_EQ(schedule.space.back().size, 64); // No more than prefetchers follow.
  EXPECT_TRUE(schedule.nests[0].pastCaches);
}

/// Halves of 10 * 2^k come to 48 and 80.
TEST(Streams, TilesOfWhatIsTurnedNeedNotBeHalves) {
  Schedule schedule = scheduled(R"(
input x[i:10240, j:1024] f32
y[j:1024, i:10240] f32 = x[i, j]
output y
)",
                                1 << 20);
  EXPECT_EQ(schedule.space.back().extent, 10240);
  EXPECT_EQ(schedule.space.back().size, 64) << schedule.print();
}

TEST(Streams, PartsOfLinesAreJoinedInScratch) {
  Schedule schedule = scheduled(turned, 1 << 20, 256);
  ASSERT_EQ(schedule.nests.size(), 2u);
  const LoopNest &turns = schedule.nests[0], &stores = schedule.nests[1];
  EXPECT_EQ(schedule.buffers[turns.destinations[0]].home, Home::Scratch);
  ASSERT_EQ(schedule.space.size(), 2u);
  EXPECT_EQ(schedule.space[0].extent, 8192);
  EXPECT_EQ(schedule.space[1].extent, 1024); // The next tile has the next part of the rows.
  ASSERT_EQ(turns.ahead.size(), 1u);
  EXPECT_EQ(turns.ahead[0], (Ahead{0, schedule.space[1].size, true}));
  EXPECT_TRUE(stores.pastCaches);
  EXPECT_EQ(stores.destinationIndex.coefficientOf(stores.registers.vectorIterator), 1);
  EXPECT_GE(stores.extentOf(stores.registers.vectorIterator), 16);
}

/// Tiles that overlap at both ends, and blocks that no tile holds a whole number of.
TEST(Streams, WhatGoesThroughScratchIsTurnedAllTheSame) {
  Schedule schedule = scheduled(R"(
input x[i:1003, b:2, j:205] f32
y[b:2, j:205, i:1003] f32 = x[i, b, j] * 2.0
output y
)",
                                1 << 20, 256);
  ASSERT_EQ(schedule.nests.size(), 2u) << schedule.print();
  test::Memory memory(schedule.buffers.size());
  for (int64_t position = 0; position < 1003 * 2 * 205; ++position)
    memory[0].push_back(double(position));
  memory[1].assign(memory[0].size(), -1);
  ASSERT_EQ(test::runSchedule(schedule, memory), "");
  for (int64_t i = 0; i < 1003; ++i)
    for (int64_t row = 0; row < 2 * 205; ++row)
      ASSERT_EQ(memory[1][row * 1003 + i], 2 * memory[0][i * 2 * 205 + row]);
}

TEST(Streams, WhatCachesHoldIsTurnedOnTheWayToMemory) {
  Schedule schedule = scheduled(turned, 1 << 27, 256);
  ASSERT_EQ(schedule.nests.size(), 1u);
  ASSERT_EQ(schedule.space.size(), 1u) << schedule.print(); // Rows are not cut.
  EXPECT_LE(schedule.space[0].size, 32);
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
  EXPECT_EQ(schedule.nests[0].ahead[0], (Ahead{0, 1024, true})); // 4 KiB.
}

TEST(Streams, WhatIsMovedIsAskedForOutsideOfTheNearestCache) {
  Schedule schedule = scheduled(R"(
input x[i:256, j:64, k:64] f32
y[i:256, j:64, k:64] f32 = x[i, 16 * (j % 4) + j // 4, k]
output y
)",
                                1 << 20);
  ASSERT_EQ(schedule.nests.size(), 1u);
  ASSERT_EQ(schedule.nests[0].ahead.size(), 1u);
  EXPECT_FALSE(schedule.nests[0].ahead[0].isNextTile);
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
