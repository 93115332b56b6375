#include "cost/tile_seconds.h"

#include "gtest/gtest.h"

namespace kintsugi::cost {
namespace {

/// Of ten tiles of one nest that takes so many cycles in each.
double secondsOf(double cycles, int cores) {
  machine::Machine machine = *machine::Machine::forLevel("x86-64-v3");
  machine.cores = cores;
  loops::Schedule schedule;
  schedule.buffers = {{te::ValueId{0}, ElementType::F32, 100, loops::Home::Memory, true}};
  schedule.space = {{100, 10}};
  loops::LoopNest &nest = schedule.nests.emplace_back();
  nest.parallel = {{"i", 10}};
  nest.bodies = {te::Expr::literal(ElementType::F32, 1.0)};
  nest.destinations = {0};
  nest.destinationIndex = te::Index::iterator(0) + te::Index::iterator(1);
  double seconds = secondsInTiles(schedule, Traffic(schedule, machine), {cycles}, machine);
  double least = leastSecondsInTiles(schedule.tiles(), {cycles}, machine);
  EXPECT_LE(least, seconds);
  EXPECT_GT(least, 0.5 * seconds); // Arithmetic is most of it.
  return seconds;
}

TEST(TileSeconds, AreThoseOfTheBusiestWorker) {
  double one = secondsOf(1e6, 10);
  EXPECT_DOUBLE_EQ(secondsOf(1e6, 1), 10 * one);
  EXPECT_DOUBLE_EQ(secondsOf(1e6, 4), 3 * one); // Ten tiles in three rounds.
  EXPECT_DOUBLE_EQ(secondsOf(1e6, 16), one);
}

TEST(TileSeconds, MoreCyclesTakeLonger) {
  for (double cycles : {1e3, 1e5, 1e7})
    EXPECT_LT(secondsOf(cycles, 4), secondsOf(2 * cycles, 4));
}

} // namespace
} // namespace kintsugi::cost
