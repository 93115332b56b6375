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
    VectorUnit unit{512, 32, nearestBytes};
    RegisterCycles cycles(nest, space, buffers, unit);
    cycles.packFor(0, 16);
    return cycles.of({0, 16, vectors, 1, rows, 0});
  }

  LoopNest nest;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<TileDimension> space;
};

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

} // namespace
