// What finishes a product is done before it is transposed or reshaped; what is computed stays the
// same.

#include "derive/before_views.h"

#include "checked_pass.h"
#include "derive/digit_map.h"
#include "simplify/simplify.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

std::string finished(const std::string &text) {
  return textAfter([](const Program &program) { return finishBeforeViews(program); }, text);
}

const std::string inputs = "input x[t:5, r:4] f32\ninput w[r:4, c:6] f32\ninput q[h:2, t:5, d:3] "
                           "f32\ninput b[h:2, d:3] f32\n";
const std::string product = "p[t:5, c:6] f32 = sum<f32>[r:4] x[t, r] * w[r, c]\n";
const std::string scores = "s[h:2, i:5, j:5] f32 = sum<f32>[d:3] q[h, i, d] * k[h, d, j]\n"
                           "output s\n";

bool has(const std::string &text, const std::string &what) {
  return text.find(what) != std::string::npos;
}

/// For each point of `shape`, the iterators' values that the inverse gives, put into the indices.
void expectInverse(llvm::ArrayRef<Index> indices, llvm::ArrayRef<Iterator> iterators,
                   llvm::ArrayRef<Extent> shape) {
  auto inverse = invertDigits(indices, iterators, shape);
  ASSERT_TRUE(inverse);
  llvm::SmallVector<Interval> ranges;
  for (Extent extent : shape)
    ranges.push_back({0, extent.constant() - 1});
  for (auto [d, there] : llvm::enumerate(substitute(indices, *inverse)))
    EXPECT_EQ(te::simplify(there, ranges), Index::iterator(d));
}

} // namespace

TEST(BeforeViews, ScalesKeysAsTheyLie) {
  std::string after =
      finished(inputs + product + "k[h:2, d:3, t:5] f32 = p[t, 3*h+d] * 0.5\n" + scores);
  EXPECT_TRUE(has(after, "k.finished[i0:5, i1:6] f32 = p[i0, i1] * 0.5")) << after;
  EXPECT_TRUE(has(after, "k.finished[j, 3*h+d]")) << after;
}

TEST(BeforeViews, ReadsWhatElseThereIsByTheInverse) {
  std::string after = finished(inputs + product +
                               "k[h:2, d:3, t:5] f32 = max(p[t, 3*h+d] + b[h, d], 0)\n" + scores);
  EXPECT_TRUE(has(after, "b[i1//3, i1%3]")) << after;
}

TEST(BeforeViews, NotWhereThereIsNothingToFinish) {
  EXPECT_EQ(finished(inputs + product + "k[h:2, d:3, t:5] f32 = p[t, 3*h+d]\n" + scores),
            "as before");
  EXPECT_EQ(finished("input p[t:5, c:6] f32\ninput q[h:2, t:5, d:3] f32\n"
                     "k[h:2, d:3, t:5] f32 = p[t, 3*h+d] * 0.5\n" +
                     scores),
            "as before");
}

TEST(BeforeViews, NotWhereElementsAreLeftOut) {
  EXPECT_EQ(finished(inputs + product + "k[h:2, d:3, t:5] f32 = p[t, 2*h+d] * 0.5\n" + scores),
            "as before");
  EXPECT_EQ(finished(inputs + product + "k[h:2, d:3, t:5] f32 = p[4-t, 3*h+d] * 0.5\n" + scores),
            "as before");
}

TEST(BeforeViews, NotForWhatNoContractionReads) {
  EXPECT_EQ(finished(inputs + product + "k[h:2, d:3, t:5] f32 = p[t, 3*h+d] * 0.5\noutput k\n"),
            "as before");
}

TEST(DigitMap, InvertsTransposesAndReshapes) {
  Index a = Index::iterator(0), b = Index::iterator(1);
  llvm::SmallVector<Iterator> two = {{"a", 8}, {"b", 24}};
  expectInverse({b, a}, two, {24, 8});
  expectInverse({a * 24 + b}, two, {192});
  expectInverse({a * 4 + b.floorDiv(6), b.floorDiv(2).mod(3), b.mod(2)}, two, {32, 3, 2});
  expectInverse({b.mod(6) * 8 + a, b.floorDiv(6)}, two, {48, 4});
}

TEST(DigitMap, RefusesWhatIsNone) {
  Index a = Index::iterator(0), b = Index::iterator(1);
  llvm::SmallVector<Iterator> two = {{"a", 8}, {"b", 24}};
  EXPECT_FALSE(invertDigits({a * 23 + b}, two, {192}));         // Some twice.
  EXPECT_FALSE(invertDigits({a, b + Index(1)}, two, {8, 25}));  // Not the first.
  EXPECT_FALSE(invertDigits({a, b.floorDiv(5)}, two, {8, 5}));  // In uneven parts.
  EXPECT_FALSE(invertDigits({a, b.floorDiv(2)}, two, {8, 12})); // Not all of it.
  EXPECT_FALSE(invertDigits({a, b}, two, {8, 25}));             // Not all of the shape.
  EXPECT_FALSE(invertDigits({a}, {{"a", 0}}, {0}));             // Nothing at all.
}

} // namespace kintsugi::derive
