#include "cost/passes.h"
#include "loops/footprint.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::cost;
using namespace kintsugi::loops;
using namespace kintsugi::te;

namespace {

Index it(unsigned iterator) { return Index::iterator(iterator); }

/// Over 28 rows and 64 columns, with vectors outermost; `depth` reduction iterators of a sum.
struct Product {
  Product(int64_t outer, int64_t inner, Home home = Home::Memory) {
    int64_t depth = outer * inner;
    buffers = {{ValueId{0}, ElementType::F32, 28 * depth, Home::Memory},
               {ValueId{1}, ElementType::F32, 64 * depth, Home::Memory},
               {ValueId{2}, ElementType::F32, 28 * 64, home, true}};
    buffers[1].packable = true;
    nest.parallel = {{"j", 64}, {"i", 28}};
    Index k = it(2) * inner + it(3);
    Expr a = Expr::read(ValueId{0}, ElementType::F32, {it(1) * depth + k});
    Expr b = Expr::read(ValueId{1}, ElementType::F32, {k * 64 + it(0)});
    nest.bodies = {a * b};
    nest.reduction = Reduction{Combiner::Sum, ElementType::F32, {{"p", outer}, {"k", inner}}};
    nest.epilogue = {Expr::read(LoopNest::accumulator(0), ElementType::F32, {})};
    nest.destinations = {2};
    nest.destinationIndex = it(1) * 64 + it(0);
    nest.registers = {0, 16, 2, 1, 14, 0};
    space = {{28, 28}};
  }

  LoopNest choose(int64_t nearBytes) {
    LoopNest result = nest;
    cycles = choosePasses(result, space, buffers, nearBytes);
    return result;
  }

  LoopNest nest;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<TileDimension> space;
  double cycles = 0; ///< That the passes cost which were chosen last.
};

TEST(Passes, LongSumsGoInPassesThatStayNear) {
  Product product(8, 512); // A row takes 16 KiB: with a panel of 32 columns, 960 KiB.
  EXPECT_FALSE(product.choose(4 << 20).inPasses);
  LoopNest nest = product.choose(1 << 20);
  ASSERT_TRUE(nest.inPasses);
  ASSERT_EQ(nest.numReductions(), 3u);
  EXPECT_EQ(nest.extentOf(2), 2);
  EXPECT_EQ(nest.extentOf(3), 4);
  // Both operands still walk over all of the depth.
  llvm::SmallVector<Interval> ranges = nest.ranges(product.space);
  nest.bodies[0].walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read)
      EXPECT_EQ(rangeOf(e.readIndices()[0], ranges).high + 1,
                product.buffers[e.readValue().number].elements);
  });
}

TEST(Passes, EachPassMakesUpForMovingTheRunningValues) {
  EXPECT_FALSE(Product(8, 16).choose(4 << 10).inPasses);
  LoopNest nest = Product(8, 512).choose(4 << 10);
  ASSERT_TRUE(nest.inPasses);
  EXPECT_EQ(nest.extentOf(2), 8);
}

TEST(Passes, WhatIsTakenUpAgainInEachPassCosts) {
  Product product(8, 512);
  product.choose(4 << 20);
  EXPECT_EQ(product.cycles, 0);
  product.choose(1 << 20);
  double once = product.cycles;
  EXPECT_GT(once, 0);
  LoopNest nest = product.choose(640 << 10);
  ASSERT_EQ(nest.extentOf(2), 4); // Of which three take up values, and of two one does.
  EXPECT_EQ(product.cycles, 3 * once);
}

TEST(Passes, RunsThatLieAWayApartNeedMoreOfACache) {
  // 1792 KiB of rows and panels in all: in halves they fit, where all sets of the cache hold them.
  constexpr int64_t near = 1 << 20, odd = 4096 + 16;
  Product crowded(8, 512), spread(8, 512);
  for (Product *product : {&crowded, &spread}) {
    int64_t stride = product == &crowded ? 4096 : odd;
    Index k = it(2) * 512 + it(3);
    product->nest.parallel[1].extent = Extent(56);
    product->space = {{56, 56}};
    product->buffers[0].elements = 56 * stride;
    product->nest.bodies = {Expr::read(ValueId{0}, ElementType::F32, {it(1) * stride + k}) *
                            Expr::read(ValueId{1}, ElementType::F32, {k * 64 + it(0)})};
  }
  LoopNest spreadNest = spread.choose(near), crowdedNest = crowded.choose(near);
  ASSERT_TRUE(spreadNest.inPasses);
  EXPECT_EQ(spreadNest.extentOf(2), 2);
  EXPECT_GT(crowdedNest.extentOf(2), 2);
}

TEST(Passes, RunningValuesWaitOnlyWhereEachBlockIsStoredOnce) {
  Product overlapping(8, 512);
  overlapping.space = {{42, 28}}; // Two workers store the rows that both tiles have.
  EXPECT_FALSE(overlapping.choose(1 << 20).inPasses);
  Product inScratch(8, 512, Home::Scratch);
  inScratch.space = {{42, 28}};
  EXPECT_TRUE(inScratch.choose(1 << 20).inPasses);
  Product rows(8, 512);
  rows.nest.registers.rows = 12; // The last block starts earlier.
  EXPECT_FALSE(rows.choose(1 << 20).inPasses);
  Product narrow(8, 512);
  narrow.buffers[2].type = ElementType::F16;
  EXPECT_FALSE(narrow.choose(1 << 20).inPasses);
  Product greatest(8, 512);
  greatest.nest.reduction->combiner = Combiner::Max;
  EXPECT_FALSE(greatest.choose(1 << 20).inPasses);
}

TEST(Footprint, WindowsThatOverlapCountOnce) {
  // h + r, with 10 rows and 3 taps, of rows of 16; and columns 2 w + s.
  EXPECT_EQ(positionsOf(it(0) * 16 + it(1) * 16, {10, 3}), 12);
  EXPECT_EQ(positionsOf(it(0) * 2 + it(1), {10, 3}), 21);
  EXPECT_EQ(positionsOf(it(0) * 16 + it(1), {10, 4}), 40);
  EXPECT_EQ(positionsOf(it(0).floorDiv(2) + it(1), {10, 4}), 40);
  EXPECT_EQ(positionsOf(Index(7), {10, 4}), 1);
}

} // namespace
