//===- bulk_test.cpp - Factors that come to four warps as boxes -----------===//

#include "matrix_products.h"
#include "ptx.h"

#include <set>

namespace kintsugi::test {

using namespace te;

TEST(Bulk, BringsBoxesInBulk) {
  for (bool transposed : {false, true}) {
    ScheduleMaker maker = onMatrixUnits(ElementType::F16, transposed, ElementType::F16, inBulk());
    std::string text = textOf(maker.schedule, "sm_90a");
    EXPECT_EQ(countOf(text, "prefetch.tensormap"), 2u);
    EXPECT_LT(text.find("prefetch.tensormap"), text.find("griddepcontrol.wait"));
    std::vector<KinTensorMap> maps = mapsOf(maker.schedule);
    ASSERT_EQ(maps.size(), 2u);
    expectMap(maps[0], 0, {{72, 2, 64, 1}, {40, 144, 40, 1}});
    if (transposed)
      expectMap(maps[1], 1, {{72, 2, 64, 1}, {64, 144, 64, 1}});
    else
      expectMap(maps[1], 1, {{64, 2, 64, 1}, {72, 128, 64, 1}});
  }
}

TEST(Bulk, ReadsWindowsAsBoxes) {
  std::vector<KinTensorMap> maps = mapsOf(convolution(64, 1).schedule);
  ASSERT_EQ(maps.size(), 2u);
  expectMap(maps[0], 0, {{64, 2, 64, 1}, {24, 128, 24, 1}, {16, 24 * 128, 4, 1}});
  // Every second row and column.
  maps = mapsOf(convolution(64, 2).schedule);
  ASSERT_EQ(maps.size(), 2u);
  expectMap(maps[0], 0, {{64, 2, 64, 1}, {24, 128, 23, 2}, {16, 24 * 128, 7, 2}});
  // Of 32 channels a step has two places: in lines of half the length.
  maps = mapsOf(convolution(32, 1).schedule);
  ASSERT_EQ(maps.size(), 2u);
  expectMap(maps[0], 0, {{32, 2, 32, 1}, {24, 64, 24, 1}, {16, 24 * 64, 4, 1}});
  EXPECT_EQ(countOf(textOf(convolution(32, 1).schedule, "sm_90a"), "cp.async.bulk.tensor"), 8u);
  EXPECT_TRUE(mapsOf(convolution(4, 1).schedule).empty()); // Rows of 8 bytes.
}

/// Rows in two passes: arrivals start again when nobody waits for them.
TEST(Bulk, BringsBoxesOfEachPass) {
  loops::MatrixTile tile = inBulk();
  tile.columns = 32; // Of 64.
  ScheduleMaker maker = onMatrixUnits(ElementType::F16, true, ElementType::F16, tile);
  std::vector<KinTensorMap> maps = mapsOf(maker.schedule);
  ASSERT_EQ(maps.size(), 2u);
  expectMap(maps[1], 1, {{72, 2, 64, 1}, {64, 144, 32, 1}});
}

/// Terms of several iterators, past the end of the last of which others follow.
TEST(Bulk, LinesOfTermsEndWithTheirIterator) {
  constexpr int64_t rows = 64, columns = 64, outer = 4, inner = 32;
  ScheduleMaker maker;
  maker.schedule.threads = 128;
  unsigned a = maker.buffer(ElementType::F16, rows * outer * inner),
           b = maker.buffer(ElementType::F16, outer * (inner + 8) * columns),
           c = maker.buffer(ElementType::F32, rows * columns, true);
  Expr left = maker.read(a, (it(0) * outer + it(2)) * inner + it(3));
  Expr right = maker.read(b, (it(2) * (inner + 8) + it(3)) * columns + it(1));
  auto &nest =
      maker.reduce({rows, columns}, {outer, inner}, Combiner::Sum, c, it(0) * columns + it(1),
                   Expr::cast(ElementType::F32, left) * Expr::cast(ElementType::F32, right));
  nest.factors = ElementType::F16;
  nest.matrix = inBulk();
  maker.schedule.scratchBytes = nest.matrix->ringBytes();
  std::vector<KinTensorMap> maps = mapsOf(maker.schedule);
  ASSERT_EQ(maps.size(), 2u);
  expectMap(maps[0], 0, {{32, 2, 32, 1}, {64, 256, 64, 1}, {4, 64, 1, 1}});
  expectMap(maps[1], 1, {{64, 2, 64, 1}, {32, 128, 32, 1}, {4, 40 * 128, 2, 1}});
}

/// The engine faults on others.
TEST(Bulk, LinesBeginWithChunks) {
  for (int64_t apart : {0, 8, 32})
    EXPECT_EQ(mapsOf(cutColumns(apart).schedule).size(), 2u) << apart;
  EXPECT_EQ(mapsOf(cutColumns(1).schedule).size(), 0u);
}

/// Equal products of several operands, of which a block works on one.
static tile::TileProgram joinedProducts(unsigned products, unsigned phases) {
  static const ScheduleMaker maker =
      onMatrixUnits(ElementType::F16, true, ElementType::F16, inBulk());
  auto program = tile::buildTileProgram({{"product", &maker.schedule}});
  EXPECT_TRUE(program.ok()) << program.error().message;
  tile::Launch launch{"joined", std::vector<bool>(1 + 2 * products, false), {{}}};
  for (unsigned k = 0; k < products; ++k) // All of the first operand.
    launch.phases[0].push_back({"product", {0, 1 + k, 1 + products + k}});
  while (launch.phases.size() < phases)
    launch.phases.push_back({{"product", {0, 1, 1 + products}}});
  program->launches = {launch};
  return std::move(*program);
}

TEST(Bulk, JoinedProductsHaveMapsOfTheirOwn) {
  targets::CompileOptions options;
  options.level = "sm_90a";
  for (unsigned products : {3u, KIN_TENSOR_MAX_MAPS - 1u, KIN_TENSOR_MAX_MAPS + 0u}) {
    tile::TileProgram program = joinedProducts(products, 1);
    auto code = targets::createNvidiaTarget()->compile({&program}, options);
    ASSERT_TRUE(code.ok());
    std::string text = textOf(program, "joined", "sm_90a");
    bool haveAll = products < KIN_TENSOR_MAX_MAPS;
    ASSERT_EQ(code->maps[0].size(), haveAll ? products + 1 : 0);
    std::set<unsigned> operands;
    for (const KinTensorMap &map : code->maps[0])
      operands.insert(map.operand);
    EXPECT_EQ(operands.size(), code->maps[0].size());
    EXPECT_TRUE(!haveAll || *operands.rbegin() == products); // What is read, the first of all.
    // Behind the operands as values, and behind all that where the parts' clocks lie.
    EXPECT_EQ(countOf(text, ".param .align 64 .b8 joined_param_"), code->maps[0].size());
    std::string last = std::to_string(1 + 2 * products + code->maps[0].size());
    EXPECT_EQ(countOf(text, ".param .u64 joined_param_" + last + "\n"), 1u);
    EXPECT_EQ(countOf(text, "mbarrier.try_wait.parity"), haveAll ? 1u : 0u);
    EXPECT_EQ(countOf(text, "cp.async.cg.shared.global"), haveAll ? 0u : 2 * (8u + 4u));
  }
  // What blocks of a launch write for others threads alone may read.
  EXPECT_EQ(countOf(textOf(joinedProducts(2, 2), "joined", "sm_90a"), "cp.async.bulk.tensor"), 0u);
}

TEST(Bulk, Assembles) {
  if (!hasAssembler())
    GTEST_SKIP() << "there is no ptxas on this machine";
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (bool transposed : {false, true})
      expectAssembles(onMatrixUnits(type, transposed, type, inBulk()).schedule, "sm_90a",
                      "bulk_" + std::string(nameOf(type)) + (transposed ? "t" : ""));
  for (int64_t step : {1, 2})
    expectAssembles(convolution(64, step).schedule, "sm_90a",
                    "convolution_" + std::to_string(step));
  expectTextAssembles(textOf(joinedProducts(3, 1), "joined", "sm_90a"), "sm_90a", "bulk_joined");
}

} // namespace kintsugi::test
