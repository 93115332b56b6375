#include "derive/derive_winograd.h"
#include "derive/winograd.h"

#include "../te/testing.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace kintsugi;
using namespace kintsugi::derive;
using namespace kintsugi::te;

namespace {

std::vector<Tensor> randomInputs(const Program &program) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Tensor> feeds;
  for (ValueId input : program.inputs) {
    std::vector<int64_t> shape;
    for (Extent extent : program.shape(input))
      shape.push_back(extent.constant());
    Expected<Tensor> tensor = Tensor::create(ElementType::F32, shape);
    EXPECT_TRUE(tensor.ok());
    for (float &x : tensor->as<float>())
      x = uniform(random);
    feeds.push_back(std::move(*tensor));
  }
  return feeds;
}

std::vector<Tensor> run(const Program &program) {
  std::vector<Tensor> feeds = randomInputs(program);
  std::vector<TensorView> views;
  for (const Tensor &feed : feeds)
    views.push_back(feed.view());
  Expected<std::vector<Tensor>> results = interpret(program, views);
  EXPECT_TRUE(results.ok()) << results.error().message;
  return std::move(*results);
}

void expectEqual(const Program &before, const Program &after) {
  ASSERT_TRUE(after.verify().ok()) << printProgram(after);
  std::vector<Tensor> expected = run(before), results = run(after);
  for (auto [a, b] : llvm::zip_equal(expected, results))
    for (auto [x, y] : llvm::zip_equal(a.as<float>(), b.as<float>()))
      ASSERT_NEAR(x, y, 2e-4) << printProgram(after);
}

struct Case {
  const char *name;
  const char *text;
};

const Case cases[] = {
    {"padded", R"(
input x[n:2, c:3, h:7, w:10] f32
input k[o:5, c:3, r:3, s:3] f32
y[n:2, o:5, h:7, w:10] f32 = sum<f32>[c:3, r:3, s:3] (x[n, c, h+r-1, w+s-1] | 0) * k[o, c, r, s]
output y
)"},
    {"channels_last_without_padding", R"(
input x[h:11, w:8, c:3] f32
input k[r:3, s:3, c:3, o:4] f32
y[h:9, w:6, o:4] f32 = sum<f32>[r:3, s:3, c:3] x[h+r, w+s, c] * k[r, s, c, o]
output y
)"},
    {"dilated", R"(
input x[h:14, w:9, c:2] f32
input k[o:3, c:2, r:3, s:3] f32
y[h:14, w:9, o:3] f32 = sum<f32>[c:2, r:3, s:3] (x[h+2*r-2, w+3*s-3, c] | 0) * k[o, c, r, s]
output y
)"},
    {"grouped", R"(
input x[c:6, h:8, w:8] f32
input k[o:4, c:3, r:3, s:3] f32
y[o:4, h:8, w:8] f32 = sum<f32>[c:3, r:3, s:3] (x[3*(o//2)+c, h+r-1, w+s-1] | 0) * k[o, c, r, s]
output y
)"},
    {"one_dimension_of_five_taps", R"(
input x[c:4, t:20] f32
input k[o:3, c:4, r:5] f32
y[o:3, t:17] f32 = sum<f32>[c:4, r:5] (x[c, t+r-1] | 0) * k[o, c, r]
output y
)"},
    {"taps_of_two_kinds", R"(
input x[c:4, h:9, w:13] f32
input k[o:3, c:4, r:3, s:5] f32
y[o:3, h:7, w:9] f32 = sum<f32>[c:4, r:3, s:5] x[c, h+r, w+s] * k[o, c, r, s]
output y
)"},
    {"one_window_stays", R"(
input x[c:4, h:9, w:13] f32
input k[o:3, c:4, r:2, s:3] f32
y[o:3, h:8, w:11] f32 = sum<f32>[c:4, r:2, s:3] x[c, h+r, w+s] * k[o, c, r, s]
output y
)"},
    {"two_taps", R"(
input x[c:3, h:8, t:9] f32
input k[o:4, c:3, s:3, r:4] f32
y[o:4, h:8, t:9] f32 = sum<f32>[c:3, r:2, s:3] (x[c, h+s-1, t+r-1] | 0) * k[o, c, s, r+1]
output y
)"},
    {"phases_of_a_transposed_convolution", R"(
input x[c:3, h:6, w:9] f32
input k[c:3, o:4, r:4, s:4] f32
y[o:4, h:5, w:8, a:2, b:2] f32 = sum<f32>[c:3, r:2, s:2] x[c, h+r, w+s] * k[c, o, a-2*r+2, b-2*s+2]
output y
)"},
    {"groups_in_one_dimension_of_the_kernel", R"(
input x[g:2, c:3, h:7] f32
input k[o:8, c:3, r:3] f32
y[g:2, o:4, h:7] f32 = sum<f32>[c:3, r:3] (x[g, c, h+r-1] | 0) * k[4*g+o, c, r]
output y
)"},
    {"transposed_result", R"(
input x[h:8, w:6, c:3] f32
input k[o:4, c:3, r:3, s:3] f32
y[w:6, o:4, h:8] f32 = sum<f32>[c:3, r:3, s:3] (x[h+r-1, w+s-1, c] | 0) * k[o, c, r, s]
output y
)"},
};

class WinogradTest : public testing::TestWithParam<Case> {};

/// Each algorithm for each window that it fits, and for all of them.
TEST_P(WinogradTest, AgreesWithTheSum) {
  Program program = parsed(GetParam().text);
  std::optional<Correlation> correlation =
      findCorrelation(program, std::get<Definition>(program.nodes[0]));
  ASSERT_TRUE(correlation);
  unsigned ways = 0;
  for (unsigned chosen = 1; chosen < 1u << correlation->windows.size(); ++chosen)
    for (bool wide : {false, true}) {
      llvm::SmallVector<Step, 3> steps;
      for (auto [number, window] : llvm::enumerate(correlation->windows))
        if (chosen >> number & 1) {
          const BilinearAlgorithm *fits = nullptr;
          for (const BilinearAlgorithm &algorithm : bilinearAlgorithms())
            if (algorithm.taps == window.taps && (!fits || wide))
              fits = &algorithm;
          if (fits)
            steps.push_back({window, fits});
        }
      bool all = steps.size() == correlation->windows.size();
      if (steps.empty() || (!all && correlation->input.readFill()))
        continue;
      simplify::Rebuilder rebuilder(program);
      SharedPoints shared;
      addBilinear(rebuilder, 0, *correlation, steps, shared);
      expectEqual(program, rebuilder.finish());
      ++ways;
    }
  EXPECT_GE(ways, 2u);
}

INSTANTIATE_TEST_SUITE_P(Programs, WinogradTest, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

machine::Machine machineOfTwoCores() {
  machine::Machine machine = *machine::Machine::forLevel("x86-64-v4");
  machine.cores = 2;
  machine.vectorBits = 512;
  machine.vectorRegisters = 32;
  machine.flopsPerSecond = 2e11;
  return machine;
}

Program convolution(int64_t size, int64_t channels, const char *read) {
  std::string n = std::to_string(size), c = std::to_string(channels);
  return parsed("input x[h:" + n + ", w:" + n + ", c:" + c + "] f32\nconst k[o:" + c + ", c:" + c +
                ", r:3, s:3] f32 = weights(\"k\")\np[h:" + n + ", w:" + n + ", o:" + c +
                "] f32 = sum<f32>[c:" + c + ", r:3, s:3] " + read + " * k[o, c, r, s]\noutput p\n");
}

TEST(DeriveWinograd, ReplacesDeepConvolutionsAndSaysSo) {
  explain::Log log;
  WinogradOptions options;
  options.schedule.machine = machineOfTwoCores();
  options.log = &log;
  Program deep = convolution(32, 128, "(x[h+r-1, w+s-1, c] | 0)");
  Program derived = deriveWinograd(deep, options);
  EXPECT_GT(derived.nodes.size(), 5u);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log.records()[0].subject, "value 'p'");
}

TEST(DeriveWinograd, LeavesWhatIsShallowOrSlidesByMore) {
  WinogradOptions options;
  options.schedule.machine = machineOfTwoCores();
  Program shallow = convolution(32, 4, "(x[h+r-1, w+s-1, c] | 0)");
  EXPECT_EQ(deriveWinograd(shallow, options).nodes.size(), 1u);
  Program strided = convolution(32, 128, "(x[2*h+r-1, 2*w+s-1, c] | 0)");
  EXPECT_EQ(deriveWinograd(strided, options).nodes.size(), 1u);
}

TEST(DeriveWinograd, LeavesInputsThatMoreThanWindowsLeave) {
  auto nodesOf = [](const std::string &rows, const std::string &read) {
    WinogradOptions options;
    options.schedule.machine = machineOfTwoCores();
    Program program = parsed("input x[n:2, h:32, w:32, c:128] f32\n"
                             "const k[o:128, c:128, r:3, s:3] f32 = weights(\"k\")\n"
                             "p[n:2, " +
                             rows + ", w:32, o:128] f32 = sum<f32>[c:128, r:3, s:3] " + read +
                             " * k[o, c, r, s]\noutput p\n");
    Program derived = deriveWinograd(program, options);
    EXPECT_TRUE(derived.verify().ok());
    return derived.nodes.size();
  };
  EXPECT_GT(nodesOf("h:32", "(x[n, h+r-1, w+s-1, c] | 0)"), 1u);
  EXPECT_EQ(nodesOf("h:32", "(x[n-1, h+r-1, w+s-1, c] | 0)"), 1u);
  EXPECT_EQ(nodesOf("h:17", "(x[n, 2*h+r-1, w+s-1, c] | 0)"), 1u);
  // Its first rows, or its last ones, have nothing of the input.
  EXPECT_EQ(nodesOf("h:34", "(x[n, h+r-3, w+s-1, c] | 0)"), 1u);
  EXPECT_EQ(nodesOf("h:34", "(x[n, h+r-1, w+s-1, c] | 0)"), 1u);
}

/// A copy that is padded where no window slides stays.
TEST(DeriveWinograd, ReadsCopiesThatArePaddedElsewhere) {
  Program program = parsed(R"(
input x[h:32, w:32, c:128] f32
const k[o:128, c:128, r:3, s:3] f32 = weights("k")
p[n:2, h:34, w:34, c:128] f32 = (x[h-1, w-1, c+128*n-128] | 0)
q[n:3, h:34, w:34, c:128] f32 = (p[n-1, h, w, c] | 0)
y[n:3, h:32, w:32, o:128] f32 = sum<f32>[c:128, r:3, s:3] q[n, h+r, w+s, c] * k[o, c, r, s]
output y
)");
  WinogradOptions options;
  options.schedule.machine = machineOfTwoCores();
  Program derived = deriveWinograd(program, options);
  EXPECT_GT(derived.nodes.size(), 6u);
  EXPECT_TRUE(derived.verify().ok());
}

/// What points of a kernel take is what they have, however the kernel is read.
TEST(DeriveWinograd, CountsTheBytesOfPoints) {
  WinogradOptions options;
  options.schedule.machine = machineOfTwoCores();
  Program program = parsed(R"(
input x[n:64, h:32, w:32, c:128] f32
const k[m:2, o:128, c:128, r:3, s:3] f32 = weights("k")
y[n:64, h:32, w:32, o:128] f32 = sum<f32>[c:128, r:3, s:3] (x[n, h+r-1, w+s-1, c] | 0) * k[n%2, o, c, r, s]
output y
)");
  Program derived = deriveWinograd(program, options);
  EXPECT_GT(derived.nodes.size(), 5u);
  for (const Value &value : derived.values)
    if (value.name.find("kernel_points") != std::string::npos) {
      int64_t elements = 1;
      for (Extent extent : value.shape)
        elements *= extent.constant();
      EXPECT_LE(elements, 2 * 128 * 128 * 36);
    }
}

/// Two convolutions over one input bring it to points once.
TEST(DeriveWinograd, SharesThePointsOfAnInput) {
  auto branches = [](const char *second) {
    return parsed(std::string(R"(
input x[h:32, w:32, c:128] f32
const k[o:128, c:128, r:3, s:3] f32 = weights("k")
const l[o:128, c:128, r:3, s:3] f32 = weights("l")
p[h:32, w:32, o:128] f32 = sum<f32>[c:128, r:3, s:3] (x[h+r-1, w+s-1, c] | 0) * k[o, c, r, s]
q[h:32, w:32, o:128] f32 = sum<f32>[c:128, r:3, s:3] )") +
                  second + " * l[o, c, r, s]\noutput p\noutput q\n");
  };
  auto transforms = [](const Program &program) {
    WinogradOptions options;
    options.schedule.machine = machineOfTwoCores();
    Program derived = deriveWinograd(program, options);
    EXPECT_TRUE(derived.verify().ok());
    return llvm::count_if(derived.values, [](const Value &value) {
      return value.name.find("input_points") != std::string::npos;
    });
  };
  EXPECT_EQ(transforms(branches("(x[h+r-1, w+s-1, c] | 0)")), 2); // Rows, then columns.
  EXPECT_EQ(transforms(branches("(x[h+r-2, w+s-1, c] | 0)")), 4);
}

/// What only padded is not computed any more, unless someone else reads it.
TEST(DeriveWinograd, SlidesOverWhatWasPadded) {
  const char *text = R"(
input x[h:32, w:32, c:128] f32
const k[o:128, c:128, r:3, s:3] f32 = weights("k")
p[h:34, w:34, c:128] f32 = (x[h-1, w-1, c] | 0)
y[h:32, w:32, o:128] f32 = sum<f32>[c:128, r:3, s:3] p[h+r, w+s, c] * k[o, c, r, s]
output y
)";
  WinogradOptions options;
  options.schedule.machine = machineOfTwoCores();
  Program program = parsed(text);
  Program derived = deriveWinograd(program, options);
  EXPECT_GT(derived.nodes.size(), 5u);
  for (const Value &value : derived.values)
    EXPECT_NE(value.name, "p");
  Program both = parsed(std::string(text) + "output p\n");
  bool kept = false;
  for (const Value &value : deriveWinograd(both, options).values)
    kept |= value.name == "p";
  EXPECT_TRUE(kept);
}

} // namespace
