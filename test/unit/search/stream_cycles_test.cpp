// What attention in one pass takes, by its tiles.

#include "cost/stream_cycles.h"

#include "../te/testing.h"
#include "on_gpu.h"

namespace kintsugi {
namespace {

using cost::BlockCycles;
using loops::MatrixTile;

class StreamCycles : public testing::Test {
protected:
  StreamCycles() {
    limits.core = machine.core;
    limits.cores = machine.cores;
  }

  /// `own`: columns of a block that a warp has.
  static MatrixTile scoresOf(unsigned down, unsigned across, int64_t own, unsigned stages) {
    MatrixTile tile;
    tile.down = down;
    tile.across = across;
    tile.rows = 16 * down;
    tile.columns = own * across;
    tile.depth = 64;
    tile.stages = stages;
    return tile;
  }

  BlockCycles of(const MatrixTile &scores, bool skips = false) const {
    loops::SoftmaxNests found{*matrixProductOf(schedule.nests[0]),
                              *matrixProductOf(schedule.nests[3]), 0};
    MatrixTile weighted = scores;
    weighted.columns = 64;
    return cost::StreamCycles(schedule.nests, found, schedule, limits).of(scores, weighted, skips);
  }

  te::Program program =
      test::parsed("input q[h:4, i:256, k:64] f16\ninput p[h:4, j:256, k:64] f16\ninput v[h:4, "
                   "j:256, d:64] f16\n"
                   "s[h:4, i:256, j:256] f32 = sum<f32>[k:64] f32(q[h, i, k]) * f32(p[h, j, k])\n"
                   "(m[h, i] f32, z[h, i] f32) = softmax_stats<f32>[j] s[h, i, j]\n"
                   "w[h, i, j] f16 = stored f16(exp(s[h, i, j] - m[h, i]))\n"
                   "o[h, i, d:64] f32 = sum<f32>[j] f32(w[h, i, j]) * f32(v[h, j, d])\n"
                   "y[h, i, d] f32 = o[h, i, d] / z[h, i]\n"
                   "output y\n");
  loops::Schedule schedule = test::scheduled(program);
  machine::Machine machine = *machine::Machine::forLevel("sm_90a");
  loops::BlockLimits limits;
};

TEST_F(StreamCycles, HalfOfTheBlocksAreHiddenWhereTheyAreSkipped) {
  MatrixTile tile = scoresOf(4, 1, 64, 2);
  EXPECT_NEAR(of(tile, true).busy, of(tile).busy / 2, 1e-9 * of(tile).busy);
  EXPECT_LT(of(tile, true).alone, of(tile).alone);
}

TEST_F(StreamCycles, MoreStagesHideMoreOfWhatComesFromFar) {
  EXPECT_LE(of(scoresOf(4, 1, 32, 3)).alone, of(scoresOf(4, 1, 32, 2)).alone);
}

} // namespace
} // namespace kintsugi
