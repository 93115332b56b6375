// What tiles of given sizes make of members: no search is needed to know what is legal.

#include "loops/tiling.h"

#include "../te/testing.h"
#include "loops/cut_reduction.h"
#include "loops/scratch.h"
#include "runner.h"

namespace kintsugi::loops {
namespace {

using te::parsed;
using te::Program;
using te::ValueId;

const char *const centred = "input x[i:6, j:5] f32\n"
                            "s[i:6] f32 = sum<f32>[j:5] x[i, j]\n"
                            "y[i:6, j:5] f32 = x[i, j] - s[i]\n";

/// All of a program, in tiles of its last member.
std::optional<Tiling> tiled(const std::string &text, const TileSizes &sizes,
                            llvm::ArrayRef<llvm::StringRef> constants = {},
                            const TilingOptions &options = {}) {
  Program program = parsed(text);
  Group group;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    group.nodes.push_back(node);
  for (const Program::Output &output : program.outputs)
    group.outputs.push_back(output.value);
  for (uint32_t value = 0; value < program.numValues(); ++value)
    if (llvm::is_contained(constants, program.value({value}).name))
      group.constants.push_back({value});
  GroupValues values(program);
  std::vector<Member> members = fuse(program, group, {});
  std::string reason;
  std::optional<Tiling> tiling =
      tilingOf({values, members, group.constants, {}, {}}, options, sizes, reason);
  EXPECT_TRUE(reason.empty()) << reason;
  return tiling;
}

Schedule withNests(Tiling tiling) {
  Schedule schedule = std::move(tiling.schedule);
  schedule.nests = std::move(tiling.parts);
  assignScratch(schedule);
  return schedule;
}

/// Inputs of small numbers, then outputs of so many elements that nobody has written, after a run.
test::Memory ran(const Schedule &schedule, llvm::ArrayRef<unsigned> inputs,
                 llvm::ArrayRef<unsigned> outputs) {
  EXPECT_EQ(schedule.memoryBuffers(), inputs.size() + outputs.size());
  test::Memory memory(schedule.buffers.size());
  for (auto [buffer, elements] : llvm::enumerate(inputs))
    for (unsigned k = 0; k < elements; ++k)
      memory[buffer].push_back(int(k * k % 13) - 6);
  for (auto [number, elements] : llvm::enumerate(outputs))
    memory[inputs.size() + number].assign(elements, NAN);
  EXPECT_EQ(test::runSchedule(schedule, memory), "");
  return memory;
}

TEST(TileDimension, KnowsWhatDividesAllPlacesWhereTilesStart) {
  for (int64_t extent = 1; extent <= 48; ++extent)
    for (int64_t size = 1; size <= extent; ++size) {
      loops::TileDimension dimension{extent, size};
      int64_t divisor = 0;
      for (int64_t tile = 0; tile < dimension.count(); ++tile)
        divisor = std::gcd(divisor, std::min(tile * size, extent - size));
      EXPECT_EQ(dimension.startMultiple(), divisor ? divisor : size) << extent << " by " << size;
    }
}

/// Parts of unlike lengths begin at quotients: each tile computes the sums of its own part.
TEST(Tiling, BoxesBeginWhereTheTilesPartDoes) {
  std::optional<Tiling> tiling = tiled("input x[i:11, j:4] f32\n"
                                       "s[i:11] f32 = sum<f32>[j:4] x[i, j]\n"
                                       "y[p:3, k:4] f32 = s[(11*p)//3+k] * 2\n"
                                       "output y\n",
                                       {1, 4});
  ASSERT_TRUE(tiling);
  Schedule schedule = withNests(std::move(*tiling));
  EXPECT_EQ(schedule.nests[0].extentOf(0), 4) << "a part of the eleven";
  test::Memory memory = ran(schedule, {44}, {12});
  for (int p = 0; p < 3; ++p)
    for (int k = 0; k < 4; ++k) {
      double sum = 0;
      for (int j = 0; j < 4; ++j)
        sum += memory[0][(11 * p / 3 + k) * 4 + j];
      EXPECT_EQ(memory[1][p * 4 + k], 2 * sum) << p << ", " << k;
    }
}

/// Each tile stores all of what it reads at a quotient of a value that is an output.
TEST(Tiling, OutputsAreWholeWhereTheyAreReadAtQuotients) {
  std::optional<Tiling> tiling = tiled("input x[i:8, j:4] f32\ninput z[i:8, k:5] f32\n"
                                       "a[i:8, j:4] f32 = max(x[i, j], 0)\n"
                                       "y[p:8, k:5] f32 = a[p, p//2] * z[p, k]\n"
                                       "output a\noutput y\n",
                                       {1, 5});
  ASSERT_TRUE(tiling);
  Schedule schedule = withNests(std::move(*tiling));
  test::Memory memory = ran(schedule, {32, 40}, {32, 40});
  for (int k = 0; k < 32; ++k)
    EXPECT_EQ(memory[2][k], std::max(memory[0][k], 0.0)) << k;
  for (int p = 0; p < 8; ++p)
    for (int k = 0; k < 5; ++k)
      EXPECT_EQ(memory[3][p * 5 + k], memory[2][p * 4 + p / 2] * memory[1][p * 5 + k]);
}

/// In either loop of a sum, in each of whose terms both have their part.
TEST(CutReduction, LeavesTheTermsAndTheirOrder) {
  for (unsigned iterator : {0u, 1u}) {
    Schedule schedule = withNests(*tiled("input x[i:4, j:6, k:8] f32\n"
                                         "y[i:4] f32 = sum<f32>[j:6, k:8] x[i, j, k] / (j + 8)\n"
                                         "output y\n",
                                         {2}));
    test::Memory before = ran(schedule, {192}, {4});
    cutReduction(schedule.nests[0], iterator, 2, schedule.space.size());
    ASSERT_EQ(schedule.nests[0].numReductions(), 3u);
    EXPECT_EQ(schedule.nests[0].extentOf(1 + iterator), iterator == 0 ? 3 : 4);
    EXPECT_EQ(schedule.nests[0].extentOf(2 + iterator), 2);
    EXPECT_EQ(ran(schedule, {192}, {4}), before);
  }
}

TEST(Tiling, OfAnySizesComputesTheSame) {
  for (int64_t rows = 1; rows <= 6; ++rows)
    for (int64_t columns = 1; columns <= 5; ++columns) {
      std::optional<Tiling> tiling = tiled(std::string(centred) + "output y\n", {rows, columns});
      ASSERT_TRUE(tiling) << rows << " x " << columns;
      Schedule schedule = withNests(std::move(*tiling));
      EXPECT_EQ(schedule.tiles(), (6 + rows - 1) / rows * ((5 + columns - 1) / columns));
      ASSERT_EQ(schedule.memoryBuffers(), 2u);
      test::Memory memory(schedule.buffers.size());
      memory[1].assign(30, NAN);
      for (int k = 0; k < 30; ++k)
        memory[0].push_back(k * k % 7);
      ASSERT_EQ(test::runSchedule(schedule, memory), "");
      for (int i = 0; i < 6; ++i) {
        double sum = 0;
        for (int j = 0; j < 5; ++j)
          sum += memory[0][i * 5 + j];
        for (int j = 0; j < 5; ++j)
          EXPECT_EQ(memory[1][i * 5 + j], memory[0][i * 5 + j] - sum) << rows << " x " << columns;
      }
    }
}

TEST(Tiling, ScratchHoldsWhatATileNeeds) {
  std::optional<Tiling> tiling = tiled(std::string(centred) + "output y\n", {4, 5});
  ASSERT_TRUE(tiling);
  const auto &buffers = tiling->schedule.buffers;
  ASSERT_EQ(buffers.size(), 3u);
  EXPECT_EQ(buffers[2].home, Home::Scratch);
  EXPECT_EQ(buffers[2].elements, 4);
}

TEST(Tiling, EachTileStoresItsOwnPartOfEveryOutput) {
  std::string both = std::string(centred) + "output s\noutput y\n";
  EXPECT_TRUE(tiled(both, {2, 5}));
  EXPECT_FALSE(tiled(both, {6, 2})); // All tiles would store all sums.
}

TEST(Tiling, ConstantsThatAreReadInOneWayMayBePacked) {
  std::string text = "input x[j:8] f32\ninput w[i:8, j:8] f32\n"
                     "y[i:8] f32 = sum<f32>[j:8] w[i, j] * x[j]\noutput y\n";
  std::string twice = "input x[j:8] f32\ninput w[i:8, j:8] f32\n"
                      "y[i:8] f32 = sum<f32>[j:8] w[i, j] * w[j, i] * x[j]\noutput y\n";
  auto packable = [](const std::optional<Tiling> &tiling) {
    EXPECT_TRUE(tiling);
    return llvm::count_if(tiling->schedule.buffers, [](const Buffer &b) { return b.packable; });
  };
  EXPECT_EQ(packable(tiled(text, {8}, {"w"})), 1);
  EXPECT_EQ(packable(tiled(text, {8})), 0);
  EXPECT_EQ(packable(tiled(twice, {8}, {"w"})), 0);
  EXPECT_EQ(packable(tiled(text, {8}, {"w"}, {.packing = false})), 0);
}

TEST(Tiling, TilesShareWhatDoesNotChangeWithTheLastDimensions) {
  std::optional<Tiling> tiling = tiled(std::string(centred) + "output y\n", {2, 2});
  ASSERT_TRUE(tiling);
  Schedule schedule = withNests(std::move(*tiling));
  shareAmongTiles(schedule);
  ASSERT_EQ(schedule.nests.size(), 2u);
  EXPECT_EQ(schedule.nests[0].sharedDimensions, 1u); // Of sums, which columns have in common.
  EXPECT_EQ(schedule.nests[1].sharedDimensions, 0u);
  EXPECT_EQ(schedule.tilesTogether(), schedule.space.back().count());
  schedule.nests.erase(schedule.nests.begin());
  EXPECT_EQ(schedule.tilesTogether(), 1);
}

} // namespace
} // namespace kintsugi::loops
