#include "measure/measure.h"

#include "machine/probes.h"

#include <gtest/gtest.h>
#include <vector>

namespace kintsugi::measure {
namespace {

using machine::Machine;
using machine::MeasuredLevel;
using machine::Measurement;

/// Of this machine; nothing where it was too busy.
std::optional<Measurement> measured() {
  std::vector<Machine> levels = Machine::detectLevels();
  if (levels.empty())
    levels.push_back(Machine::detect());
  Expected<Measurement> measurement = measure(levels);
  if (measurement.ok())
    return *measurement;
  EXPECT_EQ(measurement.error().kind, ErrorKind::Machine);
  EXPECT_NE(measurement.error().message.find("busy"), std::string::npos);
  return std::nullopt;
}

TEST(Measure, figuresFitTogether) {
  std::optional<Measurement> measurement = measured();
  if (!measurement)
    GTEST_SKIP() << "the machine is busy";
  EXPECT_LT(measurement->stageSeconds, 1e-2);
  for (const MeasuredLevel &level : measurement->levels) {
    EXPECT_GT(level.flopsOne, 1.2 * level.flopsOneF64) << level.level;
    EXPECT_LT(level.flopsOne, 3 * level.flopsOneF64) << level.level;
    ASSERT_GE(level.memory.size(), 2u);
    EXPECT_GT(level.memory.back().readOne, level.memory.front().readOne) << level.level;
    EXPECT_GT(level.memory.back().copyOne, level.memory.front().copyOne) << level.level;
  }
}

TEST(Probes, copyCopiesTheFirstHalf) {
  constexpr size_t half = 4 * machine::probeBlock;
  auto *start = static_cast<std::byte *>(std::aligned_alloc(machine::probeBlock, 2 * half));
  for (machine::Level level : {machine::Level::V1, machine::Level::V3, machine::Level::V4}) {
    if (level > *machine::levelOf(Machine::detect().level))
      continue;
    for (size_t i = 0; i < 2 * half; ++i)
      start[i] = std::byte(i * 7 + size_t(level));
    machine::probeCopy(level, {start, 2 * half}, 1);
    EXPECT_TRUE(std::equal(start, start + half, start + half)) << nameOf(level);
    machine::probeRead(level, {start, 2 * half}, 2);
  }
  std::free(start);
}

TEST(Probes, operationsAreCounted) {
  double one = machine::probeMultiplyAdds32(machine::Level::V1, 1);
  EXPECT_GT(one, 0);
  EXPECT_EQ(machine::probeMultiplyAdds32(machine::Level::V1, 10), 10 * one);
  EXPECT_EQ(machine::probeMultiplyAdds64(machine::Level::V1, 10), 5 * one);
}

} // namespace
} // namespace kintsugi::measure
