#include "te/open_sums.h"

#include "te/constant.h"
#include "te/interpreter.h"
#include "te/printer.h"
#include "te/same_at_size.h"
#include "testing.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

const OpenDimension ofFour = {"n", 1, 4};

Program ofSize(int64_t size, std::string text) {
  for (size_t at; (at = text.find('N')) != std::string::npos;)
    text.replace(at, 1, std::to_string(size));
  return parsed(text);
}

/// The program of a text with 4 steps, N, whose sums end at the size.
Program bounded(const std::string &text) {
  Program greatest = ofSize(4, text);
  SizedNumbers numbers;
  for (int64_t size = 1; size < 4; ++size) {
    Program smaller = ofSize(size, text);
    std::vector<OpenSum> sums = openSums(greatest, smaller);
    OpenInputs inputs{ofFour, {}};
    for (ValueId input : greatest.inputs) {
      bool isOpen = greatest.shape(input) != smaller.shape(input);
      inputs.inputs.push_back(isOpen ? Validity::steps(0, 1) : Validity());
    }
    EXPECT_EQ(differenceAtSize(greatest, smaller, validityOf(greatest, inputs, sums), sums, ofFour,
                               size, &numbers),
              std::nullopt);
  }
  std::vector<OpenSum> sums = openSums(greatest, ofSize(2, text));
  return withSizes(greatest, {{sums, numbers, ofFour}});
}

unsigned conditionsIn(const Program &program) {
  std::string text = printProgram(program);
  unsigned count = 0;
  for (size_t at = 0; (at = text.find("< n[]", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

TEST(OpenSums, OfTwoDimensionsEndAtTheirOwnSizes) {
  auto ofSizes = [](int64_t rows, int64_t places) {
    return parsed("input x[i:" + std::to_string(rows) + ", j:" + std::to_string(places) +
                  "] f32\ny[i:" + std::to_string(rows) +
                  "] f32 = sum<f32>[j:" + std::to_string(places) +
                  "] x[i, j]\nz[] f32 = sum<f32>[i:" + std::to_string(rows) +
                  "] y[i] * y[i]\noutput y\noutput z\n");
  };
  Program greatest = ofSizes(4, 6);
  std::vector<OpenSum> ofRows = openSums(greatest, ofSizes(2, 6)),
                       ofPlaces = openSums(greatest, ofSizes(4, 3));
  EXPECT_EQ(ofRows, (std::vector<OpenSum>{{1, 0}}));
  EXPECT_EQ(ofPlaces, (std::vector<OpenSum>{{0, 1}}));
  const SizedNumbers noNumbers;
  const OpenDimension rows = {"n", 1, 4}, places = {"m", 1, 6};
  Program sized = withSizes(greatest, {{ofRows, noNumbers, rows}, {ofPlaces, noNumbers, places}});
  ASSERT_TRUE(sized.verify().ok());
  ASSERT_EQ(sized.inputs.size(), 3u);
  EXPECT_EQ(sized.value(sized.inputs[1]).name, "n");
  EXPECT_EQ(sized.value(sized.inputs[2]).name, "m");
  // Whatever lies behind either size, sums are of what lies before both.
  for (int64_t n = 1; n <= 4; ++n)
    for (int64_t m = 1; m <= 6; ++m) {
      std::vector<ExactTensor> inputs(3);
      inputs[0].type = ElementType::F32;
      inputs[1].type = inputs[2].type = ElementType::I64;
      inputs[0].shape = {4, 6};
      double sum = 0;
      for (int64_t i = 0; i < 4; ++i) {
        double row = 0;
        for (int64_t j = 0; j < 6; ++j) {
          bool isBehind = i >= n || j >= m;
          inputs[0].floats.push_back(isBehind ? 1000 : double(i + 2 * j));
          row += isBehind ? 0 : double(i + 2 * j);
        }
        sum += row * row;
      }
      inputs[1].integers = {n};
      inputs[2].integers = {m};
      EXPECT_EQ(evaluated(sized, inputs)[1].floats[0], sum) << n << " " << m;
    }
}

TEST(OpenSums, AreThoseWhoseExtentsDiffer) {
  std::string text = "input x[i:N, j:6] f32\ny[i:N] f32 = sum<f32>[j:6] x[i, j]\n"
                     "z[j:6] f32 = sum<f32>[i:N] x[i, j]\noutput y\noutput z\n";
  EXPECT_EQ(openSums(ofSize(4, text), ofSize(2, text)), (std::vector<OpenSum>{{1, 1}}));
}

const char attention[] = R"(input q[i:N, d:6] f32
input k[j:N, d:6] f32
input v[j:N, d:6] f32
s[i:N, j:N] f32 = sum<f32>[d:6] q[i, d] * k[j, d]
a[i:N, j:N] f32 = s[i, j] * 0.5
m[i:N] f32 = max<f32>[j:N] a[i, j]
e[i:N, j:N] f32 = exp(a[i, j] - m[i])
l[i:N] f32 = sum<f32>[j:N] e[i, j]
p[i:N, j:N] f32 = e[i, j] / l[i]
o[i:N, d:6] f32 = sum<f32>[j:N] p[i, j] * v[j, d]
output o
)";

/// One hides the scores, which makes the rest zero, and one what is multiplied by that.
TEST(OpenSums, OfAttentionNeedTwoConditions) {
  Program program = bounded(attention);
  EXPECT_TRUE(program.verify().ok());
  EXPECT_EQ(conditionsIn(program), 2u) << printProgram(program);
}

/// Weights that are NaN become zero, as exporters write it.
std::string guarded() {
  std::string text = attention;
  size_t sum = text.find("o[i:N");
  text.insert(sum, "b[i:N, j:N] bool = isnan(p[i, j])\n"
                   "w[i:N, j:N] f32 = cases { b[i, j]: 0; else: p[i, j] }\n");
  return text.replace(text.find("p[i, j] * v"), 7, "w[i, j]");
}

TEST(OpenSums, OfGuardedAttentionNeedNoMore) {
  Program program = bounded(guarded());
  EXPECT_TRUE(program.verify().ok());
  EXPECT_EQ(conditionsIn(program), 2u) << printProgram(program);
}

TEST(OpenSums, KeepTheirTermsWhereReadsDontHideThem) {
  std::string rows = "input x[i:N, j:6] f32\ninput c[j:6] f32\n";
  for (const char *body : {"y[j:6] f32 = sum<f32>[i:N] exp(x[i, j])\noutput y\n",
                           "y[j:6] f32 = prod<f32>[i:N] x[i, j] + 1\noutput y\n",
                           "y[j:6] f32 = max<f32>[i:N] abs(x[i, j])\noutput y\n"}) {
    Program program = bounded(rows + body);
    EXPECT_TRUE(program.verify().ok());
    EXPECT_NE(printProgram(program).find("cases { i < n[]:"), std::string::npos)
        << printProgram(program);
  }
}

/// Inputs whose rows are steps, of the greatest size: numbers up to `size`, and NaN behind it.
std::vector<ExactTensor> inputsUpTo(int64_t size, const Program &program) {
  std::vector<ExactTensor> result;
  int64_t salt = 0;
  for (ValueId input : llvm::ArrayRef(program.inputs)) {
    std::vector<int64_t> shape = plainShape(program.shape(input));
    if (shape.empty()) {
      result.push_back(integers(ElementType::I64, {}, {size}));
      continue;
    }
    std::vector<double> elements;
    for (int64_t i = 0; i < shape[0] * shape[1]; ++i, salt = (salt * 37 + 11) % 101)
      elements.push_back(i < size * shape[1] ? double(salt) / 64 - 0.5 : std::nan(""));
    result.push_back(floats(shape, elements));
  }
  return result;
}

/// `whole` at a size, as far as that goes, and `part`, whose inputs are its first rows.
void expectSameBefore(const Program &whole, const Program &part, int64_t size) {
  std::vector<ExactTensor> feeds = inputsUpTo(size, whole);
  std::vector<ExactTensor> first = feeds;
  first.pop_back();
  for (auto [feed, input] : llvm::zip_equal(first, part.inputs)) {
    feed.shape = plainShape(part.shape(input));
    feed.floats.resize(size * feed.shape[1]);
  }
  std::vector<ExactTensor> all = evaluated(whole, feeds), wanted = evaluated(part, first);
  ASSERT_EQ(all.size(), 1u);
  all[0].shape = wanted[0].shape;
  all[0].floats.resize(wanted[0].floats.size());
  all[0].integers.resize(wanted[0].integers.size());
  expectSame(all[0], wanted[0]);
}

/// At each size, with what may be anything behind it.
TEST(OpenSums, AreWhatTheModelSays) {
  const std::string others[] = {
      "input x[i:N, j:6] f32\ny[j:6] f32 = sum<f32>[i:N] x[i, j]\noutput y\n",
      "input x[i:N, j:6] f32\ny[j:6] f32 = min<f32>[i:N] x[i, j]\noutput y\n",
      "input x[i:N, j:6] f32\ny[j:6] f32 = prod<f32>[i:N] x[i, j] + 1\noutput y\n",
      "input x[i:N, j:6] f32\ny[] f32 = sum<f32>[i:N, j:6] x[i, j] * x[i, j]\noutput y\n",
      "input x[i:N, j:6] f32\ny[] f32 = sum<f32>[i:N, k:N] x[i, 0] * x[k, 1]\noutput y\n",
      "input x[i:N, j:6] f32\nr[r:N, j:6] f32 = x[r, j]\n"
      "y[j:6] i64 = argmax<f32>[i:N] (r[i, j], i)\noutput y\n",
      "input x[i:N, j:6] f32\ns[j:6] f32 = sum<f32>[i:N] x[i, j]\n"
      "y[i:N, j:6] f32 = (x[i, j] - s[j] / N) * exp(-N + x[i, j])\noutput y\n",
      attention,
      guarded()};
  for (const std::string &text : others) {
    Program whole = bounded(text);
    for (int64_t size = 1; size <= 4; ++size) {
      Program part = ofSize(size, text);
      expectSameBefore(whole, part, size);
    }
  }
}

} // namespace
