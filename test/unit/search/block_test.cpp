//===- block_test.cpp - The shared memory of a block ----------------------===//

#include "search/block.h"

#include "on_gpu.h"
#include "search/streamed_softmax.h"

namespace kintsugi::test {

using loops::BlockLimits;
using loops::BlockMemory;
using loops::LoopNest;
using loops::memoryOf;
using loops::Schedule;

constexpr int64_t kib = 1 << 10;

/// A product whose ring, at an offset, has stages of 24 KiB.
static LoopNest product(bool inFours, unsigned stages, int64_t ring) {
  LoopNest nest;
  nest.matrix.emplace();
  nest.matrix->rows = 128;
  nest.matrix->columns = nest.matrix->depth = 64;
  nest.matrix->inFours = inFours;
  nest.matrix->stages = stages;
  nest.matrix->ring = ring;
  return nest;
}

TEST(BlockMemory, RingsAreAsShortAsCanBeWhereWarpsMultiplyAlone) {
  Schedule schedule;
  schedule.threads = 128;
  schedule.nests = {product(true, 8, 16 * kib)};
  schedule.scratchBytes = (16 + 8 * 24) * kib;
  BlockMemory memory = memoryOf(schedule, 32);
  EXPECT_TRUE(memory.hasRings);
  EXPECT_EQ(memory.scratch, 208 * kib);
  EXPECT_EQ(memory.elsewhere, (16 + 2 * 24) * kib);
  BlockLimits limits;
  limits.scratchBytes = 64 * kib;
  limits.ringBytes = 208 * kib;
  EXPECT_TRUE(memory.isWithin(limits));
  memory.exchanged = 1;
  EXPECT_FALSE(memory.isWithin(limits));
  memory.exchanged = 0;
  --limits.ringBytes;
  EXPECT_FALSE(memory.isWithin(limits));
}

TEST(BlockMemory, RingsOfSingleWarpsAreTheSameEverywhere) {
  Schedule schedule;
  schedule.threads = 128;
  LoopNest alone = product(false, 3, 0);
  schedule.nests = {product(true, 8, 0), alone};
  schedule.scratchBytes = 8 * 24 * kib;
  EXPECT_EQ(memoryOf(schedule, 32).elsewhere, alone.matrix->ringBytes());
  EXPECT_GT(alone.matrix->ringBytes(), 2 * 24 * kib);
}

TEST(BlockMemory, AttentionsRingIsAsShortAsCanBeElsewhere) {
  constexpr int64_t keys = 512, width = 64;
  Schedule schedule;
  schedule.threads = 128;
  schedule.nests.resize(4);
  LoopNest &scores = schedule.nests[0] = product(true, 3, 16 * kib);
  scores.streamed = true;
  scores.reduction.emplace();
  scores.reduction->iterators.push_back({"c", width});
  LoopNest &weighted = schedule.nests[3] = product(true, 3, 16 * kib);
  for (int64_t extent : {width, width})
    weighted.parallel.push_back({"i", extent});
  weighted.reduction.emplace();
  weighted.reduction->iterators.push_back({"j", keys});
  int64_t asChosen = loops::streamBytes(*scores.matrix, *weighted.matrix, width, 0, 32);
  scores.matrix->stages = 2;
  int64_t shortest = loops::streamBytes(*scores.matrix, *weighted.matrix, width, 0, 32);
  scores.matrix->stages = 3;
  EXPECT_LT(shortest, asChosen);
  EXPECT_EQ(memoryOf(schedule, 32).elsewhere, 16 * kib + shortest);
}

TEST(BlockMemory, IsThatOfTheLargestKernelInEachPart) {
  BlockMemory memory{.scratch = 10, .elsewhere = 10, .exchanged = 5};
  memory.add({.scratch = 40, .elsewhere = 8, .exchanged = 2, .hasRings = true});
  EXPECT_EQ(memory.scratch, 40);
  EXPECT_EQ(memory.elsewhere, 10);
  EXPECT_EQ(memory.exchanged, 5);
  EXPECT_TRUE(memory.hasRings);
  BlockLimits limits;
  limits.scratchBytes = 15;
  limits.ringBytes = 45;
  EXPECT_TRUE(memory.isWithin(limits));
  memory.hasRings = false;
  EXPECT_FALSE(memory.isWithin(limits));
}

TEST(BlockMemory, ThreadsExchangeBothValuesOfAnArgMax) {
  Schedule schedule = scheduled(parsed("input x[i:4, j:4096] f32\n"
                                       "y[i:4] i64 = argmax<f32>[j:4096] (x[i, j], j)\n"
                                       "output y\n"));
  schedule.threads = 256;
  ASSERT_EQ(schedule.nests.size(), 1u);
  schedule.nests[0].registers = {};
  schedule.nests[0].registers.lanes = 8;
  schedule.nests[0].registers.apart = 32;
  EXPECT_EQ(memoryOf(schedule, 32).exchanged, 256 * 2 * 8); // A key has as much room as a place.
}

} // namespace kintsugi::test
