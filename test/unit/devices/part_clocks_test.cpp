//===- part_clocks_test.cpp - Times of kernels that share a launch --------===//

#include "cuda_fixture.h"

#include <cmath>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

using Times = std::vector<std::pair<int64_t, int64_t>>;

/// When parts begin, and for how long they are under way.
Times timesOf(const StageSpan &span) {
  Times times;
  for (const PartSpan &part : span.parts)
    times.push_back({part.begin, part.nanoseconds});
  return times;
}

class CudaClocks : public CudaTest {
protected:
  const RunOptions profiled{nullptr, /*profile=*/true, nullptr};
};

} // namespace

/// The second kernel is one that three share.
static Parts partsWithClocks(Parts parts) {
  Stage &stage = parts.manifest.stages[1];
  stage.parts = {{"k0", {"a"}, {}, 1e-6, 8}, {"k1", {"b"}, {}, 1e-6, 8}, {"k2", {}, {}, 1e-6, 8}};
  return cudaParts(std::move(parts));
}

/// With other parameters ahead of the table's address.
static Parts partsWithMaps(bool meets, int maps) {
  Parts parts = partsWithClocks(withoutCall(affineParts()));
  parts.manifest.stages[1].meets = meets;
  parts.manifest.stages[1].scratchBytes = 512;
  if (maps > 0)
    parts.manifest.code[0].maps = {{"squash", {size_t(maps), mapOfOperand()}}};
  return parts;
}

TEST_F(CudaClocks, TimesPartsOfALaunch) {
  fake->clockedKernel = "squash";
  fake->partTimes = {{5000000, 5400000}, {5100000, 5800000}, {5000032, 5000064}};
  for (auto [meets, maps] : {std::pair{false, 0}, {false, 2}, {true, 0}}) {
    fake->mapsOfClocked = maps;
    auto model = load(partsWithMaps(meets, maps));
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    for (int times = 1; times <= 3; ++times) { // Alone, recorded, and once more.
      fake->tables.clear();
      ASSERT_TRUE(runWithoutCall(**context, profiled).ok());
      EXPECT_EQ(fake->tables.count(nullptr), 0u);
      EXPECT_NEAR(y[7], std::tanh(x[7] * (7 / 500.0f) - 1), 1e-6);
      auto spans = (*context)->stageSpans();
      ASSERT_EQ(spans.size(), 2u);
      EXPECT_TRUE(spans[0].parts.empty());
      EXPECT_EQ(spans[1].nanoseconds, 1'000'000); // What is ahead of 800000 of them is its start.
      EXPECT_EQ(timesOf(spans[1]), (Times{{200000, 400000}, {300000, 700000}, {200032, 32}}));
    }
  }
}

TEST_F(CudaClocks, AsksForTimesOfPartsInProfiledRunsAlone) {
  fake->clockedKernel = "squash";
  auto model = load(partsWithClocks(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  for (int times = 1; times <= 3; ++times)
    ASSERT_TRUE(runWithoutCall(**context).ok());
  EXPECT_EQ(fake->tables, std::set<uint64_t *>{nullptr});
  ASSERT_TRUE(runWithoutCall(**context, profiled).ok());
  EXPECT_EQ(fake->tables.size(), 2u);
  ASSERT_TRUE(runWithoutCall(**context).ok());
  EXPECT_EQ(fake->tables.size(), 2u);
}

TEST_F(CudaClocks, TellsNothingOfPartsThatItsClockDoesNotSee) {
  struct Case {
    uint64_t step;
    std::vector<std::pair<uint64_t, uint64_t>> times;
    size_t known;
  };
  constexpr uint64_t late = uint64_t(1) << 63;
  const Case cases[] = {
      {32, {{1000, 1256}, {1000, 1100}, {1000, 1000}}, 3},
      {32, {{1000, 1255}, {1000, 1100}, {1000, 1000}}, 0}, // Less than eight steps.
      {1024, {{1000, 9000}, {1000, 9000}, {1000, 9000}}, 0},
      {0, {{1000, 1008}, {1000, 1008}, {1000, 1008}}, 3},
      {32, {{1000, 2000}, {1000, 2000}}, 0},               // One noted nothing.
      {32, {{1000, 2000}, {1000, 2000}, {2000, 1000}}, 0}, // Ends before it begins.
      {32, {{1000, 2000}, {1000, 2000}, {1000, late}}, 0}, // Longer than its launch.
      {32, {{1000, 2000}, {0, ~uint64_t(0)}, {5, late}}, 0},
  };
  fake->clockedKernel = "squash";
  auto parts = partsWithClocks(withoutCall(affineParts()));
  for (const Case &each : cases) {
    fake->clockStep = each.step;
    fake->partTimes = each.times;
    auto model = load(parts);
    auto context = Context::create(*model);
    for (int times = 1; times <= 2; ++times) {
      ASSERT_TRUE(runWithoutCall(**context, profiled).ok());
      auto spans = (*context)->stageSpans();
      ASSERT_EQ(spans.size(), 2u);
      EXPECT_EQ(spans[1].parts.size(), each.known) << &each - cases;
    }
  }
}

TEST_F(CudaClocks, TimesPartsBetweenCallsOfTheHost) {
  fake->clockedKernel = "squash";
  fake->partTimes = {{5000, 6000}, {5500, 8000}, {7000, 9000}};
  auto model = load(partsWithClocks(affineParts()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  for (int times = 1; times <= 3; ++times) {
    ASSERT_TRUE(run(**context, 1, profiled).ok());
    auto spans = (*context)->stageSpans();
    ASSERT_EQ(spans.size(), 3u);
    ASSERT_EQ(spans[1].parts.size(), 3u);
    EXPECT_EQ(spans[1].parts[1].nanoseconds, 2500);
  }
}
