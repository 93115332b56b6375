#include "tile/build.h"
#include "tile/program.h"
#include "gtest/gtest.h"

namespace kintsugi::tile {

using namespace te;
using loops::Home;
using loops::LoopNest;
using loops::Schedule;

/// y[i] = exp(x[2 i]) in scratch, then z[i] = the sum over k of y[i] x[k], on tiles of 4 rows
/// of 10.
static Schedule example() {
  Schedule schedule;
  schedule.buffers = {{ValueId{0}, ElementType::F32, 20, Home::Memory},
                      {ValueId{1}, ElementType::Bool, 10, Home::Memory, true},
                      {ValueId{2}, ElementType::F32, 4, Home::Scratch, true, 0}};
  schedule.space = {{10, 4}};
  schedule.scratchBytes = 64;
  auto x = [](Index index) { return Expr::read({0}, ElementType::F32, index); };
  Index i = Index::iterator(0);

  LoopNest first;
  first.parallel = {{"i", 4}};
  first.bodies = {Expr::unary(UnaryOp::Exp, x(i * 2 + Index::iterator(1) * 2))};
  first.destinations = {2};
  first.destinationIndex = i;
  first.registers.vectorIterator = 0;
  first.registers.lanes = 4;

  LoopNest second;
  second.parallel = {{"i", 4}};
  second.reduction = Reduction{Combiner::Sum, ElementType::F32, {{"k", 5}}};
  second.bodies = {Expr::read({2}, ElementType::F32, i) * x(Index::iterator(1))};
  second.epilogue = {Expr::binary(BinaryOp::Less,
                                  Expr::read(LoopNest::accumulator(0), ElementType::F32, {}),
                                  Expr::literal(ElementType::F32, 1.0))};
  second.destinations = {1};
  second.destinationIndex = i + Index::iterator(2);
  schedule.nests = {first, second};
  return schedule;
}

TEST(TileProgram, BuildsPrintsAndParses) {
  Schedule schedule = example();
  auto program = buildTileProgram({{"one", &schedule}, {"two", &schedule}});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->kernels(), (std::vector<std::string>{"one", "two"}));
  std::string text = program->print();
  auto again = parseTileProgram(text, "text");
  ASSERT_TRUE(again.ok()) << again.error().message << text;
  EXPECT_EQ(again->print(), text);
  EXPECT_TRUE(again->verify().ok());
}

TEST(TileProgram, WhatIsKeptIsBuiltOnceAndParses) {
  Schedule schedule = example();
  schedule.buffers.push_back({ValueId{3}, ElementType::F32, 20, Home::Scratch, true, 64});
  schedule.scratchBytes = 192;
  Index place = Index::iterator(0) * 5 + Index::iterator(1);
  LoopNest &sums = schedule.nests[1];
  Expr same = Expr::read({2}, ElementType::F32, Index::iterator(0)) *
              Expr::read({0}, ElementType::F32, Index::iterator(1));
  sums.kept.push_back({same, 3, place});
  auto program = buildTileProgram({{"one", &schedule}});
  ASSERT_TRUE(program.ok()) << program.error().message;
  std::string text = program->print();
  size_t product = text.find("arith.mulf");
  ASSERT_NE(product, std::string::npos) << text;
  EXPECT_EQ(text.find("arith.mulf", product + 1), std::string::npos) << text;
  auto again = parseTileProgram(text, "text");
  ASSERT_TRUE(again.ok()) << again.error().message << text;
  EXPECT_EQ(again->print(), text);
  schedule.nests[1].kept[0].buffer = 0;
  EXPECT_FALSE(buildTileProgram({{"one", &schedule}}).ok()); // No scratch.
}

TEST(TileProgram, EqualSchedulesGiveEqualText) {
  Schedule first = example(), second = example();
  EXPECT_EQ(buildTileProgram({{"k", &first}})->print(),
            buildTileProgram({{"k", &second}})->print());
}

TEST(TileProgram, ComplexNumbersDoNotCompute) {
  Schedule schedule = example();
  schedule.buffers[0].type = ElementType::C64;
  auto program = buildTileProgram({{"k", &schedule}});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::Input);
  EXPECT_NE(program.error().message.find("c64"), std::string::npos);
}

/// The example's text with one part replaced must be refused, for the reason given.
static void expectRefused(const std::string &part, const std::string &by,
                          const std::string &reason) {
  Schedule schedule = example();
  std::string text = buildTileProgram({{"k", &schedule}})->print();
  size_t place = text.find(part);
  ASSERT_NE(place, std::string::npos) << part << " is not in " << text;
  text.replace(place, part.size(), by);
  auto program = parseTileProgram(text, "bad.mlir");
  ASSERT_FALSE(program.ok()) << text;
  EXPECT_EQ(program.error().message.rfind("bad.mlir:", 0), 0u) << program.error().message;
  EXPECT_NE(program.error().message.find(reason), std::string::npos) << program.error().message;
}

TEST(TileProgram, WrongProgramsAreRefusedWithAReason) {
  expectRefused("tile.kernel", "tile.kernal", "tile.kernal");
  expectRefused("over [10] by [4]", "over [10] by [14]", "cuts 10 into tiles of 14");
  expectRefused("over [10] by [4]", "over [10, 3] by [4]", "2 extents but 1 sizes");
  expectRefused("scratch 64", "scratch 8", "leaves the kernel's scratch memory");
  expectRefused("scratch at 0", "scratch at 32", "multiple of 64");
  expectRefused("memref<20xf32>", "memref<?xf32>", "memref<?xf32>");
  expectRefused("vector = 0", "vector = 7", "no iterator 7");
  expectRefused("lanes = 4", "lanes = 3", "power of two");
  expectRefused("lanes = 1,", "lanes = 2,", "no iterator for them");
  expectRefused("reduce [5] by sum", "reduce [5]", "no combiner");
  expectRefused("reduce [5] by sum", "reduce [5] by and", "can't combine values of type 'f32'");
  expectRefused("math.exp", "math.exq", "exq");
  expectRefused("in 0", "in 1", "dimension 1 of 1");
}

/// Row sums of ragged rows.
constexpr const char *ragged = R"(
tile.kernel @ragged over [4] by [1] scratch 0 {
^bb0(%x: memref<320xf32>, %count: memref<4xi32>, %y: memref<32xf32>, %tile: index):
  %origin = tile.origin %tile in 0
  %zero = arith.constant 0 : i64
  %end = tile.read %count[affine_map<(d0) -> (d0)>] (%origin) : memref<4xi32> -> i32
  tile.compute over [8] reduce [10] by sum
      with <vector = 0, lanes = 8, vectors = 1, row = -1, rows = 1, unroll = 0>
      into %y[affine_map<(d0, d1) -> (d0 + d1 * 8)>] (%origin) : memref<32xf32>
      bounded [1] by %zero, %end : i64, i32 {
  ^bb0(%i: index, %k: index):
    %e = tile.read %x[affine_map<(d0, d1, d2) -> (d2 * 80 + d1 * 8 + d0)>] (%i, %k, %origin)
        : memref<320xf32> -> f32
    tile.yield %e : f32
  } epilogue {
  ^bb0(%i: index, %s: f32):
    tile.yield %s : f32
  }
}
)";

static void expectBoundsRefused(const std::string &part, const std::string &by,
                                const std::string &reason) {
  std::string text = ragged;
  size_t place = text.find(part);
  ASSERT_NE(place, std::string::npos) << part;
  text.replace(place, part.size(), by);
  auto program = parseTileProgram(text, "bad.mlir");
  ASSERT_FALSE(program.ok()) << text;
  EXPECT_NE(program.error().message.find(reason), std::string::npos) << program.error().message;
}

TEST(TileProgram, WrongBoundsAreRefusedWithAReason) {
  ASSERT_TRUE(parseTileProgram(ragged, "ragged").ok());
  expectBoundsRefused("bounded [1]", "bounded [2]", "no iterator 2 to bound");
  expectBoundsRefused("bounded [1]", "bounded [0]", "which is unrolled");
  expectBoundsRefused("unroll = 0", "unroll = 1", "which is unrolled");
  expectBoundsRefused("%zero, %end : i64, i32", "%end : i32", "a begin and an end");
  expectBoundsRefused("(%origin) : memref<4xi32>", "(%tile) : memref<4xi32>",
                      "that a tile's origin says");
}

} // namespace kintsugi::tile
