#include "te/share.h"

#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

Expr readOf(uint32_t value) { return Expr::read({value}, ElementType::F32, {Index::iterator(0)}); }

unsigned countParts(const Expr &expr) {
  unsigned count = 0;
  expr.walk([&](const Expr &) { ++count; });
  return count;
}

/// A complete tree of so many levels, of which no part is shared.
Expr treeOf(unsigned levels) {
  return levels == 0 ? readOf(0) : treeOf(levels - 1) * treeOf(levels - 1);
}

TEST(Share, EqualPartsBecomeOne) {
  Expr tree = treeOf(8);
  EXPECT_EQ(countParts(tree), (1u << 9) - 1);
  Expr shared = withSharing(tree);
  EXPECT_EQ(countParts(shared), 9u);
  EXPECT_EQ(shared, tree);
}

TEST(Share, TextsHaveWhatIsSharedEachTime) {
  Expr shared = withSharing(treeOf(8));
  EXPECT_EQ(shared.sizeUpTo(1000), (1u << 9) - 1);
  EXPECT_EQ(shared.sizeUpTo(510), 511u);
  EXPECT_EQ(shared.sizeUpTo(100), 101u);
  EXPECT_EQ(readOf(0).sizeUpTo(0), 1u);
  for (unsigned level = 0; level < 100; ++level)
    shared = shared + shared;
  EXPECT_EQ(shared.sizeUpTo(1000), 1001u);
}

TEST(Share, WhatDiffersInOnePlaceStaysApart) {
  Expr x = readOf(0), y = readOf(1);
  Expr shifted = Expr::read({0}, ElementType::F32, {Index::iterator(0) + Index(1)});
  Expr filled =
      Expr::read({0}, ElementType::F32, {Index::iterator(0)}, Expr::literal(ElementType::F32, 0.0));
  Expr filledByOne =
      Expr::read({0}, ElementType::F32, {Index::iterator(0)}, Expr::literal(ElementType::F32, 1.0));
  Expr other = Expr::read({0}, ElementType::F64, {Index::iterator(0)});
  Expr all = x + y + shifted + filled + filledByOne + (x - y) + (y - x) +
             Expr::cast(ElementType::F32, other) + Expr::stored(ElementType::F32, other) +
             Expr::unary(UnaryOp::Exp, x) + Expr::unary(UnaryOp::Log, x) +
             Expr::literal(ElementType::F32, 2.0) + Expr::literal(ElementType::F32, 3.0);
  Expr shared = withSharing(all);
  EXPECT_EQ(shared, all);
  EXPECT_EQ(countParts(shared), countParts(all));
}

} // namespace
