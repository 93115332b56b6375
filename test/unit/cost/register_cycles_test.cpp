#include "cost/register_cycles.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::cost;
using namespace kintsugi::loops;
using namespace kintsugi::te;

namespace {

Index it(unsigned iterator) { return Index::iterator(iterator); }

/// Vectors along 96 columns of a packed weight, 28 rows that lie `apart` elements apart.
struct Product {
  explicit Product(int64_t apart, int64_t depth = 512) {
    buffers = {{ValueId{0}, ElementType::F32, 28 * apart, Home::Memory},
               {ValueId{1}, ElementType::F32, 96 * depth, Home::Memory},
               {ValueId{2}, ElementType::F32, 28 * 96, Home::Memory, true}};
    buffers[1].packable = true;
    nest.parallel = {{"j", 96}, {"i", 28}};
    Expr a = Expr::read(ValueId{0}, ElementType::F32, {it(1) * apart + it(2)});
    Expr b = Expr::read(ValueId{1}, ElementType::F32, {it(2) * 96 + it(0)});
    nest.bodies = {a * b};
    nest.reduction = Reduction{Combiner::Sum, ElementType::F32, {{"k", depth}}};
    nest.epilogue = {Expr::read(LoopNest::accumulator(0), ElementType::F32, {})};
    nest.destinations = {2};
    nest.destinationIndex = it(1) * 96 + it(0);
    space = {{28, 28}};
  }

  double cyclesOf(unsigned vectors, unsigned rows, int64_t nearestBytes = 32 << 10) const {
    VectorUnit unit{512, 32, 2, nearestBytes};
    RegisterCycles cycles(nest, space, buffers, unit);
    cycles.packFor(0, 16);
    return cycles.of({0, 16, vectors, 1, rows, 0});
  }

  LoopNest nest;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<TileDimension> space;
};

TEST(RegisterCycles, AreNoLessThanTheLimitWhereTheyAreNotExact) {
  for (bool isSum : {true, false}) {
    Product product(1040);
    if (!isSum) {
      product.nest.bodies = {Expr::read(ValueId{0}, ElementType::F32, {it(1) * 1040 + it(0)})};
      product.nest.reduction.reset();
      product.nest.epilogue.clear();
    }
    VectorUnit unit{512, 32, 2};
    RegisterCycles cycles(product.nest, product.space, product.buffers, unit);
    unsigned quick = 0;
    for (unsigned vectors : {1u, 2u, 4u})
      for (unsigned rows = 1; rows <= 8; ++rows) {
        RegisterTile tile{0, 16, vectors, rows > 1 && isSum ? 1 : -1, isSum ? rows : 1, 0};
        double exact = cycles.of(tile);
        for (double share : {0.2, 0.6, 0.99, 1.01}) {
          double found = cycles.of(tile, share * exact);
          EXPECT_LE(found, exact);
          EXPECT_TRUE(found == exact || found >= share * exact) << vectors << " " << rows;
          EXPECT_TRUE(share < 1 || found == exact);
          quick += found != exact;
        }
      }
    EXPECT_GT(quick, 0u) << "some are not looked at to the end";
  }
}

TEST(RegisterCycles, RowsThatShareASetOfTheInnermostCacheAreFew) {
  Product apart(1040), pages(1024);
  EXPECT_LT(1.2 * apart.cyclesOf(2, 14), pages.cyclesOf(2, 14));
  EXPECT_GT(pages.cyclesOf(2, 14), pages.cyclesOf(3, 7));
  EXPECT_EQ(pages.cyclesOf(3, 7), apart.cyclesOf(3, 7));
  // Rows of half a page go to two sets, and larger caches have more ways.
  EXPECT_EQ(Product(512).cyclesOf(2, 14), apart.cyclesOf(2, 14));
  EXPECT_EQ(pages.cyclesOf(2, 14, 64 << 10), apart.cyclesOf(2, 14));
}

TEST(RegisterCycles, RowsWhoseLinesTheNextStepLeavesAreNotCrowded) {
  Product along(1024), across(1024);
  Expr a = Expr::read(ValueId{0}, ElementType::F32, {it(1) * 1024 + it(2) * 16});
  Expr other = Expr::read(ValueId{0}, ElementType::F32, {it(1) * 1040 + it(2) * 16});
  Expr b = Expr::read(ValueId{1}, ElementType::F32, {it(2) * 96 + it(0)});
  along.nest.bodies = {a * b};
  across.nest.bodies = {other * b};
  EXPECT_EQ(along.cyclesOf(2, 14), across.cyclesOf(2, 14));
}

TEST(RegisterCycles, LongPanelsComeAtTheRateOfTheNearCache) {
  constexpr double depth = 4096, shallow = 64;
  Product longOnes(1040, depth), shortOnes(1040, shallow);
  auto ofStep = [&](unsigned vectors, unsigned rows) {
    return longOnes.cyclesOf(vectors, rows) / depth * shallow / shortOnes.cyclesOf(vectors, rows);
  };
  EXPECT_GT(ofStep(4, 4), 1.15); // 256 bytes for 16 multiply-adds.
  EXPECT_LT(ofStep(2, 14), 1);   // 128 for 28.
}

/// A sum of rows that lie pages apart, each of so many points, in a buffer no near cache holds.
double cyclesOfRows(int64_t rows, int64_t points) {
  constexpr int64_t apart = 1 << 14;
  LoopNest nest;
  nest.parallel = {{"i", points}};
  llvm::SmallVector<Buffer> buffers = {{ValueId{0}, ElementType::F32, rows * apart, Home::Memory},
                                       {ValueId{1}, ElementType::F32, points, Home::Memory, true}};
  nest.bodies = {Expr::read(ValueId{0}, ElementType::F32, {it(1) * apart + it(0)})};
  nest.reduction = Reduction{Combiner::Sum, ElementType::F32, {{"r", rows}}};
  nest.epilogue = {Expr::read(LoopNest::accumulator(0), ElementType::F32, {})};
  nest.destinations = {1};
  nest.destinationIndex = it(0);
  VectorUnit unit{512, 32, 2, 32 << 10};
  unit.nearBytes = 1 << 10;
  return RegisterCycles(nest, {}, buffers, unit).of({0, 16, 4, -1, 1, 0}) / double(rows * points);
}

TEST(RegisterCycles, FewRowsOfManyPointsAreStreams) {
  EXPECT_LT(4 * cyclesOfRows(6, 8192), cyclesOfRows(6, 256));
}

/// Two values of 8 rows, of which a condition chooses one.
double cyclesOfChoice(unsigned decides) {
  LoopNest nest;
  nest.parallel = {{"i", 8}, {"j", 64}};
  llvm::SmallVector<Buffer> buffers;
  for (unsigned number : {0u, 1u, 2u})
    buffers.push_back({ValueId{number}, ElementType::F32, 8 * 64, Home::Memory, number == 2});
  Index place = it(0) * 64 + it(1);
  Expr condition = Expr::binary(BinaryOp::Less, Expr::index(it(decides), ElementType::I64),
                                Expr::literal(ElementType::I64, int64_t(5)));
  nest.bodies = {Expr::select(condition, Expr::read(ValueId{0}, ElementType::F32, {place}),
                              Expr::read(ValueId{1}, ElementType::F32, {place}))};
  nest.destinations = {2};
  nest.destinationIndex = place;
  VectorUnit unit{512, 32};
  return RegisterCycles(nest, {}, buffers, unit).of({1, 16, 4, -1, 1, 0});
}

TEST(RegisterCycles, WhatIsChosenForAllLanesIsReadUnderNoMask) {
  constexpr double masked = 5, blocks = 8, vectors = 4, reads = 2;
  EXPECT_LE(cyclesOfChoice(0) + masked * blocks * vectors * reads, cyclesOfChoice(1));
}

/// A sum of products along vectors of `lanes`, of which the last one may not be whole.
double cyclesOfLanes(int64_t extent, unsigned bits) {
  unsigned lanes = bits / 32;
  LoopNest nest;
  nest.parallel = {{"i", 14}, {"j", extent}};
  llvm::SmallVector<Buffer> buffers = {{ValueId{0}, ElementType::F32, 1 << 12, Home::Scratch},
                                       {ValueId{1}, ElementType::F32, 1 << 12, Home::Memory},
                                       {ValueId{2}, ElementType::F32, 1 << 12, Home::Memory, true}};
  nest.bodies = {Expr::read(ValueId{0}, ElementType::F32, {it(2) * 256 + it(0) * 16 + it(1)}) *
                 Expr::read(ValueId{1}, ElementType::F32, {it(2)})};
  nest.reduction = Reduction{Combiner::Sum, ElementType::F32, {{"k", 16}}};
  nest.epilogue = {Expr::read(LoopNest::accumulator(0), ElementType::F32, {})};
  nest.destinations = {2};
  nest.destinationIndex = it(0) * 16 + it(1);
  VectorUnit unit{bits, bits == 512 ? 32u : 16u};
  return RegisterCycles(nest, {}, buffers, unit).of({1, lanes, 1, 0, 14, 0});
}

TEST(RegisterCycles, LanesBeyondTheEndCostMasksWhereThereAreNoRegistersForThem) {
  EXPECT_GT(cyclesOfLanes(7, 256), 2 * cyclesOfLanes(8, 256));
  EXPECT_EQ(cyclesOfLanes(15, 512), cyclesOfLanes(16, 512));
}

/// Sums over a window of 5 places, which slide with the rows or lie `apart` rows from each other.
double cyclesOfWindow(int64_t apart) {
  constexpr int64_t row = 640;
  LoopNest nest;
  nest.parallel = {{"j", 64}, {"i", 14}};
  llvm::SmallVector<Buffer> buffers = {
      {ValueId{0}, ElementType::F32, 200 * row, Home::Memory},
      {ValueId{1}, ElementType::F32, 14 * row, Home::Memory, true}};
  nest.bodies = {Expr::read(ValueId{0}, ElementType::F32, {(it(1) + it(2) * apart) * row + it(0)})};
  nest.reduction = Reduction{Combiner::Sum, ElementType::F32, {{"k", 5}}};
  nest.epilogue = {Expr::read(LoopNest::accumulator(0), ElementType::F32, {})};
  nest.destinations = {1};
  nest.destinationIndex = it(1) * row + it(0);
  return RegisterCycles(nest, {}, buffers, VectorUnit{512, 32}).of({0, 16, 1, 1, 14, 0});
}

TEST(RegisterCycles, AWindowThatSlidesAlongRowsComesToFewNewLines) {
  EXPECT_LT(1.5 * cyclesOfWindow(1), cyclesOfWindow(14));
  EXPECT_LT(cyclesOfWindow(1), cyclesOfWindow(7));
  EXPECT_LT(cyclesOfWindow(7), cyclesOfWindow(14));
}

TEST(RegisterCycles, FewSumsWaitForTheirLoads) {
  Product product(1040);
  // 8 sums fill the units as well as 16 where loads are never late.
  EXPECT_GT(product.cyclesOf(2, 4), 1.04 * product.cyclesOf(4, 4));
}

} // namespace
