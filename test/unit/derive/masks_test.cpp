// Masked attention over blocks computes what the dense form does, whatever the mask and however it
// is written; and it is taken only where it is right and pays.

#include "derive/masks.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "derive/mask_values.h"
#include "derive/walk_blocks.h"
#include "simplify/simplify.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {
namespace {

using namespace te;

/// How a model writes its mask; `mask` is its constant, 1 where it is open.
struct Form {
  const char *name;
  const char *type; ///< Of the constant.
  const char *score;
};

const Form forms[] = {
    {"infinity_added", "bool",
     "a[i0:12, i1:24] f32 = cases { mask[i0, i1]: 0; else: -inf }\n"
     "x[h:2, i:12, c:24] f32 = s[h, i, c] + a[i, c]"},
    {"lowest_added_first", "bool",
     "a[i0:12, i1:24] f32 = cases { mask[i0, i1]: 0; else: -3.4028235e+38 }\n"
     "x[h:2, i:12, c:24] f32 = a[i, c] + s[h, i, c]"},
    {"lowest_by_arithmetic", "f32",
     "x[h:2, i:12, c:24] f32 = s[h, i, c] + (1 - mask[i, c]) * -3.0e+38"},
    {"infinity_chosen", "bool",
     "x[h:2, i:12, c:24] f32 = cases { mask[i, c]: s[h, i, c]; else: -inf }"},
    {"lowest_chosen_by_its_opposite", "bool",
     "x[h:2, i:12, c:24] f32 = cases { not(mask[i, c]): -3.4028235e+38; else: s[h, i, c] }"},
};

/// An attention of 12 rows and 24 columns.
std::string attention(const Form &form, const std::vector<int> &mask, bool hasNaNGuard) {
  std::string values;
  for (int open : mask)
    values += (values.empty() ? "" : ", ") + (std::string(form.type) == "bool"
                                                  ? std::string(open ? "true" : "false")
                                                  : std::to_string(open));
  return "input q[h:2, i:12, d:4] f32\ninput k[h:2, d:4, c:24] f32\ninput v[h:2, c:24, d:5] f32\n"
         "const mask[12, 24] " +
         std::string(form.type) + " = [" + values +
         "]\ns[h:2, i:12, c:24] f32 = sum<f32>[d:4] q[h, i, d] * k[h, d, c]\n" + form.score +
         "\nm[h:2, i:12] f32 = max<f32>[c:24] x[h, i, c]\n"
         "e[h:2, i:12, c:24] f32 = exp(x[h, i, c] - m[h, i])\n"
         "t[h:2, i:12] f32 = sum<f32>[c:24] e[h, i, c]\n"
         "p[h:2, i:12, c:24] f32 = e[h, i, c] / t[h, i]\n" +
         (hasNaNGuard ? "g[h:2, i:12, c:24] bool = isnan(p[h, i, c])\n"
                        "w[h:2, i:12, c:24] f32 = cases { g[h, i, c]: 0; else: p[h, i, c] }\n"
                      : "w[h:2, i:12, c:24] f32 = p[h, i, c] * 0.5\n") +
         "o[h:2, i:12, d:5] f32 = sum<f32>[c:24] w[h, i, c] * v[h, c, d]\n"
         "y[i:12, z:10] f32 = o[z // 5, i, z % 5]\noutput y\n";
}

std::vector<int> randomMask(Chance &chance) {
  std::vector<int> mask(12 * 24);
  int64_t kind = chance.between(0, 3), width = chance.between(1, 8);
  for (int i = 0; i < 12; ++i) {
    bool hiddenRow = chance.oneIn(5);
    for (int c = 0; c < 24; ++c) {
      bool open = kind == 0   ? c <= 2 * i
                  : kind == 1 ? std::abs(c - 2 * i) < width
                  : kind == 2 ? ((i / 3 * 7 + c / 4 * 5) % 4 == 0)
                              : chance.oneIn(3);
      mask[24 * i + c] = open && !hiddenRow;
    }
  }
  return mask;
}

std::vector<ExactTensor> randomInputs(const Program &program, Chance &chance) {
  std::vector<ExactTensor> inputs;
  for (ValueId id : program.inputs) {
    ExactTensor tensor;
    tensor.type = ElementType::F32;
    int64_t count = 1;
    for (Extent extent : program.shape(id)) {
      tensor.shape.push_back(extent.constant());
      count *= extent.constant();
    }
    for (int64_t k = 0; k < count; ++k)
      tensor.floats.push_back(double(chance.between(-64, 64)) / 16);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void expectNear(llvm::ArrayRef<ExactTensor> found, llvm::ArrayRef<ExactTensor> wanted) {
  ASSERT_EQ(found[0].floats.size(), wanted[0].floats.size());
  for (auto [a, b] : llvm::zip(found[0].floats, wanted[0].floats)) {
    ASSERT_EQ(std::isnan(a), std::isnan(b));
    if (!std::isnan(a))
      ASSERT_NEAR(a, b, 1e-9);
  }
}

class MaskForms : public testing::TestWithParam<Form> {};

TEST_P(MaskForms, BlocksComputeWhatTheDenseFormDoes) {
  Chance chance(17);
  unsigned hidden = 0;
  for (int round = 0; round < 12; ++round) {
    Program program =
        simplify::simplify(parsed(attention(GetParam(), randomMask(chance), round % 2 == 0)));
    std::vector<MaskedRegion> regions = findMaskedRegions(program);
    ASSERT_EQ(regions.size(), 1u) << printProgram(program);
    std::optional<Mask> mask = maskOf(regions[0], program);
    ASSERT_TRUE(mask);
    std::vector<ExactTensor> inputs = randomInputs(program, chance);
    std::vector<ExactTensor> wanted = evaluated(program, inputs);
    for (auto [rows, columns] :
         {std::pair(1, 1), std::pair(3, 4), std::pair(4, 6), std::pair(12, 2), std::pair(2, 24)}) {
      auto blocks = std::make_shared<const BlockMask>(cutIntoBlocks(*mask, rows, columns));
      hidden += blocks->hiddenBlocks;
      Expected<WalkedProgram> walked = walkBlocks(program, {BlockedRegion{&regions[0], blocks}});
      ASSERT_TRUE(walked.ok());
      Program result = simplify::simplify(walked->program);
      Status status = result.verify();
      ASSERT_TRUE(status.ok()) << status.error().message << printProgram(result);
      SCOPED_TRACE(printProgram(result));
      expectNear(evaluated(result, inputs), wanted);
    }
  }
  EXPECT_GT(hidden, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Forms, MaskForms, testing::ValuesIn(forms),
                         [](const auto &info) { return std::string(info.param.name); });

/// No region, whatever is changed in a text that has one.
void expectNone(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  EXPECT_EQ(findMaskedRegions(parsed(text)).size(), 1u);
  text.replace(at, from.size(), to);
  EXPECT_EQ(findMaskedRegions(parsed(text)).size(), 0u) << text;
}

TEST(Masks, WhatNeedsHiddenElementsStaysDense) {
  std::string text = attention(forms[3], std::vector<int>(12 * 24, 1), false);
  expectNone(text, "output y", "output y\noutput p");
  expectNone(text, "output y", "output y\noutput e");
  expectNone(text, "exp(x[h, i, c] - m[h, i])", "tanh(x[h, i, c] - m[h, i])");
  expectNone(text, "p[h, i, c] * 0.5", "p[h, i, c] + 0.5");
  expectNone(text, "t[h:2, i:12] f32 = sum<f32>[c:24] e[h, i, c]",
             "t[h:2, i:12] f32 = max<f32>[c:24] e[h, i, c]");
  expectNone(text, "else: -inf", "else: -10000");
  expectNone(text, "w[h, i, c] * v[h, c, d]", "w[h, i, 23-c] * v[h, c, d]");
}

/// A constant that differs from place to place is no number that hides.
TEST(Masks, WhatIsChosenInsteadMayMove) {
  std::string text = attention(forms[3], std::vector<int>(12 * 24, 1), false);
  expectNone(text, "else: -inf", "i < 3: -inf; else: -3.0e+38");
}

TEST(Masks, FactsProveThatHiddenElementsHaveNoEffect) {
  std::string text = attention(forms[3], std::vector<int>(12 * 24, 1), false);
  EXPECT_FALSE(findMaskedRegions(parsed(text))[0].proved) << "v may be an infinity";
  std::string tame = text;
  tame.replace(tame.find("* v[h, c, d]"), 12, "* tanh(u[h, c, d])");
  tame.replace(tame.find("input v["), 8, "input u[");
  Program program = simplify::simplify(parsed(tame));
  EXPECT_FALSE(findMaskedRegions(program)[0].proved) << "tanh of NaN is NaN";
  tame.replace(tame.find("tanh(u[h, c, d])"), 16, "f32{(c + d) % 3}");
  EXPECT_TRUE(findMaskedRegions(simplify::simplify(parsed(tame)))[0].proved);
}

/// The rule for what facts can't rule out: a hidden block is not looked at, an open one is.
TEST(Masks, NaNsReachTheOutputFromOpenBlocksAlone) {
  std::vector<int> mask(12 * 24);
  for (int row = 0; row < 12; ++row)
    for (int column = 0; column < 24; ++column)
      mask[24 * row + column] = column < 12;
  Program program = parsed(attention(forms[0], mask, false));
  std::vector<MaskedRegion> regions = findMaskedRegions(program);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_FALSE(regions[0].proved);
  auto blocks =
      std::make_shared<const BlockMask>(cutIntoBlocks(*maskOf(regions[0], program), 4, 4));
  Expected<WalkedProgram> walked = walkBlocks(program, {BlockedRegion{&regions[0], blocks}});
  ASSERT_TRUE(walked.ok());
  for (int column : {3, 20}) {
    Chance chance(5);
    std::vector<ExactTensor> inputs = randomInputs(program, chance);
    for (int d = 0; d < 5; ++d)
      inputs[2].floats[column * 5 + d] = NAN;
    EXPECT_TRUE(std::isnan(evaluated(program, inputs)[0].floats[0])) << "0 * NaN, as written";
    EXPECT_EQ(std::isnan(evaluated(walked->program, inputs)[0].floats[0]), column == 3);
  }
}

/// A large attention whose mask is a function of positions.
std::string largeAttention(const std::string &open) {
  return "input q[h:2, i:512, d:32] f32\ninput k[h:2, d:32, c:512] f32\n"
         "input v[h:2, c:512, d:32] f32\n"
         "s[h:2, i:512, c:512] f32 = sum<f32>[d:32] q[h, i, d] * k[h, d, c]\n"
         "x[h:2, i:512, c:512] f32 = cases { " +
         open +
         ": s[h, i, c]; else: -inf }\n"
         "m[h:2, i:512] f32 = max<f32>[c:512] x[h, i, c]\n"
         "e[h:2, i:512, c:512] f32 = exp(x[h, i, c] - m[h, i])\n"
         "t[h:2, i:512] f32 = sum<f32>[c:512] e[h, i, c]\n"
         "p[h:2, i:512, c:512] f32 = e[h, i, c] / t[h, i]\n"
         "o[h:2, i:512, d:32] f32 = sum<f32>[c:512] p[h, i, c] * v[h, c, d]\noutput o\n";
}

std::vector<explain::Record> decisionsOf(const std::string &text) {
  Expected<machine::Machine> machine = machine::Machine::forLevel("x86-64-v4");
  EXPECT_TRUE(machine.ok());
  explain::Log log;
  MaskOptions options;
  options.space.schedule.machine = *machine;
  options.log = &log;
  Expected<Program> result = skipMaskedBlocks(simplify::simplify(parsed(text)), options);
  EXPECT_TRUE(result.ok() && result->verify().ok());
  return log.records();
}

TEST(Masks, ThePriceDecides) {
  std::vector<explain::Record> band = decisionsOf(largeAttention("i32{i // 32} == i32{c // 32}"));
  ASSERT_EQ(band.size(), 1u);
  EXPECT_EQ(band[0].decision.find("blocks of"), 0u) << band[0].decision;
  std::vector<explain::Record> little = decisionsOf(largeAttention("i32{c} < i32{510 + i // 256}"));
  ASSERT_EQ(little.size(), 1u);
  EXPECT_EQ(little[0].decision, "stays dense") << "no block is hidden";
  std::vector<explain::Record> corner = decisionsOf(largeAttention("i32{c} < i32{495 + i // 256}"));
  ASSERT_EQ(corner.size(), 1u);
  EXPECT_EQ(corner[0].decision, "stays dense") << "too few blocks are hidden";
}

} // namespace
} // namespace kintsugi::derive
