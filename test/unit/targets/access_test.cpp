#include "kernel_runner.h"
#include "nests.h"
#include "targets/cpu/cpu.h"
#include "tile/build.h"
#include "gtest/gtest.h"

#include <cmath>

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;
using loops::RegisterTile;

/// y[i, j] = x[source(i, j)] with `count` elements in x.
static std::string copies(int64_t rows, int64_t columns, int64_t count, Index source,
                          RegisterTile tile, ElementType type = ElementType::F32) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(type, count), y = maker.buffer(type, rows * columns, true);
  maker.map({rows, columns}, y, it(0) * columns + it(1), maker.read(x, source)).registers = tile;
  return compareKernel(maker.schedule, {numbers(count, -99, 99, true), {}}, 0);
}

TEST(Access, EveryStride) {
  for (ElementType type :
       {ElementType::F32, ElementType::I8, ElementType::I64, ElementType::F16, ElementType::BF16})
    for (int64_t stride : {-7, -1, 0, 1, 2, 3, 4, 5, 8})
      for (int64_t columns : {3, 16, 37})
        for (unsigned lanes : {4, 16}) {
          // The last element that is read is the buffer's last (or first).
          int64_t span = std::abs(stride) * (columns - 1) + 1;
          Index source = it(0) * span + it(1) * stride + (stride < 0 ? span - 1 : 0);
          EXPECT_EQ(copies(3, columns, 3 * span, source, {1, lanes, 2, 0, 2, 0}, type), "")
              << "stride " << stride << " of " << columns;
        }
}

TEST(Access, Transposes) {
  for (ElementType type : {ElementType::F32, ElementType::I64, ElementType::U8})
    for (RegisterTile tile :
         {RegisterTile{1, 16, 1, 0, 4, 0}, RegisterTile{0, 16, 1, 1, 4, 0},
          RegisterTile{0, 8, 2, -1, 1, 0}, RegisterTile{}, RegisterTile{1, 16, 1, 0, 16, 0},
          RegisterTile{1, 8, 2, 0, 16, 0}, RegisterTile{1, 4, 1, 0, 8, 0}})
      EXPECT_EQ(copies(33, 41, 33 * 41, it(1) * 33 + it(0), tile, type), "");
}

TEST(Access, DivisionsAndRemainders) {
  std::vector<Index> sources = {it(1).floorDiv(3) + it(0) * 20,
                                it(1).mod(5) * 3 + it(0),
                                (it(1) + it(0) * 48).floorDiv(16) * 16 +
                                    (it(1) + it(0) * 48).mod(16),
                                it(1).floorDiv(16) * 64 + it(0) * 16 + it(1).mod(16),
                                (it(1) + it(0) - 5).floorDiv(4) + 2,
                                (it(0) * 7 + 3).mod(6) + it(1).floorDiv(2) * 2,
                                ((it(1) * 2 + it(0)).floorDiv(3) + it(1)).mod(11)};
  for (auto [number, source] : llvm::enumerate(sources))
    for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 16, 1, 0, 2, 0},
                              RegisterTile{1, 8, 2, -1, 1, 0}, RegisterTile{0, 4, 1, 1, 3, 0}})
      EXPECT_EQ(copies(4, 48, 4 * 64 + 64, source, tile), "") << "source " << number;
}

TEST(Access, Gathers) {
  for (ElementType indexType : {ElementType::I64, ElementType::I32, ElementType::U8})
    for (bool byLane : {false, true})
      for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 16, 1, 0, 2, 0}}) {
        ScheduleMaker maker;
        unsigned table = maker.buffer(ElementType::F32, 10 * 20);
        unsigned rows = maker.buffer(indexType, 20);
        unsigned y = maker.buffer(ElementType::F32, 5 * 20, true);
        Index row = Index::data(maker.read(rows, byLane ? it(1) : it(0)));
        maker.map({5, 20}, y, it(0) * 20 + it(1), maker.read(table, row * 20 + it(1))).registers =
            tile;
        EXPECT_EQ(compareKernel(maker.schedule, {numbers(200), numbers(20, 0, 10, true), {}}, 0),
                  "");
      }
}

static Expr index(Index value) { return Expr::index(value, ElementType::I64); }
static Expr whole(int64_t value) { return Expr::literal(ElementType::I64, value); }

/// A concatenation of three, whose sides are outside of their tensors where not chosen.
TEST(Access, OnlyTheChosenSideIsRead) {
  for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 16, 1, 0, 2, 0},
                            RegisterTile{0, 4, 1, 1, 2, 0}, RegisterTile{1, 8, 2, -1, 1, 0}}) {
    ScheduleMaker maker;
    unsigned a = maker.buffer(ElementType::F32, 6 * 10), b = maker.buffer(ElementType::F32, 6 * 21);
    unsigned c = maker.buffer(ElementType::F32, 6 * 7);
    unsigned y = maker.buffer(ElementType::F32, 6 * 38, true);
    Expr second =
        Expr::select(Expr::binary(BinaryOp::Less, index(it(1)), whole(31)),
                     maker.read(b, it(0) * 21 + it(1) - 10), maker.read(c, it(0) * 7 + it(1) - 31));
    Expr body = Expr::select(Expr::binary(BinaryOp::Less, index(it(1)), whole(10)),
                             maker.read(a, it(0) * 10 + it(1)), second);
    maker.map({6, 38}, y, it(0) * 38 + it(1), body).registers = tile;
    EXPECT_EQ(compareKernel(maker.schedule, {numbers(60), numbers(126), numbers(42), {}}, 0), "");
  }
}

/// Padding by reads of stride 0, 1 and 2 and of another row.
TEST(Access, MaskedReadsOfEveryKind) {
  for (int64_t stride : {0, 1, 2, 5})
    for (RegisterTile tile :
         {RegisterTile{}, RegisterTile{1, 16, 1, 0, 3, 0}, RegisterTile{0, 8, 1, 1, 2, 0}}) {
      ScheduleMaker maker;
      unsigned x = maker.buffer(ElementType::F32, 40),
               y = maker.buffer(ElementType::F32, 9 * 30, true);
      Index place = it(1) * stride + it(0) * 4 - 12;
      Expr inside =
          Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::LessEqual, whole(0), index(place)),
                       Expr::binary(BinaryOp::Less, index(place), whole(40)));
      Expr late = Expr::binary(BinaryOp::Less, whole(3), index(it(1)));
      Expr body = Expr::select(Expr::binary(BinaryOp::And, inside, late), maker.read(x, place),
                               Expr::literal(ElementType::F32, -5.0));
      maker.map({9, 30}, y, it(0) * 30 + it(1), body).registers = tile;
      EXPECT_EQ(compareKernel(maker.schedule, {numbers(40), {}}, 0), "") << "stride " << stride;
    }
}

/// Indices as numbers: a range, a causal mask.
TEST(Access, IndicesAsNumbers) {
  for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 16, 1, 0, 2, 0}}) {
    ScheduleMaker maker;
    unsigned y = maker.buffer(ElementType::F32, 12 * 19, true);
    maker.tile(12, 5);
    Expr causal = Expr::binary(BinaryOp::LessEqual, index(it(1)), index(it(0) + it(2)));
    Expr body = Expr::select(causal, Expr::index(it(1).mod(7) * 3 - 4, ElementType::F32),
                             Expr::literal(ElementType::F32, 100.0));
    maker.map({5, 19}, y, (it(0) + it(2)) * 19 + it(1), body).registers = tile;
    EXPECT_EQ(compareKernel(maker.schedule, {{}}, 0), "");
  }
}

/// A two-dimensional tile space, stores with a stride along the vectors.
TEST(Access, TilesOfTwoDimensionsAndScatteredStores) {
  for (RegisterTile tile : {RegisterTile{}, RegisterTile{1, 8, 1, 0, 2, 0},
                            RegisterTile{0, 4, 1, 1, 3, 0}, RegisterTile{1, 16, 1, -1, 1, 0}}) {
    ScheduleMaker maker;
    unsigned x = maker.buffer(ElementType::F32, 23 * 31),
             y = maker.buffer(ElementType::F32, 31 * 23, true);
    maker.tile(23, 7);
    maker.tile(31, 11);
    Index row = it(0) + it(2), column = it(1) + it(3);
    maker.map({7, 11}, y, column * 23 + row, maker.read(x, row * 31 + column)).registers = tile;
    EXPECT_EQ(compareKernel(maker.schedule, {numbers(23 * 31), {}}, 0), "");
  }
}

/// As copies(), with stores past the caches and reads that ask ahead; `more` elements at the
/// destination's end move its start away from a line's.
static ScheduleMaker streams(int64_t rows, int64_t columns, int64_t more, RegisterTile tile,
                             bool isNextTile = false) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(ElementType::F32, rows * columns);
  unsigned y = maker.buffer(ElementType::F32, rows * columns + more, true);
  LoopNest &nest = maker.map({rows, columns}, y, it(0) * columns + it(1),
                             maker.read(x, it(0) * columns + it(1)));
  nest.registers = tile;
  nest.pastCaches = true;
  nest.ahead = {{x, 1024, isNextTile}};
  return maker;
}

TEST(Access, StoresPastTheCaches) {
  for (int64_t columns : {16, 64, 100})
    for (int64_t more : {0, 1, 8})
      for (RegisterTile tile : {RegisterTile{1, 16, 2, -1, 1, 0}, RegisterTile{1, 8, 1, 0, 2, 0}})
        EXPECT_EQ(compareKernel(streams(20, columns, more, tile).schedule,
                                {numbers(20 * columns), {}}, 0),
                  "");
}

/// Sums along rows of which each step asks for another: code that runs over the end, too.
TEST(Access, RowsAreAskedForWhileASumGoesAlongThem) {
  for (int64_t depth : {16, 37})
    for (int64_t apart : {depth, depth + 3}) {
      ScheduleMaker maker;
      unsigned x = maker.buffer(ElementType::F32, 20 * apart);
      unsigned w = maker.buffer(ElementType::F32, depth * 32);
      unsigned y = maker.buffer(ElementType::F32, 20 * 32, true);
      LoopNest &nest =
          maker.reduce({20, 32}, {depth}, Combiner::Sum, y, it(0) * 32 + it(1),
                       maker.read(x, it(0) * apart + it(2)) * maker.read(w, it(2) * 32 + it(1)));
      nest.registers = {1, 16, 2, 0, 6, 0};
      nest.ahead = {{x, 6 * apart, true, apart}};
      auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
      ASSERT_TRUE(program.ok());
      auto text = targets::createCpuTarget()->emit(*program, targets::CodeForm::Assembly, {});
      ASSERT_TRUE(text.ok());
      EXPECT_NE(text->find("prefetcht0"), std::string::npos);
      EXPECT_EQ(compareKernel(maker.schedule, {numbers(20 * apart), numbers(depth * 32), {}}, 1e-5),
                "");
    }
}

/// Of ten rows in blocks of four by columns in panels of `columns`, which come back to a panel.
ScheduleMaker panels(int64_t depth, int64_t columns, unsigned unroll, bool isShared) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(ElementType::F32, 10 * depth * 2);
  unsigned w = maker.buffer(ElementType::F32, depth * 2 * columns);
  unsigned y = maker.buffer(ElementType::F32, 10 * columns, true);
  LoopNest &nest =
      maker.reduce({columns, 10}, {depth, 2}, Combiner::Sum, y, it(1) * columns + it(0),
                   maker.read(x, it(1) * (2 * depth) + it(2) * 2 + it(3)) *
                       maker.read(w, (it(2) * 2 + it(3)) * columns + it(0)));
  nest.registers = {0, 8, 3, 1, 4, unroll};
  nest.ahead = {{w, 24, false, 0, {}}};
  if (isShared)
    nest.ahead[0].sharedFrom = 1;
  return maker;
}

/// How many stretches of code without a label or a jump have both instructions.
unsigned stretchesWithBoth(llvm::StringRef text, llvm::StringRef one, llvm::StringRef other) {
  unsigned count = 0;
  bool hasOne = false, hasOther = false;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (line.ends_with(":") || line.trim().starts_with("j")) {
      count += hasOne && hasOther;
      hasOne = hasOther = false;
    }
    hasOne |= line.contains(one);
    hasOther |= line.contains(other);
  }
  return count;
}

TEST(Access, BlocksAskForTheirSharesAheadOfTheirSums) {
  for (bool isShared : {false, true})
    for (unsigned unroll : {0u, 1u})
      for (int64_t depth : {2, 37, 64})
        for (int64_t columns : {48, 53}) {
          ScheduleMaker maker = panels(depth, columns, unroll, isShared);
          auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
          ASSERT_TRUE(program.ok());
          targets::CompileOptions options;
          options.level = "x86-64-v3";
          auto text =
              targets::createCpuTarget()->emit(*program, targets::CodeForm::Assembly, options);
          ASSERT_TRUE(text.ok());
          EXPECT_NE(text->find("prefetcht1"), std::string::npos);
          if (depth > 2)
            EXPECT_EQ(stretchesWithBoth(*text, "prefetcht1", "vfmadd") > 0, !isShared) << *text;
          EXPECT_EQ(compareKernel(maker.schedule,
                                  {numbers(20 * depth), numbers(2 * depth * columns), {}}, 1e-5),
                    "");
        }
}

TEST(Access, StreamsAreInTheCode) {
  for (bool isNextTile : {false, true}) {
    ScheduleMaker maker = streams(20, 64, 0, {1, 8, 2, -1, 1, 0}, isNextTile);
    auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
    ASSERT_TRUE(program.ok());
    auto text = targets::createCpuTarget()->emit(*program, targets::CodeForm::Assembly, {});
    ASSERT_TRUE(text.ok());
    const char *prefetch = isNextTile ? "prefetcht0" : "prefetcht1";
    for (const char *instruction : {"vmovntps", prefetch, "vmovups", "sfence"})
      EXPECT_NE(text->find(instruction), std::string::npos) << instruction;
  }
}

/// Of two tiles that overlap the second one starts where a panel does, though no tile's length is a
/// multiple of a panel's: a vector is one run.
TEST(Access, PanelsOfTheSecondOfTwoTilesAreRuns) {
  ScheduleMaker maker;
  maker.tile(232, 120);
  unsigned x = maker.buffer(ElementType::F32, 15 * 32);
  unsigned y = maker.buffer(ElementType::F32, 232, true);
  Index column = it(0) + it(2), panel = column.floorDiv(16) * 32 + it(1) * 16 + column.mod(16);
  maker.reduce({120}, {2}, Combiner::Sum, y, column, maker.read(x, panel)).registers = {0,  16, 1,
                                                                                        -1, 1,  0};
  EXPECT_EQ(compareKernel(maker.schedule, {numbers(15 * 32), {}}, 0), "");
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
  ASSERT_TRUE(program.ok());
  targets::CompileOptions options;
  options.level = "x86-64-v4";
  auto text = targets::createCpuTarget()->emit(*program, targets::CodeForm::Assembly, options);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find("gather"), std::string::npos) << *text;
}

TEST(Access, QuotientsByANumberForAllLanes) {
  ScheduleMaker maker;
  std::vector<double> divisors = {3,        -7,    1e-30, 1e30,          0,     -0.0,
                                  INFINITY, NAN,   1e38,  1.1754944e-38, 49,    0.1,
                                  2e-38,    -3e38, 1,     -INFINITY,     1e-39, 1e-45};
  int64_t rows = divisors.size(), columns = 64;
  unsigned x = maker.buffer(ElementType::F32, rows * columns);
  unsigned d = maker.buffer(ElementType::F32, rows);
  unsigned y = maker.buffer(ElementType::F32, rows * columns, true);
  maker
      .map({rows, columns}, y, it(0) * columns + it(1),
           maker.read(x, it(0) * columns + it(1)) / maker.read(d, it(0)))
      .registers = {1, 16, 2, -1, 1, 0};
  std::vector<double> dividends = numbers(rows * columns, -1e3, 1e3, true);
  for (int64_t row = 0; row < rows; ++row) {
    double special[] = {INFINITY, -INFINITY, NAN, 0, -0.0, 3e38, 49, 1e-20, 3.4e38, 1};
    std::copy(std::begin(special), std::end(special), dividends.begin() + row * columns);
  }
  for (const std::string &level : hostLevels()) {
    Operands memory = {dividends, divisors, {}};
    ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
    for (int64_t place = 0; place < rows * columns; ++place) {
      int64_t row = place / columns, column = place % columns;
      float a = float(dividends[row * columns + column]), b = float(divisors[row]);
      double got = memory[2][row * columns + column], want = a / b;
      bool same = std::isnan(want) ? std::isnan(got)
                                   : got == want && std::signbit(got) == std::signbit(want);
      EXPECT_TRUE(same) << level << ": " << a << " / " << b << " is " << got << ", not " << want;
    }
  }
}

} // namespace kintsugi::test
