#include "te/index.h"

#include "random_program.h"
#include "te/expr.h"

#include <gtest/gtest.h>

namespace kintsugi::te {
namespace {

/// An index of iterators, evaluated by the definition of its atoms.
int64_t valueOf(const Index &index, llvm::ArrayRef<int64_t> point) {
  int64_t result = index.constantTerm();
  for (const Term &term : index.terms()) {
    const Atom &atom = term.atom;
    if (atom.kind == AtomKind::Iterator) {
      result += term.factor * point[atom.iterator];
      continue;
    }
    int64_t inner = valueOf(atom.operand, point);
    int64_t remainder = ((inner % atom.divisor) + atom.divisor) % atom.divisor;
    result +=
        term.factor * (atom.kind == AtomKind::Mod ? remainder : (inner - remainder) / atom.divisor);
  }
  return result;
}

/// Calls `visit` on each point of the box.
void forEachPoint(llvm::ArrayRef<Interval> ranges,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  llvm::SmallVector<int64_t> point;
  for (Interval range : ranges)
    point.push_back(range.low);
  while (true) {
    visit(point);
    size_t d = ranges.size();
    while (d > 0 && ++point[d - 1] > ranges[d - 1].high)
      point[d - 1] = ranges[d - 1].low, --d;
    if (d == 0)
      return;
  }
}

llvm::SmallVector<Interval> randomRanges(Chance &chance) {
  llvm::SmallVector<Interval> ranges;
  for (int64_t i = chance.between(1, 3); i > 0; --i) {
    int64_t low = chance.oneIn(3) ? chance.between(-7, 7) : 0;
    ranges.push_back({low, low + chance.between(0, 6)});
  }
  return ranges;
}

TEST(Index, SumsAreCanonical) {
  Index i = Index::iterator(0), j = Index::iterator(1);
  EXPECT_TRUE(i + j == j + i);
  EXPECT_TRUE(i * 2 + j - i == i + j);
  EXPECT_TRUE((i - i).isConstant());
  EXPECT_TRUE((i + 3 - 3).asIterator() == 0);
  EXPECT_FALSE(i == j);
  EXPECT_EQ((i * 3 + j).coefficientOf(0), 3);
  EXPECT_EQ((i.floorDiv(2) * 3 + j).coefficientOf(0), 0);
  EXPECT_TRUE(i.floorDiv(2).uses(0));
}

TEST(Index, DivisionsOfConstantsRoundDown) {
  EXPECT_EQ(Index(-7).floorDiv(3).constantTerm(), -3);
  EXPECT_EQ(Index(-7).mod(3).constantTerm(), 2);
  EXPECT_EQ(Index(7).floorDiv(3).constantTerm(), 2);
  EXPECT_TRUE(Index::iterator(0).floorDiv(1) == Index::iterator(0));
  EXPECT_TRUE(Index::iterator(0).mod(1) == Index(0));
}

TEST(Index, RangesAreNeverTooSmall) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Chance chance(seed);
    auto ranges = randomRanges(chance);
    Index index = randomIndex(chance, ranges);
    Interval range = rangeOf(index, ranges);
    forEachPoint(ranges, [&](auto point) {
      int64_t value = valueOf(index, point);
      ASSERT_TRUE(range.low <= value && value <= range.high) << "seed " << seed;
    });
  }
}

TEST(Index, RangesOfAffineIndicesAreExact) {
  llvm::SmallVector<Interval> ranges = {{0, 4}, {-2, 3}};
  Index index = Index::iterator(0) * 3 - Index::iterator(1) * 2 + 1;
  EXPECT_EQ(rangeOf(index, ranges), (Interval{1 - 6, 1 + 12 + 4}));
}

TEST(Index, RangesSaturate) {
  Index far = Index::iterator(0) * (int64_t(1) << 40);
  Interval range = rangeOf(far * 4 + far, {{-(int64_t(1) << 40), int64_t(1) << 40}});
  EXPECT_LT(range.low, -(int64_t(1) << 60));
  EXPECT_GT(range.high, int64_t(1) << 60);
}

TEST(Index, EmptyRangesHaveNoValues) {
  EXPECT_TRUE(rangeOf(Index::iterator(0) + 3, {Interval{0, -1}}).empty());
}

TEST(Index, SimplifyKeepsEveryValue) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Chance chance(seed);
    auto ranges = randomRanges(chance);
    Index index = randomIndex(chance, ranges);
    Index simple = simplify(index, ranges);
    forEachPoint(ranges, [&](auto point) {
      ASSERT_EQ(valueOf(index, point), valueOf(simple, point)) << "seed " << seed;
    });
  }
}

TEST(Index, SimplifyRemovesDivisionsThatRangesDecide) {
  llvm::SmallVector<Interval> ranges = {{0, 3}, {0, 4}};
  Index i = Index::iterator(0), j = Index::iterator(1);
  EXPECT_TRUE(simplify((i * 5 + j).floorDiv(5), ranges) == i);
  EXPECT_TRUE(simplify((i * 5 + j).mod(5), ranges) == j);
  EXPECT_TRUE(simplify(i.floorDiv(4), ranges) == Index(0));
  EXPECT_TRUE(simplify(i.mod(4), ranges) == i);
  EXPECT_TRUE(simplify(j.floorDiv(2) * 2 + j.mod(2), ranges) == j);
  EXPECT_TRUE(simplify((j + 3).mod(9).floorDiv(8), ranges) == Index(0));
}

TEST(Index, SubstituteIsEvaluationAtReplacedPoints) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Chance chance(seed);
    auto ranges = randomRanges(chance), inner = randomRanges(chance);
    Index index = randomIndex(chance, ranges);
    llvm::SmallVector<Index> replacements;
    for (size_t k = 0; k < ranges.size(); ++k)
      replacements.push_back(randomIndex(chance, inner, 1));
    Index composed = substitute(index, replacements);
    forEachPoint(inner, [&](auto point) {
      llvm::SmallVector<int64_t> mapped;
      for (const Index &replacement : replacements)
        mapped.push_back(valueOf(replacement, point));
      ASSERT_EQ(valueOf(composed, point), valueOf(index, mapped)) << "seed " << seed;
    });
  }
}

TEST(Index, SubstituteReachesGathers) {
  Index i = Index::iterator(0), j = Index::iterator(1);
  Index gather = Index::data(Expr::read({7}, ElementType::I64, {i * 2})) + i;
  Index expected = Index::data(Expr::read({7}, ElementType::I64, {j * 2 + 2})) + j + 1;
  EXPECT_TRUE(substitute(gather, {j + 1}) == expected);
  EXPECT_FALSE(gather.isStatic());
  EXPECT_TRUE(gather.uses(0));
}

TEST(Index, DelinearizeIsTheInverseOfLinearize) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Chance chance(seed);
    llvm::SmallVector<Extent> shape;
    llvm::SmallVector<Interval> ranges;
    llvm::SmallVector<Index> coordinates;
    for (int64_t rank = chance.between(0, 4); rank > 0; --rank) {
      shape.push_back(chance.between(1, 4));
      ranges.push_back(Interval::of(shape.back()));
      coordinates.push_back(Index::iterator(ranges.size() - 1));
    }
    Index position = linearize(coordinates, shape);
    llvm::SmallVector<Index> back = delinearize(position, shape);
    int64_t next = 0;
    forEachPoint(ranges, [&](auto point) {
      ASSERT_EQ(valueOf(position, point), next++);
      for (size_t d = 0; d < shape.size(); ++d)
        ASSERT_EQ(valueOf(back[d], point), point[d]) << "seed " << seed;
    });
    for (size_t d = 0; d < shape.size(); ++d)
      EXPECT_TRUE(simplify(back[d], ranges) == simplify(coordinates[d], ranges)) << "seed " << seed;
  }
}

} // namespace
} // namespace kintsugi::te
