//===- emulated_test.cpp - What kernels for matrix units compute ------------===//
//
// Each schedule's code for both architectures is executed and compared with the plain runner; what
// units it uses is counted as it runs.
//
//===----------------------------------------------------------------------===//

#include "emulated_kernel.h"
#include "matrix_products.h"
#include "gtest/gtest.h"

namespace kintsugi::test {

using namespace te;
using loops::MatrixTile;

constexpr double ofSums = 1e-6;

static Executed expectRight(const loops::Schedule &schedule, const std::string &level,
                            double tolerance = ofSums) {
  Executed executed;
  EXPECT_EQ(compareOnGpu(schedule, level, someOperands(schedule), tolerance, executed), "")
      << level;
  return executed;
}

class Products : public testing::TestWithParam<std::tuple<ElementType, bool>> {
protected:
  ScheduleMaker product(const MatrixTile &tile) const {
    auto [type, transposed] = GetParam();
    return onMatrixUnits(type, transposed, type, tile);
  }
  bool isTransposed() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Emulated, Products,
                         testing::Combine(testing::Values(ElementType::F16, ElementType::BF16),
                                          testing::Bool()));

TEST_P(Products, ByWarps) {
  for (const char *level : {"sm_80", "sm_90a"}) {
    Executed executed = expectRight(product(byWarps()).schedule, level);
    EXPECT_GT(executed("mma.sync.aligned.m16n8k16"), 0u);
    EXPECT_EQ(executed("ldmatrix.sync.aligned.m8n8.x4.trans") > 0, !isTransposed());
    EXPECT_GT(executed("cp.async.cg.shared.global"), 0u);
    EXPECT_EQ(executed("wgmma"), 0u);
  }
}

TEST_P(Products, ByFourWarpsWhereDevicesDo) {
  ScheduleMaker maker = product(byFourWarps());
  Executed executed = expectRight(maker.schedule, "sm_90a");
  EXPECT_GT(executed("wgmma.mma_async"), 0u);
  EXPECT_EQ(executed("mma.sync"), 0u);
  EXPECT_EQ(executed("mbarrier"), 0u);
  executed = expectRight(maker.schedule, "sm_80");
  EXPECT_EQ(executed("wgmma"), 0u);
  EXPECT_GT(executed("mma.sync"), 0u);
}

TEST_P(Products, OfThreefoldTiles) {
  MatrixTile tile = byWarps();
  tile.columns = 96;
  for (const char *level : {"sm_80", "sm_90a"})
    expectRight(product(tile).schedule, level);
}

TEST_P(Products, OfWarpsThatShareASum) {
  MatrixTile tile = byWarps();
  tile.warpsK = 2;
  for (const char *level : {"sm_80", "sm_90a"})
    expectRight(product(tile).schedule, level);
}

TEST_P(Products, OfClustersThatShareASum) {
  MatrixTile tile = byFourWarps();
  tile.blocks = 2;
  ScheduleMaker maker = product(tile);
  Executed executed = expectRight(maker.schedule, "sm_90a");
  EXPECT_GT(executed("ld.shared::cluster.v4"), 0u);
  EXPECT_EQ(executed("barrier.cluster.arrive"), 2u * 2 * 4); // Of two blocks of four warps.
  EXPECT_EQ(expectRight(maker.schedule, "sm_80")("barrier.cluster"), 0u); // One block does all.
}

TEST_P(Products, OfBoxes) {
  ScheduleMaker maker = product(inBulk());
  Executed executed = expectRight(maker.schedule, "sm_90a");
  EXPECT_EQ(executed("cp.async.bulk.tensor.2d"), 2u * 2); // Two factors in two steps.
  EXPECT_EQ(executed("cp.async.cg"), 0u);
  expectRight(maker.schedule, "sm_80");
}

TEST_P(Products, OfBoxesInTwoPasses) {
  MatrixTile tile = inBulk();
  tile.columns = 32; // Of 64: arrivals start again when nobody waits for them.
  EXPECT_GT(expectRight(product(tile).schedule, "sm_90a")("mbarrier.inval"), 0u);
}

TEST_P(Products, OfBoxesOfAClusterEach) {
  MatrixTile tile = inBulk();
  tile.blocks = 2;
  EXPECT_EQ(expectRight(product(tile).schedule, "sm_90a")("cp.async.bulk.tensor.2d"), 2u * 2);
}

TEST_P(Products, OfRingsThatFit) {
  MatrixTile tile = byFourWarps();
  tile.stages = 8; // More than devices with less memory have room for.
  for (const char *level : {"sm_80", "sm_90a"})
    expectRight(product(tile).schedule, level);
}

/// Tiles of convolutions, whose boxes reach over the border.
TEST(EmulatedProducts, OfWindows) {
  for (auto [channels, step] : {std::pair{32, 1}, {64, 2}}) {
    ScheduleMaker maker = convolution(channels, step);
    EXPECT_GT(expectRight(maker.schedule, "sm_90a")("cp.async.bulk.tensor.3d"), 0u);
    expectRight(maker.schedule, "sm_80");
  }
}

/// What of a pass is past the last column is read from where a line begins.
TEST(EmulatedProducts, OfCutColumns) {
  for (int64_t apart : {0, 1, 8}) {
    SCOPED_TRACE(apart);
    Executed executed = expectRight(cutColumns(apart).schedule, "sm_90a");
    EXPECT_EQ(executed("cp.async.bulk") > 0, apart % 8 == 0);
  }
}

TEST(EmulatedProducts, RoundFactorsOnTheWay) {
  constexpr double ofFactors = 2e-3;
  for (const MatrixTile &tile : {byWarps(), byFourWarps(), inBulk()}) {
    ScheduleMaker maker = onMatrixUnits(ElementType::F16, true, ElementType::F32, tile);
    for (const char *level : {"sm_80", "sm_90a"}) {
      Executed executed = expectRight(maker.schedule, level, ofFactors);
      EXPECT_EQ(executed("mbarrier"), 0u); // Where threads bring one factor they bring the other.
    }
  }
}

TEST(EmulatedProducts, GiveResultsOfSixteenBits) {
  constexpr double ofResults = 1e-3;
  for (const MatrixTile &tile : {byWarps(), byFourWarps(), inBulk()}) {
    ScheduleMaker maker = onMatrixUnits(ElementType::F16, true, ElementType::F16, tile);
    maker.schedule.buffers[2].type = ElementType::F16;
    Expr &finish = maker.schedule.nests[0].epilogue[0];
    finish = Expr::cast(ElementType::F16, finish);
    for (const char *level : {"sm_80", "sm_90a"})
      expectRight(maker.schedule, level, ofResults);
  }
}

} // namespace kintsugi::test
