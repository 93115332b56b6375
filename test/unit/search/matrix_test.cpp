//===- matrix_test.cpp - Products on matrix units -------------------------===//

#include "loops/block_registers.h"
#include "on_gpu.h"
#include "search/matrix.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::te;
using namespace kintsugi::loops;
using namespace kintsugi::search;
using test::parsed;
using test::resultOf;
using test::scheduled;

namespace {

std::string product(const std::string &type, int64_t rows, int64_t columns, int64_t depth,
                    const std::string &place) {
  auto number = [](int64_t n) { return std::to_string(n); };
  bool transposed = place == "j, k";
  return "input a[" + number(rows) + ", " + number(depth) + "] " + type + "\ninput b[" +
         (transposed ? number(columns) + ", " + number(depth)
                     : number(depth) + ", " + number(columns)) +
         "] " + type + "\nc[i:" + number(rows) + ", j:" + number(columns) +
         "] f32 = sum<f32>[k:" + number(depth) + "] f32(a[i, k]) * f32(b[" + place +
         "])\noutput c\n";
}

std::string inF32(int64_t rows, int64_t columns, int64_t depth) {
  std::string text = product("f32", rows, columns, depth, "k, j");
  for (const char *wide : {"f32(a[i, k])", "f32(b[k, j])"})
    text.replace(text.find(wide), std::string(wide).size(),
                 std::string(wide).substr(4, std::string(wide).size() - 5));
  return text;
}

} // namespace

TEST(Matrix, TakesProductsOfNarrowTypes) {
  for (const char *type : {"f16", "bf16"})
    for (const char *place : {"k, j", "j, k"}) {
      Schedule schedule = scheduled(parsed(product(type, 128, 256, 512, place)));
      ASSERT_EQ(schedule.nests.size(), 1u);
      ASSERT_TRUE(schedule.nests[0].matrix);
      EXPECT_EQ(nameOf(schedule.nests[0].matrix->element), type);
      EXPECT_EQ(schedule.nests[0].matrix->columnsFactor, 1u);
    }
}

/// The product of `made`, which is computed from x, and of b in f16.
Schedule productOf(const std::string &made) {
  return scheduled(
      parsed("input x[512, 512] f32\ninput b[512, 512] f16\n" + made + "\noutput c\n"));
}

TEST(Matrix, RoundsOnlyWhatTheProgramStoresSo) {
  EXPECT_FALSE(scheduled(parsed(inF32(512, 512, 512))).nests[0].matrix);
  for (const char *type : {"f16", "bf16"}) {
    std::string made = "a[i:512, k:512] " + std::string(type) + " = stored " + type +
                       "(max(x[i, k], 0))\n"
                       "c[i:512, j:512] f32 = sum<f32>[k:512] f32(a[i, k]) * f32(b[k, j])";
    EXPECT_EQ(productOf(made).nests.back().matrix.has_value(), std::string(type) == "f16") << type;
  }
}

TEST(Matrix, LeavesF32ThatIsMadeOnTheWay) {
  Schedule schedule = productOf("a[i:512, k:512] f32 = x[i, k] * x[i, k]\n"
                                "c[i:512, j:512] f32 = sum<f32>[k:512] a[i, k] * f32(b[k, j])");
  for (const LoopNest &nest : schedule.nests)
    EXPECT_FALSE(nest.matrix);
}

TEST(Matrix, TilesAreTheBlocks) {
  for (int64_t rows : {16, 49, 128, 1000})
    for (int64_t columns : {8, 96, 1001})
      for (int64_t depth : {24, 147, 2048}) {
        Schedule schedule = scheduled(parsed(product("f16", rows, columns, depth, "k, j")));
        EXPECT_LE(schedule.scratchBytes, 200 << 10);
        for (const LoopNest &nest : schedule.nests) {
          if (!nest.matrix)
            continue;
          const MatrixTile &tile = *nest.matrix;
          EXPECT_EQ(int(tile.down * tile.across * tile.warpsK * 32), schedule.threads);
          EXPECT_EQ(tile.rows % (16 * tile.down), 0u);
          EXPECT_EQ(tile.columns % (16 * tile.across), 0u);
          EXPECT_EQ(tile.depth % (16 * tile.warpsK), 0u);
          EXPECT_EQ(tile.rows * tile.depth % (8 * schedule.threads), 0u);
          EXPECT_EQ(tile.columns * tile.depth % (8 * schedule.threads), 0u);
          EXPECT_LE(tile.ring + tile.ringBytes(), schedule.scratchBytes);
          EXPECT_GE(tile.stages, 2u);
          if (!tile.inFours) {
            EXPECT_LE(schedule.scratchBytes, 88 << 10);
            continue;
          }
          EXPECT_LE(2 * (tile.operandBytes(tile.rows) + tile.operandBytes(tile.columns)), 88 << 10);
          EXPECT_EQ(tile.down % 4, 0u);
          EXPECT_EQ(tile.ring % 1024, 0);
          EXPECT_LE(tile.columns / tile.across, 256u);
        }
      }
}

TEST(Matrix, FourWarpsMultiplyLargeProducts) {
  for (const char *type : {"f16", "bf16"})
    for (const char *place : {"k, j", "j, k"}) {
      Schedule large = scheduled(parsed(product(type, 4096, 4096, 4096, place)));
      ASSERT_TRUE(large.nests[0].matrix);
      EXPECT_TRUE(large.nests[0].matrix->inFours);
    }
}

TEST(Matrix, BoxesComeWhereTheMachineBringsThem) {
  auto tileOf = [](const std::string &text, int64_t ringLimit, bool bulk) {
    ScheduleResult result = resultOf(parsed(text), {}, ringLimit, 8, bulk);
    return *result.schedule->nests[0].matrix;
  };
  for (const char *place : {"k, j", "j, k"}) {
    std::string text = product("f16", 1024, 1024, 4096, place);
    EXPECT_TRUE(tileOf(text, 200 << 10, true).inBulk);
    EXPECT_FALSE(tileOf(text, 200 << 10, false).inBulk);
    EXPECT_FALSE(tileOf(text, 0, true).inBulk); // No four warps together.
  }
}

TEST(Matrix, BoxesChangeNoOtherChoice) {
  Program program =
      parsed("input p[56, 56, 64] f16\ninput k[64, 3, 3, 64] f16\n"
             "t[h:56, w:56, o:64] f32 = sum<f32>[r:3, s:3, c:64] "
             "f32((p[h + r - 1, w + s - 1, c] | 0)) * f32(k[o, r, s, c])\noutput t\n");
  ScheduleResult with = resultOf(program, {}, 200 << 10, 8, true);
  ScheduleResult without = resultOf(program, {}, 200 << 10, 8, false);
  EXPECT_TRUE(with.schedule->nests[0].matrix->inBulk);
  EXPECT_FALSE(without.schedule->nests[0].matrix->inBulk);
  EXPECT_EQ(with.point, without.point);
  EXPECT_EQ(with.computeSeconds, without.computeSeconds);
}

TEST(Matrix, TilesBetweenTwoPowersFillTheCores) {
  auto scheduleOf = [](const std::string &place) {
    std::string text = product("f16", 384, 3072, 768, place);
    text.replace(text.find("output c"), 8, "y[i:384, j:3072] f16 = f16(c[i, j])\noutput y");
    return *resultOf(parsed(text), {}, 200 << 10, 8).schedule;
  };
  // 72 tiles of 128 columns would leave 60 of 132 cores idle.
  Schedule schedule = scheduleOf("j, k");
  ASSERT_TRUE(schedule.nests[0].matrix);
  EXPECT_EQ(schedule.nests[0].matrix->columns, 96u);
  EXPECT_EQ(schedule.tiles(), 96);
  // Lines of terms are 2 to the power of something.
  Schedule turned = scheduleOf("k, j");
  ASSERT_TRUE(turned.nests[0].matrix);
  EXPECT_NE(turned.nests[0].matrix->columns % 3, 0u);
}

TEST(Matrix, ManyThreadsFinishWhatTakesLong) {
  Program program = parsed(R"(
input a[128, 768] f16
input b[768, 3072] f16
t[i:128, j:3072] f32 = sum<f32>[k:768] f32(a[i, k]) * f32(b[k, j])
y[i:128, j:3072] f16 = f16(t[i, j] * 0.5 * (1 + erf(t[i, j] * 0.70710678)))
output y
)");
  // One warp on a scheduler waits for each of its instructions.
  EXPECT_GE(scheduled(program, {program.inputs[1]}).threads, 256);
}

TEST(Matrix, OtherDevicesMultiplyByWarps) {
  Program program = parsed(product("f16", 4096, 4096, 4096, "j, k"));
  Schedule schedule = scheduled(program, {}, 0);
  ASSERT_TRUE(schedule.nests[0].matrix);
  EXPECT_FALSE(schedule.nests[0].matrix->inFours);
}

TEST(Matrix, ClustersShareLongSumsOfFewTiles) {
  auto tileOf = [](const std::string &text, unsigned blocks) {
    Schedule schedule = *resultOf(parsed(text), {}, 200 << 10, blocks).schedule;
    EXPECT_EQ(schedule.blocks(), schedule.tiles() * schedule.nests.back().matrix->blocks);
    return *schedule.nests.back().matrix;
  };
  std::string few = product("f16", 49, 512, 4608, "k, j");
  EXPECT_EQ(tileOf(few, 1).blocks, 1u);
  MatrixTile shared = tileOf(few, 8);
  EXPECT_GE(shared.blocks, 2u);
  EXPECT_GE(shared.ringBytes(), int64_t(shared.warpsK) * shared.rows * shared.columns * 4);
  EXPECT_EQ(tileOf(product("f16", 4096, 4096, 4096, "k, j"), 8).blocks, 1u);
  // What comes ahead of the product in its tile is not done by each block.
  std::string twice = "input a[49, 256] f16\ninput b[256, 4608] f16\ninput w[4608, 512] f16\n"
                      "h[i:49, k:4608] f32 = sum<f32>[r:256] f32(a[i, r]) * f32(b[r, k])\n"
                      "g[i:49, k:4608] f16 = f16(h[i, k])\n"
                      "c[i:49, j:512] f32 = sum<f32>[k:4608] f32(g[i, k]) * f32(w[k, j])\n"
                      "output c\n";
  EXPECT_EQ(tileOf(twice, 8).blocks, 1u);
}

TEST(Matrix, LeavesOtherSumsAlone) {
  for (const char *text :
       {// One factor, squared.
        "input a[64, 64] f16\nc[i:64] f32 = sum<f32>[k:64] f32(a[i, k]) * f32(a[i, k])\n",
        // No columns of its own.
        "input a[64, 64] f16\ninput b[64] f16\n"
        "c[i:64] f32 = sum<f32>[k:64] f32(a[i, k]) * f32(b[k])\n",
        // Another type of the running sums.
        "input a[64, 64] f16\ninput b[64, 64] f16\n"
        "c[i:64, j:64] f64 = sum<f64>[k:64] f64(a[i, k]) * f64(b[k, j])\n",
        // Two types of factors.
        "input a[64, 64] f16\ninput b[64, 64] bf16\n"
        "c[i:64, j:64] f32 = sum<f32>[k:64] f32(a[i, k]) * f32(b[k, j])\n",
        "input a[64, 64] f16\ninput b[64, 64] f16\n"
        "c[i:64, j:64] f32 = max<f32>[k:64] f32(a[i, k]) * f32(b[k, j])\n"})
    for (const LoopNest &nest : scheduled(parsed(text + std::string("output c\n"))).nests)
      EXPECT_FALSE(nest.matrix) << text;
}

TEST(Matrix, TakesBordersOnTheWay) {
  Program program = parsed(R"(
input x[h:30, w:30, c:64] f16
input k[o:64, r:3, s:3, c:64] f16
p[h:32, w:32, c:64] f16 = (x[h - 1, w - 1, c] | 0)
t[h:30, w:30, o:64] f32 = sum<f32>[r:3, s:3, c:64] f32(p[h + r, w + s, c]) * f32(k[o, r, s, c])
y[h:30, w:30, o:64] f16 = f16(max(t[h, w, o], 0))
output y
)");
  Schedule schedule = scheduled(program);
  ASSERT_EQ(schedule.nests.size(), 1u);
  EXPECT_TRUE(schedule.nests[0].matrix);
}

TEST(Matrix, ConstantsLieAsTheUnitsReadThem) {
  Program program = parsed(product("f16", 128, 256, 512, "k, j"));
  Schedule schedule = scheduled(program, program.inputs[1]);
  const auto *packed =
      llvm::find_if(schedule.buffers, [](const Buffer &buffer) { return bool(buffer.packing); });
  ASSERT_NE(packed, schedule.buffers.end());
  // Terms side by side: [256 columns, 512 terms] of what was [512, 256].
  ASSERT_EQ(packed->packing->dimensions.size(), 2u);
  EXPECT_EQ(packed->packing->dimensions[0], (Packing::Dimension{256, 1}));
  EXPECT_EQ(packed->packing->dimensions[1], (Packing::Dimension{512, 256}));
}

TEST(Matrix, PaysForElementsThatDoNotStartWholeMoves) {
  auto seconds = [](const std::string &place) {
    Program program = parsed("input a[128, 512] f16\ninput b[512, 512] f16\n"
                             "c[i:128, j:256] f32 = sum<f32>[k:512] f32(a[i, k]) * f32(b[k, " +
                             place + "])\noutput c\n");
    return kintsugi::test::resultOf(program).computeSeconds;
  };
  EXPECT_EQ(seconds("j"), seconds("j + 8"));
  EXPECT_GT(seconds("j + 1"), 1.2 * seconds("j"));
}

TEST(Matrix, ElementsThatComeOneByOneTakeRegisters) {
  auto scheduledAt = [](const std::string &place) {
    return scheduled(parsed("input a[128, 512] f16\ninput b[512, 512] f16\n"
                            "c[i:128, j:256] f32 = sum<f32>[k:512] f32(a[i, k]) * f32(b[k, " +
                            place + "])\noutput c\n"));
  };
  Schedule whole = scheduledAt("j"), single = scheduledAt("j + 1");
  ASSERT_TRUE(whole.nests[0].matrix);
  single.nests[0].matrix = whole.nests[0].matrix;
  single.threads = whole.threads;
  EXPECT_GT(registersOf(single.nests[0], single), registersOf(whole.nests[0], whole));
}
