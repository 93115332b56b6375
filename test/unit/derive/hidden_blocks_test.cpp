// Blocks that a constant mask hides get a table; what the softmax gives stays the same.

#include "derive/hidden_blocks.h"
#include "derive/mask_scan.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/constant.h"
#include "te/printer.h"

#include <cmath>

namespace kintsugi::derive {
namespace {

using namespace te;

/// x = s + m over 3 x 128 x 192, its maximum, sum, and powers; y sums the powers' quotients.
std::string softmaxWith(const std::string &mask, const std::string &further = "") {
  return "input s[h:3, i:128, j:192] f32\n"
         "g[i:128, j:192] f32 = " +
         mask +
         "\n"
         "x[h:3, i:128, j:192] f32 = s[h, i, j] + g[i, j]\n"
         "(m[h:3, i:128] f32, z[h:3, i:128] f32) = softmax_stats<f32>[j:192] x[h, i, j]\n"
         "p[h:3, i:128, j:192] f32 = exp(x[h, i, j] - m[h, i])\n"
         "y[h:3, i:128, j:192] f32 = p[h, i, j] / z[h, i]\noutput y\n" +
         further;
}

/// The same with other scores x, of s and of an input r.
std::string softmaxOf(const std::string &scores, const std::string &input) {
  std::string text = softmaxWith("0.0 * 1.0"), usual = "s[h, i, j] + g[i, j]";
  text.replace(text.find(usual), usual.size(), scores);
  return text.insert(text.find("g[i:128"), input + "\n");
}

Program hidden(const std::string &text, const std::vector<ExactTensor> &others = {}) {
  Program program = parsed(text);
  Expected<Program> after = hideBlocks(program);
  EXPECT_TRUE(after.ok()) << after.error().message;
  Status status = after->verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(*after);
  Chance chance(7);
  ExactTensor scores{ElementType::F32, {3, 128, 192}, {}, {}};
  for (int64_t k = 0; k < 3 * 128 * 192; ++k)
    scores.floats.push_back(double(chance.between(-64, 64)) / 16);
  std::vector<ExactTensor> inputs{scores};
  inputs.insert(inputs.end(), others.begin(), others.end());
  std::vector<ExactTensor> expected = evaluated(program, inputs), got = evaluated(*after, inputs);
  expectSame(got, expected);
  return std::move(*after);
}

/// The elements of the table, or none.
std::vector<double> tableOf(const Program &program) {
  std::vector<double> elements;
  for (const Value &value : program.values)
    if (value.kind == ValueKind::Constant && value.name == "x.open") {
      Expected<Tensor> tensor = loadConstant(value);
      EXPECT_TRUE(tensor.ok());
      for (std::byte each : tensor->bytes())
        elements.push_back(double(each));
    }
  return elements;
}

} // namespace

TEST(HiddenBlocks, AreThoseAboveADiagonal) {
  for (const char *low : {"-inf", "-3.4028235e38"}) {
    Program after = hidden(softmaxWith(std::string("cases { i < j: ") + low + "; else: 0.0 }"));
    EXPECT_EQ(tableOf(after), (std::vector<double>{1, 0, 0, 1, 1, 0}));
  }
}

TEST(HiddenBlocks, AreTheSameWhereDefinitionsHaveMoreThanMasksRead) {
  std::string text = softmaxWith("b[i, 5 * j]");
  text.insert(text.find("g[i:128"), "b[i:128, k:960] f32 = cases { 5 * i < k: -inf; else: 0.0 }\n");
  EXPECT_EQ(tableOf(hidden(text)), (std::vector<double>{1, 0, 0, 1, 1, 0}));
}

TEST(HiddenBlocks, AreOpenWhereARowIsHiddenAsAWhole) {
  // Row 70 has equal weights, so none of its columns may be left out.
  Program after =
      hidden(softmaxWith("cases { i < j: -3.4028235e38; i == 70: -3.4028235e38; else: 0.0 }"));
  EXPECT_EQ(tableOf(after), (std::vector<double>{1, 0, 0, 1, 1, 1}));
}

TEST(HiddenBlocks, LeaveOutAMaskOfZeros) {
  Program after = hidden(softmaxWith("0.0 * 1.0"));
  EXPECT_EQ(printProgram(after).find(" + "), std::string::npos);
}

TEST(HiddenBlocks, ReadMasksThatOnlyHideAsBits) {
  // Also where few are hidden; a row that is hidden as a whole, or a bias, keeps its numbers.
  auto hasBits = [](const std::string &mask) {
    return printProgram(hidden(softmaxWith(mask))).find("x.shown[") != std::string::npos;
  };
  EXPECT_TRUE(hasBits("cases { i < j: -inf; else: 0.0 }"));
  EXPECT_TRUE(hasBits("cases { j < 3: -3.4028235e38; else: 0.0 }"));
  EXPECT_FALSE(hasBits("cases { i < j: -inf; else: 0.5 }"));
  EXPECT_FALSE(hasBits("cases { i == 70: -3.4028235e38; i < j: -inf; else: 0.0 }"));
}

TEST(HiddenBlocks, MayBeChosenByACondition) {
  for (const char *scores : {"cases { {j//64} <= {i//64}: s[h, i, j]; else: -inf }",
                             "cases { i < j: -inf; else: s[h, i, j] }",
                             "cases { i < j: -3.4028235e38; else: s[h, i, j] }"}) {
    Program after = hidden(softmaxOf(scores, ""));
    EXPECT_EQ(tableOf(after), (std::vector<double>{1, 0, 0, 1, 1, 0})) << scores;
    EXPECT_NE(printProgram(after).find("x.shown["), std::string::npos) << scores;
  }
}

TEST(HiddenBlocks, AreNotChosenByOtherNumbers) {
  for (const char *number : {"0.0", "1.5"}) {
    std::string scores = std::string("cases { i < j: ") + number + "; else: s[h, i, j] }";
    Program after = hidden(softmaxOf(scores, ""));
    EXPECT_TRUE(tableOf(after).empty());
    EXPECT_NE(printProgram(after).find("i < j"), std::string::npos) << number;
  }
}

TEST(HiddenBlocks, OfComparedPlacesNeedNoTable) {
  Program after = hidden(softmaxOf("cases { j <= i: s[h, i, j]; else: -inf }", ""));
  EXPECT_TRUE(tableOf(after).empty());
}

/// Of the columns 40 to 59, which a run hides: minus infinity, or "not so".
ExactTensor hiddenInARun(ElementType type) {
  ExactTensor result{type, {192}, {}, {}};
  for (int64_t column = 0; column < 192; ++column) {
    bool isHidden = column >= 40 && column < 60;
    if (type == ElementType::Bool)
      result.integers.push_back(!isHidden);
    else
      result.floats.push_back(isHidden ? -INFINITY : 0.25);
  }
  return result;
}

TEST(HiddenBlocks, MayHaveMasksOfARunAroundThem) {
  const std::vector<double> causal{1, 0, 0, 1, 1, 0};
  std::string low = "cases { i < j: -inf; else: 0.0 }";
  for (const std::string &scores : std::vector<std::string>{
           "(s[h, i, j] + " + low + ") + r[j]", "s[h, i, j] + (r[j] + " + low + ")",
           "cases { i < j: -inf; else: s[h, i, j] } + r[j]",
           "cases { i < j: -inf; else: s[h, i, j] + r[j] }"}) {
    Program after =
        hidden(softmaxOf(scores, "input r[j:192] f32"), {hiddenInARun(ElementType::F32)});
    EXPECT_EQ(tableOf(after), causal) << scores;
  }
  for (const char *scores :
       {"cases { ({j//64} <= {i//64}) and r[j]: s[h, i, j]; else: -inf }",
        "cases { r[j]: cases { {j//64} <= {i//64}: s[h, i, j]; else: -inf }; else: -inf }"}) {
    Program after =
        hidden(softmaxOf(scores, "input r[j:192] bool"), {hiddenInARun(ElementType::Bool)});
    EXPECT_EQ(tableOf(after), causal) << scores;
  }
}

TEST(HiddenBlocks, OfLowNumbersStayWhereARunMayHideAllOthers) {
  // A row that sees nothing else has equal weights among all that have the lowest number.
  std::string low = "cases { i < j: -3.4028235e38; else: 0.0 }";
  Program after = hidden(softmaxOf("(s[h, i, j] + " + low + ") + r[j]", "input r[j:192] f32"),
                         {hiddenInARun(ElementType::F32)});
  EXPECT_TRUE(tableOf(after).empty());
}

TEST(HiddenBlocks, OfOneMaskShareTheirTables) {
  std::string text = softmaxWith("cases { i < j: -inf; else: 0.0 }");
  std::string further =
      "a[h:3, i:128, j:192] f32 = y[h, i, j] + g[i, j]\n"
      "(b[h:3, i:128] f32, c[h:3, i:128] f32) = softmax_stats<f32>[j:192] a[h, i, "
      "j]\n"
      "w[h:3, i:128, j:192] f32 = exp(a[h, i, j] - b[h, i])\n"
      "d[h:3, i:128, j:192] f32 = w[h, i, j] / c[h, i]\noutput d\n";
  Program after = hidden(text + further);
  EXPECT_EQ(llvm::count_if(after.values,
                           [](const Value &value) { return value.kind == ValueKind::Constant; }),
            2);
}

TEST(HiddenBlocks, BehindASizeStayWhereARowMayBeginThere) {
  auto behindSize = [](const std::string &mask) {
    std::string text = "input n[] i64 facts(low=64, high=192)\n" + softmaxWith(mask);
    auto put = [&](const std::string &from, const std::string &to) {
      text.replace(text.find(from), from.size(), to);
    };
    put("x[h:3, i:128, j:192] f32 = s[h, i, j] + g[i, j]\n",
        "t[h:3, i:128, j:192] f32 = s[h, i, j] + g[i, j]\n"
        "x[h:3, i:128, j:192] f32 = cases { j < n[]: t[h, i, j]; else: -inf }\n");
    Expected<Program> after = hideBlocks(parsed(text));
    EXPECT_TRUE(after.ok());
    return printProgram(*after);
  };
  EXPECT_NE(behindSize("cases { i < j: -inf; else: 0.0 }").find("t.open"), std::string::npos);
  EXPECT_EQ(behindSize("0.0 * 1.0").find(" + "), std::string::npos);
  // With 64 columns, all of a row that begins at the 70th have the lowest number, and equal
  // weights.
  std::string late = behindSize("cases { j < 70: -3.4028235e38; else: 0.0 }");
  EXPECT_EQ(late.find("t.open"), std::string::npos);
  EXPECT_EQ(late.find("t.shown"), std::string::npos);
}

TEST(HiddenBlocks, AreNotMoreThanWhatWasSeenLeavesOpen) {
  double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> open(256, 0.5), behind(256, -infinity);
  std::fill_n(behind.begin(), 64, 0.5);
  MaskScan one(64, 49);
  one.add(open.data());
  EXPECT_EQ(one.mostHidden(64), 0); // Rows have no other block.
  MaskScan scan(128, 256);
  EXPECT_EQ(scan.mostHidden(256), 1);
  for (int row = 0; row < 64; ++row)
    scan.add(behind.data());
  EXPECT_EQ(scan.mostHidden(256), 1 - 1.0 / 16);
  for (int row = 64; row < 256; ++row)
    scan.add(open.data());
  EXPECT_EQ(scan.mostHidden(256), 3.0 / 16);
  EXPECT_EQ(scan.mostHidden(256), scan.hidden());
}

/// Nothing is hidden by a mask where an extent is another.
void expectLeft(const std::string &mask, const std::string &extent, const std::string &other) {
  std::string text = softmaxWith(mask);
  for (size_t at; (at = text.find(extent)) != std::string::npos;)
    text.replace(at, extent.size(), other);
  Program program = parsed(text);
  Expected<Program> after = hideBlocks(program);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(printProgram(*after), printProgram(program));
}

/// Nothing comes of a mask of one block of columns that is no mask of zeros, of however many heads.
TEST(HiddenBlocks, StayWhereRowsHaveOneBlock) {
  expectLeft("cases { i < j: -inf; else: 0.5 }", "192", "49");
}

TEST(HiddenBlocks, StayWhereThereAreNoRows) {
  expectLeft("cases { i < j: -inf; else: 0.0 }", "128", "0");
}

TEST(HiddenBlocks, StayWhereFewAreHiddenOrOthersReadThem) {
  EXPECT_TRUE(tableOf(hidden(softmaxWith("cases { j < 3: -inf; else: 1.0 }"))).empty());
  std::string causal = "cases { i < j: -inf; else: 0.0 }";
  EXPECT_TRUE(tableOf(hidden(softmaxWith(causal, "output x\n"))).empty());
  EXPECT_TRUE(
      tableOf(hidden(softmaxWith(causal, "t[h:3, i:128] f32 = x[h, i, i]\noutput t\n"))).empty());
}

} // namespace kintsugi::derive
