#include "loops/parts.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <limits>

using namespace kintsugi;
using namespace kintsugi::loops;
using namespace kintsugi::te;

namespace {

Expr at(int64_t shift, ElementType type = ElementType::I64) {
  return Expr::index(Index::iterator(0) + Index(shift), type);
}

Expr number(int64_t value, ElementType type = ElementType::I64) {
  return Expr::literal(type, value);
}

/// The extents of the parts of y[i] = condition ? 1 : 2 over 400 points.
std::vector<int64_t> partsBy(const Expr &condition) {
  LoopNest nest;
  nest.parallel = {{"i", 400}};
  nest.bodies = {Expr::select(condition, Expr::literal(ElementType::F32, 1.0),
                              Expr::literal(ElementType::F32, 2.0))};
  nest.destinations = {0};
  nest.destinationIndex = Index::iterator(0);
  std::vector<int64_t> extents;
  int64_t start = 0;
  for (const LoopNest &part : splitAtPlaces(nest, {})) {
    EXPECT_EQ(part.destinationIndex.constantTerm(), start);
    start += part.extentOf(0);
    extents.push_back(part.extentOf(0));
    if (extents.size() > 1 || part.extentOf(0) < 400)
      EXPECT_TRUE(part.bodies[0].isLiteral());
  }
  EXPECT_EQ(start, 400);
  return extents;
}

Expr less(Expr a, Expr b) { return Expr::binary(BinaryOp::Less, a, b); }
Expr upTo(Expr a, Expr b) { return Expr::binary(BinaryOp::LessEqual, a, b); }

using Extents = std::vector<int64_t>;

TEST(Parts, EachComparisonHasItsPlace) {
  EXPECT_EQ(partsBy(less(at(0), number(100))), (Extents{100, 300}));
  EXPECT_EQ(partsBy(upTo(at(0), number(100))), (Extents{101, 299}));
  EXPECT_EQ(partsBy(less(number(100), at(0))), (Extents{101, 299}));
  EXPECT_EQ(partsBy(upTo(number(100), at(0))), (Extents{100, 300}));
  EXPECT_EQ(partsBy(less(at(-3), number(0))), (Extents{3, 397}));
  EXPECT_EQ(partsBy(less(at(7), number(10, ElementType::I64))), (Extents{3, 397}));
}

TEST(Parts, ConditionsMayBeJoined) {
  Expr low = upTo(number(0), at(-1)), high = less(at(-1), number(390));
  EXPECT_EQ(partsBy(Expr::binary(BinaryOp::And, low, high)), (Extents{1, 390, 9}));
  EXPECT_EQ(partsBy(Expr::binary(BinaryOp::Or, less(at(0), number(5)), less(number(9), at(0)))),
            (Extents{5, 5, 390}));
}

TEST(Parts, OfManySidesEachIsAPartThatComparesNothing) {
  constexpr int64_t sides = 27;
  LoopNest nest;
  nest.parallel = {{"i", sides * 4}};
  Expr body = Expr::literal(ElementType::F32, double(sides));
  for (int64_t k = sides - 1; k > 0; --k)
    body =
        Expr::select(less(at(0), number(4 * k)), Expr::literal(ElementType::F32, double(k)), body);
  nest.bodies = {body};
  nest.destinations = {0};
  nest.destinationIndex = Index::iterator(0);
  auto parts = splitAtPlaces(nest, {});
  ASSERT_EQ(parts.size(), size_t(sides));
  std::vector<bool> seen(sides + 1);
  for (const LoopNest &part : parts) {
    EXPECT_EQ(part.extentOf(0), 4);
    ASSERT_TRUE(part.bodies[0].isLiteral());
    EXPECT_EQ(part.bodies[0].literalFloat(), double(part.destinationIndex.constantTerm() / 4 + 1));
    seen[size_t(part.bodies[0].literalFloat())] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), sides);
}

TEST(Parts, WhatNeverChangesOrMightWrapIsNoPlace) {
  EXPECT_EQ(partsBy(less(at(0), number(400))), (Extents{400}));
  EXPECT_EQ(partsBy(less(at(0), number(0))), (Extents{400}));
  EXPECT_EQ(partsBy(less(at(0, ElementType::U8), number(100, ElementType::U8))), (Extents{400}));
  Expr half = Expr::literal(ElementType::F32, 2.5);
  EXPECT_EQ(partsBy(less(at(0, ElementType::F32), half)), (Extents{400}));
  int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(partsBy(less(at(-5), number(most))), (Extents{400}));
  EXPECT_EQ(partsBy(upTo(number(-most), at(5))), (Extents{400}));
}

} // namespace
