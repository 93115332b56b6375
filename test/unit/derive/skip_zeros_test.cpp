// What the rule leaves alone, and what it says of what it changes; test/rules has what it makes.

#include "checked_pass.h"
#include "derive/rule.h"
#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {
namespace {

using namespace te;

using Element = llvm::function_ref<double(int64_t m, int64_t k)>;

/// "const w[rows, columns] f32 = [...]"
std::string constant(int64_t rows, int64_t columns, Element element,
                     const std::string &type = "f32") {
  std::string text =
      "const w[" + std::to_string(rows) + ", " + std::to_string(columns) + "] " + type + " = [";
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t k = 0; k < columns; ++k) {
      std::string number = std::to_string(element(m, k));
      number.erase(number.find_last_not_of('0') + 1);
      text += (m + k > 0 ? ", " : "") + number + (number.back() == '.' ? "0" : "");
    }
  return text + "]\n";
}

const std::string product = "input x[32, 20] f32\n"
                            "y[m:24, n:20] f32 = sum<f32>[k:32] w[m, k] * x[k, n]\noutput y\n";

/// Weights without zeros in four blocks of 6 rows and 8 columns.
double inBlocks(int64_t m, int64_t k) { return m / 6 == k / 8 ? double(m + k) + 1 : 0; }

class SkipZeros : public testing::Test {
protected:
  SkipZeros() {
    context.margins = cost::Margins::none();
    context.space.schedule.machine = *machine::Machine::forLevel("x86-64-v3");
    context.assumed = &assumed;
  }

  std::optional<Program> made(const Program &before) {
    Expected<Program> after = skipZerosRule.apply(before, context);
    EXPECT_TRUE(after.ok());
    bool changes = after.ok() && printProgram(*after) != printProgram(before);
    return changes ? std::optional(std::move(*after)) : std::nullopt;
  }

  /// As text, where what is computed is the same.
  std::string after(const std::string &text) {
    return textAfter([&](const Program &before) { return made(before); }, text);
  }

  bool isDominant(const std::string &text) {
    Program before = parsed(text);
    Expected<Program> after = skipZerosRule.applyDominant(before, context);
    EXPECT_TRUE(after.ok());
    return after.ok() && printProgram(*after) != printProgram(before);
  }

  RuleContext context;
  Assumptions assumed;
};

bool has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_F(SkipZeros, ANonzeroOutsideOfBlocksWidensThem) {
  EXPECT_TRUE(has(after(constant(24, 32, inBlocks) + product), "sum<f32>[k:8]"));
  auto oneMore = [](int64_t at) {
    return constant(24, 32,
                    [=](int64_t m, int64_t k) { return m == 0 && k == at ? 2 : inBlocks(m, k); }) +
           product;
  };
  EXPECT_TRUE(has(after(oneMore(8)), "sum<f32>[k:16]"));
  EXPECT_EQ(after(oneMore(31)), "as before");
}

TEST_F(SkipZeros, OneMoreNonzeroInARowIsAdded) {
  auto selection = [](int64_t more) {
    return constant(24, 32,
                    [=](int64_t m, int64_t k) {
                      return double(k == m * m % 31 || (m == 5 && k == more));
                    }) +
           product;
  };
  EXPECT_TRUE(has(after(selection(-1)), "0 + x[y.at.k[m], n]"));
  EXPECT_TRUE(has(after(selection(3)), "sum<f32>[k:2]"));
}

TEST_F(SkipZeros, OnlyOnesAreNoFactor) {
  auto diagonal = [](double at7) {
    return constant(24, 32, [=](int64_t m, int64_t k) { return m != k   ? 0
                                                               : m == 7 ? at7
                                                                        : 1; }) +
           product;
  };
  EXPECT_TRUE(has(after(diagonal(1)), "0 + x[m, n]"));
  EXPECT_TRUE(has(after(diagonal(2)), "y.nonzeros[m] * x[m, n]"));
  EXPECT_TRUE(has(after(diagonal(0)), "y.nonzeros[m] * x[m, n]"));
  EXPECT_TRUE(has(after(diagonal(-1)), "y.nonzeros[m] * x[m, n]"));
}

TEST_F(SkipZeros, DenseConstantsAreLeftAlone) {
  EXPECT_EQ(after(constant(24, 32, [](int64_t m, int64_t k) { return m * k + 1; }) + product),
            "as before");
  EXPECT_EQ(after("input w[24, 32] f32\n" + product), "as before");
  EXPECT_EQ(after("const w[24, 32] f32 = weights(\"elsewhere\")\n" + product), "as before");
  // Half of the elements, and no rows that say where.
  EXPECT_EQ(after(constant(24, 32, [](int64_t m, int64_t k) { return (m * m + k * k) % 7 < 3; }) +
                  product),
            "as before");
}

TEST_F(SkipZeros, AFewTermsLessAreNotWorthAForm) {
  auto padded = [](int64_t terms) {
    return constant(24, 8, [=](int64_t m, int64_t k) { return k < terms ? m + k + 1 : 0; }) +
           "input x[8, 20] f32\ny[m:24, n:20] f32 = sum<f32>[k:8] w[m, k] * x[k, n]\noutput y\n";
  };
  EXPECT_EQ(after(padded(5)), "as before");
  EXPECT_TRUE(has(after(padded(4)), "sum<f32>[k:4]"));
}

TEST_F(SkipZeros, WindowsLeaveWhereNoElementsAre) {
  std::string band = constant(
      32, 32, [](int64_t m, int64_t k) { return std::abs(m - k) < 2 ? m + 2 * k + 1 : 0; });
  EXPECT_TRUE(has(after(band + "input x[20, 32] f32\n"
                               "y[n:20, m:32] f32 = sum<f32>[k:32] x[n, k] * w[k, m]\noutput y\n"),
                  "(x[n, m+k-1] | 0)"));
  EXPECT_TRUE(
      has(after(band + "input x[20, 32] f32\n"
                       "y[n:20, m:32] f32 = sum<f32>[k:32] (x[n, k+2] | 0) * w[k, m]\noutput y\n"),
          "(x[n, m+k+1] | 0)"));
  // Beyond the range are zeros, whatever both tensors have there.
  std::string wider = constant(32, 40, [](int64_t m, int64_t k) {
    return std::abs(m - k) < 2 || k >= 32 ? m + 2 * k + 1 : 0;
  });
  EXPECT_TRUE(has(after(wider + "input x[20, 40] f32\n"
                                "y[n:20, m:32] f32 = sum<f32>[k:32] x[n, k] * w[m, k]\noutput y\n"),
                  "sum<f32>[k:3]"));
  // What is computed of an element may be no number beyond its tensor.
  EXPECT_EQ(after(band + "input x[20, 32] f32\n"
                         "y[n:20, m:32] f32 = sum<f32>[k:32] 1 / x[n, k] * w[k, m]\noutput y\n"),
            "as before");
}

TEST_F(SkipZeros, ZerosAreTakenForFiniteMultiples) {
  std::string blocks = constant(24, 32, inBlocks);
  EXPECT_NE(after(blocks + product), "as before");
  EXPECT_EQ(assumed.of("skip-zeros"), 1u);
  EXPECT_NE(after(blocks + "input x[32, 20] f32 facts(finite)\n"
                           "y[m:24, n:20] f32 = sum<f32>[k:32] w[m, k] * x[k, n]\noutput y\n"),
            "as before");
  EXPECT_EQ(assumed.of("skip-zeros"), 1u);
}

TEST_F(SkipZeros, NumbersStayInTheirTypes) {
  std::string narrow = constant(24, 32, inBlocks, "f16") +
                       "input x[32, 20] f16\ny[m:24, n:20] f16 = sum<f32>[k:32] f32(w[m, k]) * "
                       "f32(x[k, n])\noutput y\n";
  std::string text = after(narrow);
  EXPECT_TRUE(has(text, "const y.nonzeros[4, 6, 8] f16")) << text;
  EXPECT_TRUE(has(text, "f32(y.nonzeros[mp, m, k])")) << text;
}

TEST_F(SkipZeros, OnlyWhatArithmeticAloneDecidesIsDominant) {
  auto diagonal = [](int64_t size, int64_t columns) {
    std::string s = std::to_string(size), n = std::to_string(columns);
    return "d[m:" + s + ", k:" + s + "] f32 = cases { m == k: f32(i64(m)); else: 0 }\ninput x[" +
           s + ", " + n + "] f32\ny[m:" + s + ", n:" + n + "] f32 = sum<f32>[k:" + s +
           "] d[m, k] * x[k, n]\noutput y\n";
  };
  EXPECT_TRUE(isDominant(diagonal(256, 4096)));
  EXPECT_FALSE(isDominant(diagonal(16, 4)));
  EXPECT_NE(after(diagonal(16, 4)), "as before");
}

TEST_F(SkipZeros, ConstantsAreLookedAtOnce) {
  class Counted : public ConstantSource {
  public:
    Status load(std::byte *destination) const override {
      ++loads;
      auto *numbers = reinterpret_cast<float *>(destination);
      for (int64_t k = 0; k < 64 * 64; ++k)
        numbers[k] = k / 64 == k % 64 ? 2 : 0;
      return Status::success();
    }
    std::string identity() const override { return "counted"; }
    mutable unsigned loads = 0;
  };
  Program program = parsed("const w[64, 64] f32 = weights(\"w\")\ninput x[64, 8] f32\n"
                           "y[m:64, n:8] f32 = sum<f32>[k:64] w[m, k] * x[k, n]\n"
                           "z[m:64, n:8] f32 = sum<f32>[k:64] w[m, k] * y[k, n]\noutput z\n");
  auto source = std::make_shared<Counted>();
  for (Value &value : program.values)
    if (value.kind == ValueKind::Constant)
      value.constant = source;
  ConstantFacts facts;
  context.facts = &facts;
  for (unsigned k = 0; k < 3; ++k)
    EXPECT_TRUE(made(program));
  EXPECT_EQ(source->loads, 1u);
}

TEST_F(SkipZeros, WhatIsLeftOfAConstantIsPacked) {
  std::optional<Program> blocks = made(parsed(constant(24, 32, inBlocks) + product));
  ASSERT_TRUE(blocks);
  auto packed = llvm::find_if(blocks->values,
                              [](const Value &value) { return value.kind == ValueKind::Constant; });
  ASSERT_EQ(packed->name, "y.nonzeros");
  Expected<Tensor> tensor = loadConstant(*packed);
  ASSERT_TRUE(tensor.ok());
  for (int64_t k = 0; k < tensor->count(); ++k) {
    int64_t row = k / 8;
    EXPECT_EQ(loadDouble(tensor->view(), k), inBlocks(row, row / 6 * 8 + k % 8));
  }
}

} // namespace kintsugi::derive
