#include "te/open_axis.h"

#include "te/open_sums.h"
#include "te/same_at_size.h"
#include "testing.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

const OpenDimension ofFour = {"N", 1, 4};

/// One input, whose rows are the steps.
OpenInputs ofRows() { return {ofFour, {Validity::steps(0, 1)}}; }

Validity validityIn(const Program &program, llvm::StringRef name,
                    const OpenInputs &inputs = ofRows()) {
  std::vector<Validity> all = validityOf(program, inputs);
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].name == name)
      return all[number];
  ADD_FAILURE() << name.str();
  return {};
}

Validity validityOfResult(const std::string &text) {
  return validityIn(parsed("input x[i:4, j:6] f32\n" + text + "output y\n"), "y");
}

TEST(Validity, FollowsStepsWhereverTheyGo) {
  EXPECT_EQ(validityOfResult("y[i:4, j:6] f32 = x[i, j] + 1\n"), Validity::steps(0, 1));
  EXPECT_EQ(validityOfResult("y[j:6, i:4] f32 = x[i, j]\n"), Validity::steps(1, 1));
  EXPECT_EQ(validityOfResult("y[r:24] f32 = x[r // 6, r % 6]\n"), Validity::steps(0, 6));
  EXPECT_EQ(validityOfResult("r[r:24] f32 = x[r // 6, r % 6]\n"
                             "y[i:4, j:2, k:3] f32 = r[6 * i + 3 * j + k]\n"),
            Validity::steps(0, 1));
  EXPECT_EQ(validityOfResult("y[i:4] f32 = sum<f32>[j:6] x[i, j]\n"), Validity::steps(0, 1));
}

TEST(Validity, IsOfTheWholeWhereTheLeastSizeIsEnough) {
  EXPECT_TRUE(validityOfResult("y[j:6] f32 = x[0, j]\n").isWhole());
  EXPECT_TRUE(validityOfResult("y[i:4] i64 = i64(i)\n").isWhole());
  EXPECT_EQ(validityOfResult("y[i:4, j:6] f32 = x[i, j] - x[0, j]\n"), Validity::steps(0, 1));
}

TEST(Validity, IsUnknownWhereStepsMix) {
  EXPECT_TRUE(validityOfResult("y[j:6] f32 = sum<f32>[i:4] x[i, j]\n").isMixed());
  EXPECT_TRUE(validityOfResult("y[i:4, j:6] f32 = x[3 - i, j]\n").isMixed());
  EXPECT_TRUE(validityOfResult("y[j:6] f32 = x[1, j]\n").isMixed());
  EXPECT_TRUE(validityOfResult("y[r:24] f32 = x[r % 4, r // 4]\n").isMixed());
  EXPECT_TRUE(validityOfResult("m[j:6] f32 = max<f32>[i:4] x[i, j]\n"
                               "y[i:4, j:6] f32 = x[i, j] - m[j]\n")
                  .isMixed());
}

/// Elements of steps that nobody asked for may be anything.
TEST(Validity, PlacesThatAreComputedAreNotReadAt) {
  std::string table = "const t[3] f32 = [1, 2, 3]\ninput q[i:4] i64\n";
  Program given = parsed(table + "y[i:4] f32 = (t[{q[i]}] | 0)\noutput y\n");
  EXPECT_EQ(validityIn(given, "y"), Validity::steps(0, 1));
  Program computed =
      parsed(table + "p[i:4] i64 = q[i] + 1\ny[i:4] f32 = (t[{p[i]}] | 0)\noutput y\n");
  EXPECT_TRUE(validityIn(computed, "y").isMixed());
}

Program withSize(int64_t size, const std::string &body) {
  std::string n = std::to_string(size);
  std::string text = "input x[i:" + n + ", j:6] f32\n" + body + "output y\n";
  for (size_t at; (at = text.find('N')) != std::string::npos;)
    text.replace(at, 1, n);
  return parsed(text);
}

std::optional<std::string> differenceAtTwo(const std::string &body) {
  Program greatest = withSize(4, body), smaller = withSize(2, body);
  std::vector<OpenSum> sums = openSums(greatest, smaller);
  SizedNumbers numbers;
  return differenceAtSize(greatest, smaller, validityOf(greatest, ofRows(), sums), sums, ofFour, 2,
                          &numbers);
}

TEST(Validity, IsOfSeveralDimensionsWhereNoneIsEnough) {
  Validity square = Validity::steps({{0, 1}, {1, 1}});
  std::string products = "s[i:4, k:4] f32 = sum<f32>[j:6] x[i, j] * x[k, j]\n";
  EXPECT_EQ(validityOfResult(products + "y[i:4, k:4] f32 = s[i, k] + 1\n"), square);
  EXPECT_EQ(validityOfResult(products + "y[k:4, h:2, i:4] f32 = s[i, k] * h\n"),
            Validity::steps({{0, 1}, {2, 1}}));
  EXPECT_EQ(validityOfResult(products + "y[i:4] f32 = s[i, i]\n"), Validity::steps(0, 1));
  EXPECT_TRUE(validityOfResult(products + "y[i:4] f32 = sum<f32>[k:4] s[i, k]\n").isMixed());
}

/// Where an index is below the size, what is read there is valid.
/// Of "y" in a text in which # is the size, at 4, where it is known at 2.
Validity validityKnownAtTwo(const std::string &text) {
  auto at = [&](char size) {
    std::string sized = "input x[j:6] f32\n" + text + "output y\n";
    llvm::replace(sized, '#', size);
    return parsed(sized);
  };
  Program smaller = at('2');
  OpenInputs inputs{ofFour, {Validity()}};
  inputs.smaller = {&smaller};
  return validityIn(at('4'), "y", inputs);
}

TEST(Validity, IsOfStepsWhereADimensionIsShorterAtASmallerSize) {
  std::string numbers = "r[i:#] i64 = i64(i)\n";
  EXPECT_EQ(validityKnownAtTwo("y[i:#] i64 = i64(i)\n"), Validity::steps(0, 1));
  EXPECT_EQ(validityKnownAtTwo(numbers + "y[j:2, i:#] i64 = r[i] * 2\n"), Validity::steps(1, 1));
  EXPECT_TRUE(validityKnownAtTwo(numbers + "y[i:#] i64 = (r[i + 1] | 0)\n").isMixed());
  EXPECT_TRUE(validityKnownAtTwo(numbers + "y[] i64 = sum<i64>[i:#] r[i]\n").isMixed());
  EXPECT_TRUE(validityKnownAtTwo(numbers + "y[j:6] f32 = x[j]\n").isWhole());
}

TEST(Validity, FollowsConditionsOnTheSize) {
  auto validity = [](const std::string &body) {
    Program program = parsed("input x[i:4, j:6] f32\ninput n[] i64\n" + body + "output y\n");
    return validityIn(program, "y", {ofFour, {Validity::steps(0, 1), {}}, 0, 1});
  };
  EXPECT_TRUE(
      validity("y[j:6] f32 = sum<f32>[i:4] cases { i64{i} < n[]: x[i, j]; else: 0 }\n").isWhole());
  EXPECT_TRUE(
      validity("y[r:24] f32 = cases { i64{r // 6} < n[]: x[r // 6, r % 6]; else: 0 }\n").isWhole());
  EXPECT_TRUE(
      validity("y[j:6] f32 = sum<f32>[i:4] cases { i64{i} < n[]: 0; else: x[i, j] }\n").isMixed());
  EXPECT_TRUE(validity("y[j:6] f32 = sum<f32>[i:4] cases { i64{i} < n[]: x[3 - i, j]; else: 0 }\n")
                  .isMixed());
  EXPECT_TRUE(
      validity("y[j:6] f32 = sum<f32>[i:4] cases { i64{i} < 3: x[i, j]; else: 0 }\n").isMixed());
}

TEST(DifferenceAtSize, IsThereWhereASizeIsMoreThanAnExtent) {
  EXPECT_EQ(differenceAtTwo("y[i:N, j:6] f32 = x[i, j] * 2\n"), std::nullopt);
  EXPECT_EQ(differenceAtTwo("z[i:N] i64 = i64(i)\ny[i:N, j:6] f32 = x[i, j] * f32(z[i])\n"),
            std::nullopt);
  EXPECT_EQ(differenceAtTwo("y[i:N, j:6] f32 = x[i, j] * N\n"), std::nullopt); // It is looked up.
  EXPECT_EQ(differenceAtTwo("y[i:N, j:6] f32 = x[i, j] * f32(i + N)\n"), "'y'");
  EXPECT_EQ(differenceAtTwo("y[j:6, i:N] f32 = x[i, (j + N) % 6]\n"), "'y'");
}

TEST(DifferenceAtSize, ConstantsAgreeAsFarAsBothGo) {
  auto difference = [](const std::string &greatest, const std::string &smaller) {
    auto program = [](const std::string &n, const std::string &numbers) {
      return parsed("input x[i:" + n + "] f32\nconst c[" + n + "] f32 = [" + numbers +
                    "]\ny[i:" + n + "] f32 = x[i] + c[i]\noutput y\n");
    };
    SizedNumbers numbers;
    Program whole = program("4", greatest), part = program("2", smaller);
    return differenceAtSize(whole, part, validityOf(whole, ofRows()), {}, ofFour, 2, &numbers);
  };
  EXPECT_EQ(difference("1, 2, 3, 4", "1, 2"), std::nullopt);
  EXPECT_EQ(difference("1, 2, 3, 4", "1, 3"), "'c'");
}

TEST(StartsAtStep, PiecesStoreWhatIsBehindTheirFirstRow) {
  Shape shape = {Extent(8), Extent(5)}; // Two rows a step.
  Index origin = Index::iterator(2), row = Index::iterator(0), column = Index::iterator(1);
  llvm::SmallVector<Interval> ranges = {{0, 3}, {0, 4}, {0, 4}};
  CutRows fours{2, 2, 4};
  EXPECT_TRUE(
      startsAtStep((origin + row) * 5 + column, shape, Validity::steps(0, 2), fours, ranges, 4));
  Index back = Index(7) - origin - row;
  EXPECT_FALSE(startsAtStep(back * 5 + column, shape, Validity::steps(0, 2), fours, ranges, 4));
}

TEST(StartsAtStep, RowsThatAreCutStandInsideOfOthers) {
  Shape shape = {Extent(3), Extent(8), Extent(5)}; // A step is one of the eight.
  Index image = Index::iterator(0), row = Index::iterator(1), column = Index::iterator(2);
  Index position = (image * 8 + Index::iterator(3) + row) * 5 + column;
  auto areRight = [&](int64_t piece, int64_t last) {
    llvm::SmallVector<Interval> ranges = {{0, 2}, {0, piece - 1}, {0, 4}, {0, last}};
    return startsAtStep(position, shape, Validity::steps(1, 1), {3, 1, piece}, ranges, 8);
  };
  EXPECT_TRUE(areRight(4, 4));
  EXPECT_TRUE(areRight(3, 5));  // The last piece starts earlier, so that it ends with the rows.
  EXPECT_FALSE(areRight(3, 6)); // A row behind the last is the next image's first.
}

} // namespace
