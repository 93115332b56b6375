#include "kernel_runner.h"
#include "nests.h"
#include "gtest/gtest.h"

namespace kintsugi::test {

using namespace te;
using loops::RegisterTile;

/// C[i, j] = sum_k A[i, k] B[k, j] on tiles of rows.
static ScheduleMaker product(int64_t m, int64_t n, int64_t k, int64_t tileRows, RegisterTile tile,
                             ElementType type = ElementType::F32) {
  ScheduleMaker maker;
  unsigned a = maker.buffer(type, m * k), b = maker.buffer(type, k * n);
  unsigned c = maker.buffer(type, m * n, true);
  maker.tile(m, tileRows);
  // Iterators: i, j, k, then the tile's first row.
  Index row = it(0) + it(3);
  Expr body = maker.read(a, row * k + it(2)) * maker.read(b, it(2) * n + it(1));
  maker.reduce({tileRows, n}, {k}, Combiner::Sum, c, row * n + it(1), body).registers = tile;
  return maker;
}

static Operands operands(int64_t m, int64_t n, int64_t k) {
  return {numbers(m * k), numbers(k * n), {}};
}

TEST(Contraction, RegisterTilesAgree) {
  for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 8, 1, -1, 1, 0},
                            RegisterTile{1, 16, 2, 0, 4, 0}, RegisterTile{1, 16, 4, 0, 12, 0},
                            RegisterTile{0, 4, 1, 1, 3, 0}, RegisterTile{2, 16, 1, -1, 1, 0},
                            RegisterTile{2, 8, 4, 0, 2, 0}, RegisterTile{1, 1, 4, 0, 2, 0}})
    for (int64_t tileRows : {37, 16})
      EXPECT_EQ(
          compareKernel(product(37, 65, 50, tileRows, tile).schedule, operands(37, 65, 50), 2e-6),
          "")
          << tile.vectorIterator << " " << tile.lanes << " " << tile.rows << " " << tileRows;
}

/// C[i, j] = max(sum_{p, k} A[i, p, k] B[p, k, j], -0.5), the sum in passes over p.
TEST(Contraction, PassesAgree) {
  constexpr int64_t m = 24, n = 70, p = 3, k = 20;
  for (RegisterTile tile :
       {RegisterTile{}, RegisterTile{1, 16, 2, 0, 4, 0}, RegisterTile{1, 8, 3, 0, 6, 1},
        RegisterTile{1, 16, 1, -1, 1, 0}, RegisterTile{0, 4, 1, 1, 2, 0}})
    for (int64_t tileRows : {24, 12}) {
      ScheduleMaker maker;
      unsigned a = maker.buffer(ElementType::F32, m * p * k);
      unsigned b = maker.buffer(ElementType::F32, p * k * n);
      unsigned c = maker.buffer(ElementType::F32, m * n, true);
      maker.tile(m, tileRows);
      // Iterators: i, j, p, k, then the tile's first row.
      Index row = it(0) + it(4), depth = it(2) * k + it(3);
      Expr body = maker.read(a, row * (p * k) + depth) * maker.read(b, depth * n + it(1));
      loops::LoopNest &nest =
          maker.reduce({tileRows, n}, {p, k}, Combiner::Sum, c, row * n + it(1), body);
      nest.registers = tile;
      nest.inPasses = true;
      nest.epilogue[0] =
          Expr::binary(BinaryOp::Max, nest.epilogue[0], Expr::literal(ElementType::F32, -0.5));
      EXPECT_EQ(compareKernel(maker.schedule, {numbers(m * p * k), numbers(p * k * n), {}}, 2e-6),
                "")
          << tile.vectorIterator << " " << tile.lanes << " " << tile.rows << " " << tileRows;
    }
}

} // namespace kintsugi::test
