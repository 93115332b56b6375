//===- gpu_points_test.cpp - Points of schedules for blocks of threads ------===//

#include "on_gpu.h"
#include "search/point_text.h"
#include "llvm/ADT/STLExtras.h"

using namespace kintsugi;
using namespace kintsugi::loops;
using namespace kintsugi::search;

namespace {

const char *const product = "input a[i:256, k:512] f16\n"
                            "input b[k:512, j:384] f16\n"
                            "c[i:256, j:384] f32 = sum<f32>[k:512] f32(a[i, k]) * f32(b[k, j])\n"
                            "output c\n";
const char *const rows = "input a[i:300, k:512] f32\n"
                         "s[i:300] f32 = sum<f32>[k:512] a[i, k]\n"
                         "c[i:300, k:512] f32 = a[i, k] - s[i]\n"
                         "output c\n";
const char *const attention =
    "input q[h:4, i:256, k:64] f16\ninput p[h:4, j:256, k:64] f16\ninput v[h:4, j:256, d:64] f16\n"
    "s[h:4, i:256, j:256] f32 = sum<f32>[k:64] f32(q[h, i, k]) * f32(p[h, j, k])\n"
    "(m[h:4, i:256] f32, z[h:4, i:256] f32) = softmax_stats<f32>[j:256] s[h, i, j]\n"
    "w[h:4, i:256, j:256] f16 = stored f16(exp(s[h, i, j] - m[h, i]))\n"
    "o[h:4, i:256, d:64] f32 = sum<f32>[j:256] f32(w[h, i, j]) * f32(v[h, j, d])\n"
    "y[h:4, i:256, d:64] f32 = o[h, i, d] / z[h, i]\n"
    "output y\n";

class GpuPoints : public testing::TestWithParam<const char *> {
protected:
  te::Program program = test::parsed(GetParam());
  Group group;
  ScheduleOptions options;

  GpuPoints() {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      group.nodes.push_back(node);
    for (const te::Program::Output &output : program.outputs)
      group.outputs.push_back(output.value);
    options.machine = *machine::Machine::forLevel("sm_90a");
    options.scratchLimit = 88 << 10;
    options.ringLimit = 200 << 10;
    options.clusterBlocks = 8;
    options.copies = false;
  }

  ScheduleResult at(const Point &point, std::vector<NestChoices> *choices = nullptr) const {
    return scheduleAt(program, group, options, point, choices);
  }
};

std::optional<NestChoice> chosenIn(const LoopNest &nest) {
  if (nest.matrix)
    return chosenOf(*nest.matrix);
  RegisterTile tile = nest.registers;
  tile.unrolledReductions = 0;
  return tile;
}

} // namespace

TEST_P(GpuPoints, AreSchedulesAgain) {
  std::vector<Tried> tried;
  ScheduleResult found = scheduleGroup(program, group, options, &tried);
  ASSERT_TRUE(found.schedule) << found.reason;
  EXPECT_EQ(found.point.threads, found.schedule->threads);
  ASSERT_GT(tried.size(), 4u);
  tried.push_back({found.point, found.computeSeconds});
  for (const Tried &each : tried) {
    std::optional<Point> read = parsePoint(search::pointText(each.point));
    ASSERT_TRUE(read) << search::pointText(each.point);
    EXPECT_EQ(*read, each.point);
    ScheduleResult again = at(*read);
    ASSERT_TRUE(again.schedule) << search::pointText(each.point);
    EXPECT_EQ(again.computeSeconds, each.computeSeconds) << search::pointText(each.point);
    EXPECT_EQ(again.schedule->threads, read->threads);
  }
}

TEST_P(GpuPoints, WhatIsLeftOutUnheardIsNothingBetter) {
  // Where somebody hears of what the search looks at, each point is looked at to the end.
  for (int cores : {8, 132})
    for (int64_t scratch : {24 << 10, 88 << 10}) {
      options.machine.cores = cores;
      options.scratchLimit = scratch;
      std::vector<Tried> tried;
      ScheduleResult all = scheduleGroup(program, group, options, &tried);
      ScheduleResult found = scheduleGroup(program, group, options);
      ASSERT_EQ(all.schedule.has_value(), found.schedule.has_value());
      EXPECT_EQ(all.computeSeconds, found.computeSeconds);
      EXPECT_EQ(all.point, found.point);
    }
}

TEST_P(GpuPoints, ChoicesAreTakenAsTheyWereOffered) {
  const Point point = scheduleGroup(program, group, options).point;
  std::vector<NestChoices> nests;
  ScheduleResult usual = at(point, &nests);
  ASSERT_TRUE(usual.schedule);
  ASSERT_EQ(nests.size(), usual.schedule->nests.size());
  double shares = 0;
  size_t taken = 0;
  for (auto [number, nest] : llvm::enumerate(nests)) {
    shares += nest.share;
    if (nest.registers.empty()) { // One loop with a nest before it.
      EXPECT_TRUE(llvm::any_of(usual.schedule->nests, [](auto &n) { return n.streamed; }));
      continue;
    }
    EXPECT_EQ(nest.registers[0], chosenIn(usual.schedule->nests[number])) << "the best comes first";
    for (size_t i = 0; i < nest.registers.size(); i += 1 + nest.registers.size() / 24) {
      Point other = point;
      other.registers.resize(number);
      other.registers.push_back(nest.registers[i]);
      std::optional<Point> read = parsePoint(search::pointText(other));
      ASSERT_TRUE(read) << search::pointText(other);
      EXPECT_EQ(*read, other) << search::pointText(other);
      ScheduleResult result = at(other);
      if (!result.schedule) // Scratch may be too small for all nests together.
        continue;
      ++taken;
      EXPECT_EQ(chosenIn(result.schedule->nests[number]), nest.registers[i])
          << search::pointText(other);
      EXPECT_EQ(result.point, other);
    }
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_GE(taken, 2u);
}

TEST_P(GpuPoints, WhatWasNotOfferedIsNoSchedule) {
  const Point good = scheduleGroup(program, group, options).point;
  auto refused = [&](auto change) {
    Point point = good;
    change(point);
    ScheduleResult result = at(point);
    return !result.schedule && !result.reason.empty();
  };
  EXPECT_FALSE(refused([](Point &) {}));
  for (int threads : {1, 96, 2048, 1 << 30})
    EXPECT_TRUE(refused([&](Point &p) { p.threads = threads; })) << threads;
  for (const char *choice :
       {"u128x64x32x0x2x1x1x4", "u0x0x0x0x0x0x0x0", "U64x4096x64x4x1x1x1x3", "u128x64x32x4x2x1x3x4",
        "u128x64x32x4x2x1x1x99", "0x3x1", "77x2x1", "0x1x2+0x1000000", "0x1x2@7", "0x1x2|99x4"}) {
    std::optional<Point> odd = parsePoint("- - " + std::string(choice));
    ASSERT_TRUE(odd) << choice;
    EXPECT_TRUE(refused([&](Point &p) { p.registers = odd->registers; })) << choice;
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, GpuPoints, testing::Values(product, rows, attention));

TEST(GpuPoint, TextThatIsNoneIsRefused) {
  for (const char *text :
       {"- 4 - 0", "- 4 - -1", "- 4 - x", "- 4 - 128 1", "- 4 u", "- 4 u1x2x3x4x5x6x7",
        "- 4 u1x2x3x4x5x6x7x8x9", "- 4 u1x2x3x4x5x6x7x-8", "- 4 v1x2x3x4x5x6x7x8", "- 4 1x2x3|",
        "- 4 1x2x3@", "- 4 1x2x3@1", "- 4 1x2x3@4|1x2", "- 4 1x2x3|1"})
    EXPECT_FALSE(parsePoint(text)) << text;
  EXPECT_TRUE(parsePoint("transpose-operands 128,64 u128x64x32x4x2x1x1x4,3x8x4+0x2|1x4@32 256"));
}
