//===- threads_test.cpp - Tiles that are the work of a block of threads ---===//
//
// As a processor does it, one thread after another: the mapping is that of a GPU.
//
//===----------------------------------------------------------------------===//

#include "kernel_runner.h"
#include "nests.h"
#include "gtest/gtest.h"

namespace kintsugi::test {

using namespace te;
using loops::RegisterTile;

/// So many threads share a sum, each `apart` from the next.
static RegisterTile splitTile(int iterator, unsigned lanes, unsigned apart, unsigned rows = 1) {
  RegisterTile tile{iterator, lanes, 1, rows > 1 ? 0 : -1, rows, 0};
  tile.apart = apart;
  return tile;
}

static RegisterTile withColumns(RegisterTile tile, int iterator, unsigned columns) {
  tile.columnIterator = iterator;
  tile.columns = columns;
  return tile;
}

/// Each thread has so many terms in a row in turn.
static RegisterTile withRun(RegisterTile tile, unsigned run) {
  tile.vectors = run;
  return tile;
}

/// c[i, j] = sum_k a[i, k] * b[k, j], tiles of 24 rows of 40, whose last overlaps the one before.
static ScheduleMaker product(RegisterTile tile, int threads, int64_t depth) {
  ScheduleMaker maker;
  maker.schedule.threads = threads;
  unsigned a = maker.buffer(ElementType::F32, 40 * depth);
  unsigned b = maker.buffer(ElementType::F32, depth * 52);
  unsigned c = maker.buffer(ElementType::F32, 40 * 52, true);
  maker.tile(40, 24);
  Index row = it(0) + it(3);
  maker
      .reduce({24, 52}, {depth}, Combiner::Sum, c, row * 52 + it(1),
              maker.read(a, row * depth + it(2)) * maker.read(b, it(2) * 52 + it(1)))
      .registers = tile;
  return maker;
}

TEST(Threads, SpreadAProduct) {
  for (RegisterTile tile :
       {RegisterTile{}, RegisterTile{1, 1, 4, -1, 1, 0}, RegisterTile{1, 1, 4, 0, 8, 0},
        RegisterTile{1, 1, 8, 0, 5, 0}, RegisterTile{0, 1, 2, 1, 3, 0}, splitTile(2, 8, 1),
        splitTile(2, 64, 1), splitTile(2, 4, 32, 4), splitTile(2, 2, 8, 2),
        withColumns(splitTile(2, 4, 32, 4), 1, 4), withColumns(splitTile(2, 2, 32, 5), 1, 3),
        withRun(splitTile(2, 4, 1), 8), withRun(splitTile(2, 64, 1, 4), 4),
        withRun(withColumns(splitTile(2, 2, 32), 1, 8), 2)})
    for (int threads : {32, 128})
      for (int64_t depth : {1, 7, 32, 96, 333}) {
        if (tile.lanes * tile.apart > unsigned(threads))
          continue;
        ScheduleMaker maker = product(tile, threads, depth);
        Operands memory = {numbers(40 * depth), numbers(depth * 52), {}};
        EXPECT_EQ(compareKernel(maker.schedule, memory, 1e-5), "")
            << tile.lanes << " lanes, " << tile.apart << " apart, " << tile.rows << " x "
            << tile.vectors << " points, " << threads << " threads, depth " << depth;
      }
}

TEST(Threads, ShareReductionsOfAllKinds) {
  for (ElementType type :
       {ElementType::F32, ElementType::F64, ElementType::I32, ElementType::I8, ElementType::I64})
    for (Combiner combiner : {Combiner::Sum, Combiner::Max, Combiner::Min})
      for (int64_t length : {1, 33, 256, 1025})
        for (RegisterTile tile :
             {splitTile(1, 2, 1), splitTile(1, 32, 1), splitTile(1, 256, 1), splitTile(1, 8, 32),
              splitTile(1, 16, 4, 3), withRun(splitTile(1, 32, 1), 4)}) {
          ScheduleMaker maker;
          maker.schedule.threads = 256;
          unsigned x = maker.buffer(type, 5 * length), y = maker.buffer(type, 5, true);
          maker.reduce({5}, {length}, combiner, y, it(0), maker.read(x, it(0) * length + it(1)))
              .registers = tile;
          Operands memory = {
              isFloat(type) ? numbers(5 * length) : numbers(5 * length, 0, 1.2, true), {}};
          if (combiner == Combiner::Sum && bitsOf(type) == 8)
            std::fill(memory[0].begin(), memory[0].end(), 0);
          EXPECT_EQ(compareKernel(maker.schedule, memory, isFloat(type) ? 1e-5 : 0), "")
              << nameOf(combiner) << " of " << length << " " << nameOf(type) << " over "
              << tile.lanes << " lanes, " << tile.apart << " apart";
        }
}

TEST(Threads, ReadWhatOthersLeftInScratch) {
  // t[j] = sum_k x[i, k] * (j + 1), y[i, j] = t[31 - j]: each thread reads another's.
  ScheduleMaker maker;
  maker.schedule.threads = 64;
  unsigned x = maker.buffer(ElementType::F32, 10 * 16),
           y = maker.buffer(ElementType::F32, 320, true);
  unsigned t = maker.scratch(ElementType::F32, 32);
  maker.tile(10, 1);
  maker.reduce({32}, {16}, Combiner::Sum, t, it(0), maker.read(x, it(2) * 16 + it(1)));
  maker.map({32}, y, it(1) * 32 + it(0), maker.read(t, it(0) * -1 + 31));
  EXPECT_EQ(compareKernel(maker.schedule, {numbers(160), {}}, 1e-5), "");
}

TEST(Threads, HaveSeveralBlocksUnderWay) {
  // As many rounds as are had together, more, and a last one that is not full.
  for (int64_t rows : {4, 8, 12, 64, 67})
    for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 1, 4, -1, 1, 0}}) {
      ScheduleMaker maker;
      maker.schedule.threads = 32;
      unsigned x = maker.buffer(ElementType::F32, rows * 32),
               y = maker.buffer(ElementType::F32, rows * 32, true);
      maker
          .map({rows, 32}, y, it(1) * rows + it(0),
               maker.read(x, it(0) * 32 + it(1)) * maker.read(x, it(0) * 32))
          .registers = tile;
      EXPECT_EQ(compareKernel(maker.schedule, {numbers(rows * 32), {}}, 1e-5), "") << rows;
    }
}

TEST(Threads, HaveRowsAndColumnsOfPoints) {
  // Each row's divisor serves its points; factors by column serve the rows.
  for (RegisterTile tile : {RegisterTile{1, 1, 4, 0, 2, 0}, RegisterTile{1, 1, 8, 0, 4, 0}}) {
    ScheduleMaker maker;
    maker.schedule.threads = 32;
    unsigned x = maker.buffer(ElementType::F32, 16 * 64), by = maker.buffer(ElementType::F32, 16),
             scale = maker.buffer(ElementType::F32, 64),
             y = maker.buffer(ElementType::F32, 16 * 64, true);
    Expr quotient = maker.read(x, it(0) * 64 + it(1)) / maker.read(by, it(0));
    maker.map({16, 64}, y, it(0) * 64 + it(1), quotient * maker.read(scale, it(1))).registers =
        tile;
    Operands memory = {numbers(16 * 64), numbers(16, 0.5, 4), numbers(64), {}};
    EXPECT_EQ(compareKernel(maker.schedule, memory, 1e-6), "") << tile.rows;
  }
}

TEST(Threads, ReadWhatAChoiceWants) {
  // Three parts of a row, which end where vectors do or not; what is past the last is filled in.
  for (int64_t end : {8, 12, 13, 31})
    for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 1, 4, 0, 2, 0}}) {
      ScheduleMaker maker;
      maker.schedule.threads = 32;
      auto isBelow = [&](int64_t bound) {
        return Expr::binary(BinaryOp::Less, Expr::index(it(1), ElementType::I64),
                            Expr::literal(ElementType::I64, bound));
      };
      unsigned a = maker.buffer(ElementType::F32, 10 * end),
               b = maker.buffer(ElementType::F32, 10 * 4), c = maker.buffer(ElementType::F32, 10),
               y = maker.buffer(ElementType::F32, 10 * 40, true);
      Expr chosen =
          Expr::select(isBelow(end), maker.read(a, it(0) * end + it(1)),
                       Expr::select(isBelow(end + 4), maker.read(b, it(0) * 4 + it(1) - Index(end)),
                                    maker.read(c, it(0))));
      Expr inside = Expr::select(isBelow(38), chosen, Expr::literal(ElementType::F32, -1.0));
      for (const Expr &body : {chosen, inside, chosen + maker.read(a, it(0) * end)}) {
        ScheduleMaker one = maker;
        one.map({10, 40}, y, it(0) * 40 + it(1), body).registers = tile;
        Operands memory = {numbers(10 * end), numbers(40, 0.5, 4), numbers(10, 7, 9), {}};
        EXPECT_EQ(compareKernel(one.schedule, memory, 0), "") << end;
      }
    }
}

TEST(Threads, FindTheFirstOfTheGreatest) {
  ScheduleMaker maker;
  maker.schedule.threads = 32;
  unsigned x = maker.buffer(ElementType::F32, 7 * 50), y = maker.buffer(ElementType::I64, 7, true);
  auto &nest =
      maker.reduce({7}, {50}, Combiner::ArgMax, y, it(0), maker.read(x, it(0) * 50 + it(1)));
  nest.bodies.push_back(Expr::index(it(1), ElementType::I64));
  nest.epilogue[0] = Expr::read(loops::LoopNest::accumulator(0), ElementType::I64, {});
  EXPECT_EQ(compareKernel(maker.schedule, {numbers(350, 0, 4, true), {}}, 0), "");
}

} // namespace kintsugi::test
