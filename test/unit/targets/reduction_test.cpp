#include "kernel_runner.h"
#include "nests.h"
#include "gtest/gtest.h"

#include <cmath>

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;
using loops::RegisterTile;

/// y[i] = combine_j x[i, j].
static ScheduleMaker rowReduction(Combiner combiner, ElementType type, int64_t rows, int64_t length,
                                  RegisterTile tile) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(type, rows * length), y = maker.buffer(type, rows, true);
  maker.reduce({rows}, {length}, combiner, y, it(0), maker.read(x, it(0) * length + it(1)))
      .registers = tile;
  return maker;
}

TEST(Reduction, AlongVectorsWithTails) {
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::I32, ElementType::I8,
                           ElementType::U8, ElementType::I64})
    for (Combiner combiner : {Combiner::Sum, Combiner::Max, Combiner::Min, Combiner::Prod})
      for (int64_t length : {1, 5, 16, 37, 64, 101})
        for (RegisterTile tile :
             {RegisterTile{}, RegisterTile{1, 16, 2, -1, 1, 0}, RegisterTile{1, 4, 3, 0, 3, 0}}) {
          ScheduleMaker maker = rowReduction(combiner, type, 7, length, tile);
          bool isFloating = isFloat(type);
          Operands memory = {isFloating
                                 ? numbers(7 * length, -1.2, -0.8)
                                 : numbers(7 * length, 0, combiner == Combiner::Prod ? 2 : 5, true),
                             {}};
          if (combiner == Combiner::Sum && bitsOf(type) == 8)
            memory[0] = numbers(7 * length, 0, 1.2, true);
          EXPECT_EQ(compareKernel(maker.schedule, memory, isFloating ? 2e-6 : 0), "")
              << nameOf(combiner) << " of " << length << " " << nameOf(type);
        }
}

/// Their running values are of 16 bits, in registers and from block to block.
TEST(Reduction, ExtremaOfHalves) {
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (Combiner combiner : {Combiner::Max, Combiner::Min})
      for (int64_t length : {5, 37, 101})
        for (RegisterTile tile :
             {RegisterTile{}, RegisterTile{1, 16, 2, -1, 1, 0}, RegisterTile{0, 4, 1, -1, 1, 0}}) {
          ScheduleMaker maker = rowReduction(combiner, type, 7, length, tile);
          Operands memory = {numbers(7 * length), {}};
          EXPECT_EQ(compareKernel(maker.schedule, memory, 0), "")
              << nameOf(combiner) << " of " << length << " " << nameOf(type);
        }
}

/// s[i] = combine_j of f(x[i, j])^2, and f(x[i, j]) is kept for y = f * s; rows overlap.
TEST(Reduction, KeepsWhatItJoins) {
  constexpr int64_t rows = 7;
  for (int64_t length : {1, 5, 16, 37, 101})
    for (RegisterTile tile :
         {RegisterTile{}, RegisterTile{1, 16, 2, -1, 1, 0}, RegisterTile{1, 4, 3, 0, 3, 0},
          RegisterTile{0, 4, 1, -1, 1, 0}, RegisterTile{1, 16, 1, 0, 2, 1}}) {
      ScheduleMaker maker;
      unsigned x = maker.buffer(ElementType::F32, rows * length);
      unsigned y = maker.buffer(ElementType::F32, rows * length, true);
      unsigned kept = maker.scratch(ElementType::F32, rows * length);
      unsigned sums = maker.scratch(ElementType::F32, rows);
      Index place = it(0) * length + it(1);
      Expr each = Expr::unary(UnaryOp::Exp, maker.read(x, place));
      LoopNest &reduction = maker.reduce({rows}, {length}, Combiner::Sum, sums, it(0), each * each);
      // Equal, but not the same: what both have in common is still computed once.
      reduction.kept.push_back({Expr::unary(UnaryOp::Exp, maker.read(x, place)), kept, place});
      reduction.registers = tile;
      maker.map({rows, length}, y, place, maker.read(kept, place) * maker.read(sums, it(0)));
      Operands memory = {numbers(rows * length), {}};
      EXPECT_EQ(compareKernel(maker.schedule, memory, 4e-6), "") << length;
    }
}

/// What is kept is the sum so far, along which other iterators share vectors.
TEST(Reduction, KeepsItsRunningValue) {
  constexpr int64_t columns = 21;
  for (int64_t length : {1, 5, 37})
    for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::I32})
      for (RegisterTile tile :
           {RegisterTile{}, RegisterTile{0, 8, 2, -1, 1, 0}, RegisterTile{1, 8, 1, 0, 2, 1}}) {
        ScheduleMaker maker;
        unsigned x = maker.buffer(type, 3 * length * columns);
        unsigned y = maker.buffer(type, 3 * length * columns, true);
        unsigned kept = maker.scratch(type, 3 * length * columns);
        unsigned sums = maker.scratch(type, 3 * columns);
        bool alongRows = tile.vectorIterator == 0; // Iterators are in the order of the loops.
        Index column = alongRows ? it(0) : it(1), batch = alongRows ? it(1) : it(0);
        Index place = batch * (length * columns) + it(2) * columns + column;
        LoopNest &reduction = maker.reduce(
            alongRows ? llvm::ArrayRef<int64_t>{columns, 3} : llvm::ArrayRef<int64_t>{3, columns},
            {length}, Combiner::Sum, sums, batch * columns + column, maker.read(x, place));
        reduction.kept.push_back({Expr::read(LoopNest::accumulator(0), type, {}), kept, place});
        reduction.registers = tile;
        maker.map({3 * length * columns}, y, it(0), maker.read(kept, it(0)));
        Operands memory = {numbers(3 * length * columns, -9, 9, !isFloat(type)), {}};
        EXPECT_EQ(compareKernel(maker.schedule, memory, 2e-6), "") << length << nameOf(type);
      }
}

TEST(Reduction, OfBooleans) {
  for (Combiner combiner : {Combiner::And, Combiner::Or})
    for (unsigned lanes : {1, 16}) {
      ScheduleMaker maker =
          rowReduction(combiner, ElementType::Bool, 9, 21,
                       lanes == 1 ? RegisterTile{} : RegisterTile{1, lanes, 1, -1, 1, 0});
      Operands memory = {std::vector<double>(9 * 21, combiner == Combiner::And), {}};
      for (int row = 0; row < 9; row += 2)
        memory[0][row * 21 + row * 2] = combiner != Combiner::And;
      EXPECT_EQ(compareKernel(maker.schedule, memory, 0), "");
    }
}

/// Each result has lanes of its own, of which some meet a NaN.
TEST(Reduction, NaNStaysInItsLane) {
  for (Combiner combiner : {Combiner::Max, Combiner::Min})
    for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::F16})
      for (RegisterTile tile : {RegisterTile{0, 8, 2, -1, 1, 0}, RegisterTile{0, 4, 1, -1, 1, 1}}) {
        ScheduleMaker maker;
        unsigned x = maker.buffer(type, 5 * 27), y = maker.buffer(type, 27, true);
        maker.reduce({27}, {5}, combiner, y, it(0), maker.read(x, it(1) * 27 + it(0))).registers =
            tile;
        Operands memory = {numbers(5 * 27), {}};
        for (int place : {3, 26 + 27, 8 + 2 * 27, 15 + 4 * 27})
          memory[0][place] = NAN;
        for (const std::string &level : hostLevels()) {
          Operands got = memory;
          ASSERT_EQ(runKernel(maker.schedule, level, got), "");
          for (int column = 0; column < 27; ++column) {
            bool has = column == 3 || column == 26 || column == 8 || column == 15;
            EXPECT_EQ(std::isnan(got[1][column]), has) << level << " " << column;
          }
        }
      }
}

TEST(Reduction, NaNIsGreatestAndLeast) {
  for (Combiner combiner : {Combiner::Max, Combiner::Min})
    for (ElementType type :
         {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16})
      for (int place : {0, 3, 17, 36})
        for (const std::string &level : hostLevels()) {
          ScheduleMaker maker =
              rowReduction(combiner, type, 1, 37, RegisterTile{1, 16, 1, -1, 1, 0});
          Operands memory = {numbers(37), {}};
          memory[0][place] = NAN;
          ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
          EXPECT_TRUE(std::isnan(memory[1][0])) << level << " " << place;
        }
}

/// Like a convolution: three reduction iterators, fill outside, an epilogue.
TEST(Reduction, ConvolutionWithPaddingAndEpilogue) {
  int64_t channels = 5, height = 11, width = 13, outputs = 6;
  for (RegisterTile tile :
       {RegisterTile{}, RegisterTile{2, 8, 1, 0, 3, 2}, RegisterTile{2, 16, 1, 0, 2, 1},
        RegisterTile{0, 4, 1, 2, 4, 0}, RegisterTile{3, 4, 1, -1, 1, 0}}) {
    ScheduleMaker maker;
    unsigned x = maker.buffer(ElementType::F32, channels * height * width);
    unsigned k = maker.buffer(ElementType::F32, outputs * channels * 9);
    unsigned bias = maker.buffer(ElementType::F32, outputs);
    unsigned y = maker.buffer(ElementType::F32, outputs * height * width, true);
    maker.tile(height, 4);
    // o, h, w, c, r, s, then the tile's first row.
    Index row = it(1) + it(6) + it(4) - 1, column = it(2) + it(5) - 1;
    auto inside = [](Index index, int64_t extent) {
      Expr value = Expr::index(index, ElementType::I64);
      auto number = [](int64_t n) { return Expr::literal(ElementType::I64, n); };
      return Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::LessEqual, number(0), value),
                          Expr::binary(BinaryOp::Less, value, number(extent)));
    };
    Expr element = maker.read(x, it(3) * (height * width) + row * width + column);
    Expr padded =
        Expr::select(Expr::binary(BinaryOp::And, inside(row, height), inside(column, width)),
                     element, Expr::literal(ElementType::F32, 0.0));
    Expr weight = maker.read(k, it(0) * (channels * 9) + it(3) * 9 + it(4) * 3 + it(5));
    LoopNest &nest =
        maker.reduce({outputs, 4, width}, {channels, 3, 3}, Combiner::Sum, y,
                     it(0) * (height * width) + (it(1) + it(6)) * width + it(2), padded * weight);
    Expr sum = Expr::read(LoopNest::accumulator(0), ElementType::F32, {});
    nest.epilogue[0] = Expr::binary(BinaryOp::Max, sum + maker.read(bias, it(0)),
                                    Expr::literal(ElementType::F32, 0.0));
    nest.registers = tile;
    Operands memory = {
        numbers(channels * height * width), numbers(outputs * channels * 9), numbers(outputs), {}};
    EXPECT_EQ(compareKernel(maker.schedule, memory, 2e-6), "") << tile.vectorIterator;
  }
}

static ScheduleMaker argKernel(Combiner combiner, ElementType type, RegisterTile tile) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(type, 20 * 30), y = maker.buffer(ElementType::I64, 30, true);
  LoopNest &nest = maker.reduce({30}, {20}, combiner, y, it(0), maker.read(x, it(1) * 30 + it(0)));
  nest.bodies.push_back(Expr::index(it(1) + 5, ElementType::I64));
  nest.epilogue[0] = Expr::read(LoopNest::accumulator(0), ElementType::I64, {});
  nest.registers = tile;
  return maker;
}

TEST(Reduction, ArgForms) {
  for (Combiner combiner : {Combiner::ArgMax, Combiner::ArgMin})
    for (ElementType type : {ElementType::F32, ElementType::I32, ElementType::U8})
      for (RegisterTile tile :
           {RegisterTile{}, RegisterTile{0, 16, 1, -1, 1, 0}, RegisterTile{-1, 1, 1, 0, 4, 0}}) {
        Operands memory = {numbers(600, 0, 6, true), {}}; // Ties: the first wins.
        EXPECT_EQ(compareKernel(argKernel(combiner, type, tile).schedule, memory, 0), "");
        memory[0].assign(600, isFloat(type) ? -INFINITY : 0);
        EXPECT_EQ(compareKernel(argKernel(combiner, type, tile).schedule, memory, 0), "");
      }
}

/// Lanes share the reduction: of equal keys in several the first one wins, in whichever direction
/// places are counted; the last vector may be a part of one, or none.
TEST(Reduction, ArgFormsAcrossLanes) {
  for (Combiner combiner : {Combiner::ArgMax, Combiner::ArgMin})
    for (ElementType type :
         {ElementType::F32, ElementType::F64, ElementType::I32, ElementType::U8, ElementType::F16})
      for (int64_t length : {3, 20, 37, 130})
        for (int64_t direction : {1, -1})
          for (RegisterTile tile :
               {RegisterTile{1, 16, 1, -1, 1, 0}, RegisterTile{1, 8, 2, 0, 2, 0},
                RegisterTile{1, 16, 4, -1, 1, 0}}) {
            ScheduleMaker maker;
            unsigned x = maker.buffer(type, 4 * length);
            unsigned y = maker.buffer(ElementType::I64, 4, true);
            Index place = direction > 0 ? it(1) : Index(length - 1) - it(1);
            LoopNest &nest = maker.reduce({4}, {length}, combiner, y, it(0),
                                          maker.read(x, it(0) * length + place));
            nest.bodies.push_back(Expr::index(place + 5, ElementType::I64));
            nest.epilogue[0] = Expr::read(LoopNest::accumulator(0), ElementType::I64, {});
            nest.registers = tile;
            Operands memory = {numbers(4 * length, 0, 6, true), {}};
            EXPECT_EQ(compareKernel(maker.schedule, memory, 0), "") << length << nameOf(type);
            double infinite = combiner == Combiner::ArgMax ? -INFINITY : INFINITY;
            memory[0].assign(4 * length, isFloat(type) ? infinite : 0);
            EXPECT_EQ(compareKernel(maker.schedule, memory, 0), "") << length << nameOf(type);
            if (!isFloat(type))
              continue;
            memory[0][length - 1] = memory[0][length - 2] = NAN;
            memory[0][length] = memory[0][2 * length - 1] = NAN;
            for (const std::string &level : hostLevels()) {
              Operands got = memory;
              ASSERT_EQ(runKernel(maker.schedule, level, got), "");
              EXPECT_EQ(got[1][0], (direction > 0 ? length - 2 : length - 1) + 5) << level;
              EXPECT_EQ(got[1][1], (direction > 0 ? 0 : length - 1) + 5) << level;
            }
          }
}

TEST(Reduction, ArgFormsTakeTheFirstNaN) {
  for (Combiner combiner : {Combiner::ArgMax, Combiner::ArgMin}) {
    for (const std::string &level : hostLevels()) {
      Operands memory = {numbers(600), {}};
      memory[0][7 * 30 + 2] = memory[0][9 * 30 + 2] = NAN;
      ScheduleMaker maker = argKernel(combiner, ElementType::F32, {0, 16, 1, -1, 1, 0});
      ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
      EXPECT_EQ(memory[1][2], 7 + 5) << level;
    }
  }
}

/// Maximum and sum of exponentials in one pass, by rows.
static ScheduleMaker statsKernel(int64_t rows, int64_t length, RegisterTile tile) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(ElementType::F32, rows * length);
  unsigned m = maker.buffer(ElementType::F32, rows, true);
  unsigned s = maker.buffer(ElementType::F32, rows, true);
  LoopNest &nest = maker.reduce({rows}, {length}, Combiner::SoftmaxStats, m, it(0),
                                maker.read(x, it(0) * length + it(1)));
  nest.destinations.push_back(s);
  nest.epilogue.push_back(Expr::read(LoopNest::accumulator(1), ElementType::F32, {}));
  nest.registers = tile;
  return maker;
}

TEST(Reduction, SoftmaxStats) {
  for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 16, 2, -1, 1, 0},
                            RegisterTile{1, 8, 1, 0, 2, 0}, RegisterTile{0, 4, 1, -1, 1, 0}}) {
    ScheduleMaker maker = statsKernel(6, 53, tile);
    Operands memory = {numbers(6 * 53, -20, 20), {}, {}};
    EXPECT_EQ(compareKernel(maker.schedule, memory, 1e-6), "");
    for (const std::string &level : hostLevels()) {
      for (int i = 0; i < 53; ++i)
        memory[0][i] = i % 3 ? -INFINITY : 1; // A masked row.
      ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
      EXPECT_EQ(memory[1][0], 1) << level;
      EXPECT_NEAR(memory[2][0], 18, 1e-4) << level;
      std::fill(memory[0].begin(), memory[0].begin() + 53, -INFINITY); // Wholly masked.
      ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
      EXPECT_EQ(memory[1][0], -INFINITY) << level;
      EXPECT_TRUE(std::isnan(memory[2][0])) << level;
    }
  }
}

/// Softmax over rows as four nests with scratch: maximum, exponentials, their sum, the quotient.
TEST(Reduction, SoftmaxInOneKernel) {
  int64_t rows = 10, length = 45, tileRows = 4;
  ScheduleMaker maker;
  unsigned x = maker.buffer(ElementType::F32, rows * length);
  unsigned y = maker.buffer(ElementType::F32, rows * length, true);
  unsigned most = maker.scratch(ElementType::F32, tileRows);
  unsigned powers = maker.scratch(ElementType::F32, tileRows * length);
  unsigned sums = maker.scratch(ElementType::F32, tileRows);
  maker.tile(rows, tileRows);
  Index flat2 = (it(0) + it(2)) * length + it(1);
  maker.reduce({tileRows}, {length}, Combiner::Max, most, it(0), maker.read(x, flat2)).registers = {
      1, 16, 1, -1, 1, 0};
  Expr power = Expr::unary(UnaryOp::Exp, maker.read(x, flat2) - maker.read(most, it(0)));
  maker.map({tileRows, length}, powers, it(0) * length + it(1), power).registers = {1,  16, 2,
                                                                                    -1, 1,  0};
  maker
      .reduce({tileRows}, {length}, Combiner::Sum, sums, it(0),
              maker.read(powers, it(0) * length + it(1)))
      .registers = {1, 8, 2, 0, 2, 0};
  maker
      .map({tileRows, length}, y, flat2,
           maker.read(powers, it(0) * length + it(1)) / maker.read(sums, it(0)))
      .registers = {1, 16, 1, 0, 2, 0};
  EXPECT_EQ(compareKernel(maker.schedule, {numbers(rows * length, -9, 9), {}}, 1e-6), "");
}

TEST(Reduction, NothingToReduceAndNothingToCompute) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(ElementType::F32, 0), y = maker.buffer(ElementType::F32, 3, true);
  maker.reduce({3}, {0}, Combiner::Sum, y, it(0), maker.read(x, it(1))).registers = {0,  4, 1,
                                                                                     -1, 1, 0};
  EXPECT_EQ(compareKernel(maker.schedule, {{}, {}}, 0), "");
  ScheduleMaker empty;
  unsigned z = empty.buffer(ElementType::F32, 0, true);
  empty.map({0, 4}, z, it(0) * 4 + it(1), Expr::literal(ElementType::F32, 1.0));
  EXPECT_EQ(compareKernel(empty.schedule, {{}}, 0), "");
}

TEST(Reduction, AScalarKernel) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(ElementType::F32, 1), y = maker.buffer(ElementType::F32, 1, true);
  maker.map({}, y, Index(0), maker.read(x, Index(0)) + maker.read(x, Index(0)));
  EXPECT_EQ(compareKernel(maker.schedule, {{2.5}, {}}, 0), "");
}

} // namespace kintsugi::test
