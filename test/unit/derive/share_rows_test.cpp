// Which rows of a constant are alike, and what the rule leaves alone; test/rules has what it makes.

#include "checked_pass.h"
#include "derive/rule.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {
namespace {

using namespace te;

using Element = llvm::function_ref<float(int64_t m, int64_t k)>;

/// What is found of a constant [rows, terms] in f32, along its rows.
std::optional<AlikeRows> alikeRows(int64_t rows, int64_t terms, Element element,
                                   int64_t budget = 1 << 20) {
  std::vector<float> numbers;
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t k = 0; k < terms; ++k)
      numbers.push_back(element(m, k));
  FactorElements elements;
  elements.type = ElementType::F32;
  elements.all = rows * terms;
  elements.rows = {{rows, terms}};
  elements.summed = {{terms, 1}};
  return alikeRowsOf(elements, 0, reinterpret_cast<const std::byte *>(numbers.data()), budget);
}

float anything(int64_t m, int64_t k) { return float((m * 37 + k * 11 + m * k * k) % 101) - 50; }

class AlikeRowsRule : public testing::Test {
protected:
  AlikeRowsRule() {
    context.margins = cost::Margins::none();
    context.space.schedule.machine = *machine::Machine::forLevel("x86-64-v3");
  }

  /// As text, where what is computed is the same.
  std::string after(const std::string &text) {
    return textAfter(
        [&](const Program &before) -> std::optional<Program> {
          Expected<Program> after = alikeRowsRule.apply(before, context);
          EXPECT_TRUE(after.ok());
          bool changes = after.ok() && printProgram(*after) != printProgram(before);
          return changes ? std::optional(std::move(*after)) : std::nullopt;
        },
        text);
  }

  RuleContext context;
};

bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

/// 0.75, 1.75, ... and their doubles.
std::string terms(double times) {
  std::string text;
  for (int64_t k = 0; k < 32; ++k)
    text += (k > 0 ? ", " : "") + std::to_string((double(k) + 0.75) * times);
  return text;
}

std::string product(const std::string &weight, const std::string &other) {
  return "w[m:24, k:32] f32 = " + weight + "\ninput x[24, 32, 20] f32\n" +
         "y[m:24, n:20] f32 = sum<f32>[k:32] w[m, k] * " + other + "\noutput y\n";
}

} // namespace

TEST(AlikeRows, EqualRowsAreOfOneClass) {
  auto rows = alikeRows(12, 40, [](int64_t m, int64_t k) { return anything(m / 4, k); });
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->firsts, (std::vector<int32_t>{0, 4, 8}));
  EXPECT_EQ(rows->classes[7], 1);
  EXPECT_TRUE(rows->times.empty());
  // One element that differs makes a class of its own.
  rows = alikeRows(
      12, 40, [](int64_t m, int64_t k) { return m == 6 && k == 39 ? 1000 : anything(m / 4, k); });
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->firsts, (std::vector<int32_t>{0, 4, 6, 8}));
  EXPECT_EQ(rows->classes[7], 1);
}

TEST(AlikeRows, MoreThanHalfThatDifferAreNoGain) {
  EXPECT_FALSE(alikeRows(12, 40, anything));
  EXPECT_TRUE(alikeRows(12, 40, [](int64_t m, int64_t k) { return anything(m % 6, k); }));
  EXPECT_FALSE(alikeRows(12, 40, [](int64_t m, int64_t k) { return anything(m % 7, k); }));
  EXPECT_FALSE(alikeRows(1, 40, anything));
}

TEST(AlikeRows, MultiplesAreOfTheLargestRow) {
  auto outer = [](int64_t m, int64_t k) { return 0.1f * float(m - 3) * (0.7f * float(k) - 5); };
  auto rows = alikeRows(12, 40, outer);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->firsts, (std::vector<int32_t>{11}));
  ASSERT_EQ(rows->times.size(), 12u);
  EXPECT_EQ(rows->times[11], 1);
  EXPECT_EQ(rows->times[3], 0);
  EXPECT_NEAR(rows->times[0], -3.0 / 8, 1e-6);
  EXPECT_FALSE(alikeRows(12, 40, [&](int64_t m, int64_t k) {
    return m == 5 && k == 38 ? outer(m, k) * 1.0001f : outer(m, k);
  }));
  EXPECT_FALSE(alikeRows(12, 40, [&](int64_t m, int64_t k) {
    return m == 5 && k == 38 ? std::numeric_limits<float>::quiet_NaN() : outer(m, k);
  }));
}

TEST(AlikeRows, NoMoreIsLookedAtThanTheBudgetAllows) {
  auto same = [](int64_t, int64_t k) { return anything(1, k); };
  EXPECT_TRUE(alikeRows(12, 40, same, 480));
  EXPECT_FALSE(alikeRows(12, 40, same, 479));
}

TEST_F(AlikeRowsRule, OneSumIsReadByAllRows) {
  std::string text =
      after(product("cases { m < 8: 0.25; else: 2 } * f32(mod(i64(k), 5) + 1)", "x[0, k, n]"));
  EXPECT_TRUE(has(text, "y.rows[n:20] f32 = sum<f32>[k:32] y.different[k] * x[0, k, n]")) << text;
  EXPECT_TRUE(has(text, "y.times[m] * y.rows[n]")) << text;
}

TEST_F(AlikeRowsRule, OtherFactorsOfTheRowsKeepThem) {
  EXPECT_EQ(after(product("f32(mod(i64(k), 5) + 1)", "x[m, k, n]")), "as before");
  EXPECT_NE(after(product("f32(mod(i64(k), 5) + 1)", "x[0, k, n]")), "as before");
}

TEST_F(AlikeRowsRule, MultiplesThatAreConvertedAreNone) {
  auto converted = [](const std::string &factor) {
    return "const w[2, 32] f32 = [" + terms(1) + ", " + terms(2) + "]\ninput x[32, 20] f32\n" +
           "y[m:2, n:20] f32 = sum<f32>[k:32] " + factor + " * x[k, n]\noutput y\n";
  };
  EXPECT_NE(after(converted("w[m, k]")), "as before");
  EXPECT_EQ(after(converted("f32(i64(w[m, k]))")), "as before");
}

TEST_F(AlikeRowsRule, RowsThatDifferAreLeftAlone) {
  EXPECT_EQ(after(product("f32(mod(i64(m) * i64(k) + i64(m), 97))", "x[0, k, n]")), "as before");
}

} // namespace kintsugi::derive
