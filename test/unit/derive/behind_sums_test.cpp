// What a sum does not change is applied to its result; what is computed stays the same but for
// rounding.

#include "derive/behind_sums.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

std::vector<ExactTensor> randomInputs(const Program &program, Chance &chance) {
  std::vector<ExactTensor> inputs;
  for (ValueId id : program.inputs) {
    ExactTensor tensor{program.value(id).type, {}, {}, {}};
    int64_t count = 1;
    for (Extent extent : program.shape(id)) {
      tensor.shape.push_back(extent.constant());
      count *= extent.constant();
    }
    for (int64_t k = 0; k < count; ++k)
      tensor.floats.push_back(double(chance.between(-64, 64)) / 32);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Both rules, on a program that means the same afterwards. `hidden`: the first input's row that is
/// minus infinity.
Program moved(const std::string &text, std::optional<int64_t> hidden = std::nullopt) {
  Program program = parsed(text);
  Program after = divideBehindSums(moveScalesBehindSums(program));
  Status status = after.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(after);
  Chance chance(5);
  std::vector<ExactTensor> inputs = randomInputs(program, chance);
  if (hidden)
    for (int64_t k = 0, row = inputs[0].shape.back(); k < row; ++k)
      inputs[0].floats[*hidden * row + k] = -INFINITY;
  std::vector<ExactTensor> expected = evaluated(program, inputs), got = evaluated(after, inputs);
  for (size_t output = 0; output < got.size(); ++output)
    for (size_t k = 0; k < got[output].floats.size(); ++k) {
      double a = got[output].floats[k], b = expected[output].floats[k];
      if (std::isnan(b))
        EXPECT_TRUE(std::isnan(a)) << "at " << k;
      else
        EXPECT_NEAR(a, b, 4e-3) << "at " << k;
    }
  return after;
}

size_t countOf(const Program &program, const std::string &what) {
  std::string text = printProgram(program);
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

const std::string softmax = "m[i:5] f32 = max<f32>[j:6] x[i, j]\n"
                            "e[i:5, j:6] f32 = exp(x[i, j] - m[i])\n"
                            "z[i:5] f32 = sum<f32>[j:6] e[i, j]\n";
const std::string inputs = "input x[i:5, j:6] f32\ninput v[j:6, d:3] f16\n";
const std::string weighted = "y[i:5, d:3] f32 = sum<f32>[j:6] f32(w[i, j]) * f32(v[j, d])\n";

} // namespace

TEST(BehindSums, DividesASoftmax) {
  Program after = moved(inputs + softmax + "w[i:5, j:6] f16 = stored f16(e[i, j] / z[i])\n" +
                        weighted + "output y\n");
  EXPECT_EQ(countOf(after, "softmax_stats"), 1u);
  EXPECT_EQ(countOf(after, "max<f32>"), 0u);
  EXPECT_EQ(countOf(after, " / "), 1u);
  EXPECT_EQ(after.nodes.size(), 4u); // Stats, powers, their sum, the quotient.
}

TEST(BehindSums, RoundsWeightsForNarrowFactorsAlone) {
  std::string head = inputs + softmax, tail = "(e[i, j] / z[i])\n" + weighted + "output y\n";
  Program stored = parsed(head + "w[i:5, j:6] f16 = stored f16" + tail);
  EXPECT_EQ(countOf(divideBehindSums(stored), "stored f16(exp("), 1u);
  EXPECT_EQ(countOf(divideBehindSums(stored, /*narrowFactors=*/false), "f16(exp("), 0u);
  // What the model itself rounds stays rounded.
  Program cast = parsed(head + "w[i:5, j:6] f16 = f16" + tail);
  EXPECT_EQ(countOf(divideBehindSums(cast, /*narrowFactors=*/false), "f16(exp("), 1u);
}

TEST(BehindSums, KeepsZerosInPlaceOfNaN) {
  Program after =
      moved(inputs + softmax +
                "q[i:5, j:6] f32 = e[i, j] / z[i]\n"
                "n[i:5, j:6] bool = isnan(q[i, j])\n"
                "w[i:5, j:6] f16 = stored f16(cases { n[i, j]: 0.0; else: q[i, j] })\n" +
                weighted + "output y\n",
            2);
  EXPECT_EQ(countOf(after, "isnan"), 1u);
  EXPECT_EQ(after.nodes.size(), 4u);
  // Without them a row that is hidden as a whole is NaN.
  moved(inputs + softmax + "w[i:5, j:6] f16 = stored f16(e[i, j] / z[i])\n" + weighted +
            "output y\n",
        2);
}

TEST(BehindSums, LooksThroughNarrowStatistics) {
  Program after = moved(inputs + "m[i:5] f16 = max<f32>[j:6] x[i, j]\n"
                                 "e[i:5, j:6] f16 = stored f16(exp(x[i, j] - f32(m[i])))\n"
                                 "z[i:5] f16 = sum<f32>[j:6] f32(e[i, j])\n"
                                 "w[i:5, j:6] f16 = stored f16(f32(e[i, j]) / f32(z[i]))\n"
                                 "y[i:5, d:3] f16 = sum<f32>[j:6] f32(w[i, j]) * f32(v[j, d])\n"
                                 "output y\n");
  EXPECT_EQ(countOf(after, "softmax_stats"), 1u);
}

TEST(BehindSums, LeavesWhatIsNoSoftmaxOfTheSum) {
  // Weights that are an output, a divisor of other numbers, a maximum along the other way, weights
  // in f32, a sum over part of the weights.
  for (const std::string &text :
       {inputs + softmax + "w[i:5, j:6] f16 = stored f16(e[i, j] / z[i])\n" + weighted +
            "output y\noutput w\n",
        inputs + softmax + "o[i:5] f32 = sum<f32>[j:6] x[i, j]\n" +
            "w[i:5, j:6] f16 = stored f16(e[i, j] / o[i])\n" + weighted + "output y\n",
        inputs +
            "m[j:6] f32 = max<f32>[i:5] x[i, j]\n"
            "e[i:5, j:6] f32 = exp(x[i, j] - m[j])\n"
            "z[i:5] f32 = sum<f32>[j:6] e[i, j]\n"
            "w[i:5, j:6] f16 = stored f16(e[i, j] / z[i])\n" +
            weighted + "output y\n",
        "input x[i:5, j:6] f32\ninput v[j:6, d:3] f32\n" + softmax +
            "w[i:5, j:6] f32 = e[i, j] / z[i]\n"
            "y[i:5, d:3] f32 = sum<f32>[j:6] w[i, j] * v[j, d]\noutput y\n",
        inputs + softmax +
            "w[i:5, j:6] f16 = stored f16(e[i, j] / z[i])\n"
            "y[i:5, d:3] f32 = sum<f32>[j:4] f32(w[i, j]) * f32(v[j, d])\noutput y\n"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(countOf(moved(text), "softmax_stats"), 0u);
  }
}

TEST(BehindSums, ScalesASum) {
  std::string rest = "s[i:4, j:6] f32 = sum<f32>[k:3] f32(a[i, k]) * f32(b[j, k])\noutput s\n";
  std::string head = "input q[i:4, k:3] f16\ninput p[j:6, k:3] f16\ninput c[] f32\n";
  Program after = moved(head + "a[i:4, k:3] f16 = stored f16(f32(q[i, k]) * c[])\n" +
                        "b[j:6, k:3] f16 = stored f16(c[] * f32(p[j, k]))\n" + rest);
  EXPECT_EQ(after.nodes.size(), 2u);
  EXPECT_EQ(countOf(after, "c[] * c[]"), 1u);
  // A rounding that the model asks for, and a scale that differs from term to term, stay.
  EXPECT_EQ(moved(head +
                  "a[i:4, k:3] f16 = f16(f32(q[i, k]) * c[])\n"
                  "b[j:6, k:3] f16 = f16(f32(p[j, k]) * c[])\n" +
                  rest)
                .nodes.size(),
            3u);
  EXPECT_EQ(moved("input q[i:4, k:3] f16\ninput b[j:6, k:3] f16\ninput c[k:3] f32\n"
                  "a[i:4, k:3] f16 = stored f16(f32(q[i, k]) * c[k])\n" +
                  rest)
                .nodes.size(),
            2u);
  // A product of one row is scaled alike.
  Program row = moved("input q[k:3] f16\ninput b[j:6, k:3] f16\ninput c[] f32\n"
                      "a[k:3] f16 = stored f16(f32(q[k]) * c[])\n"
                      "s[j:6] f32 = sum<f32>[k:3] f32(a[k]) * f32(b[j, k])\noutput s\n");
  EXPECT_EQ(countOf(row, "s.unscaled"), 2u) << printProgram(row);
}

} // namespace kintsugi::derive
