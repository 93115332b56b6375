// Convolutions with few channels of results become products for all places of their windows along
// a dimension, and sums of those; what is computed stays the same.

#include "derive/split_windows.h"

#include "on_gpu.h"
#include "te/operations.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

SplitWindowsOptions onGpu() {
  SplitWindowsOptions options;
  options.schedule = onHopper();
  options.margin = -100; // Whatever it costs.
  return options;
}

SplitWindowsOptions onCpu() {
  SplitWindowsOptions options;
  options.schedule.machine = *machine::Machine::forLevel("x86-64-v3");
  options.margin = -100;
  return options;
}

Program split(const std::string &text, const SplitWindowsOptions &options = onGpu()) {
  Program after = splitWindows(parsed(text), options);
  Status status = after.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(after);
  return after;
}

/// The same values before and after, from small whole numbers, whose sums are exact.
void expectSplitAndEqual(const std::string &text) {
  Program before = parsed(text), after = split(text);
  ASSERT_EQ(after.nodes.size(), before.nodes.size() + 1) << printProgram(after);
  expectSameOfWholeNumbers(after, before, 4, 5);
}

size_t nodesOf(const std::string &text) { return split(text).nodes.size(); }

} // namespace

TEST(SplitWindows, OfConvolutions) {
  expectSplitAndEqual("input x[1, 8, 12, 14] f16\n"
                      "f[o:3, c:8, h:5, w:3] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 7) - 3)\n"
                      "y[n:1, o:3, i:8, j:12] f32 = sum<f32>[c:8, h:5, w:3] "
                      "f32(x[0, c, i+h, j+w]) * f32(f[o, c, h, w])\noutput y\n");
}

TEST(SplitWindows, OfSpreadWindowsAndOtherOrders) {
  expectSplitAndEqual("input x[20, 8] f16\n"
                      "f[w:3, c:8, o:4] f16 = f16(mod(i64(o + 2*c + 5*w), 5) - 2)\n"
                      "y[i:14, o:4] f32 = sum<f32>[w:3, c:8] "
                      "f32(x[i+3*w, c]) * f32(f[w, c, o])\noutput y\n");
}

TEST(SplitWindows, WithBorders) {
  expectSplitAndEqual("input x[1, 8, 12, 10] f16\n"
                      "f[o:3, c:8, h:5, w:3] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 7) - 3)\n"
                      "y[n:1, o:3, i:12, j:10] f32 = sum<f32>[c:8, h:5, w:3] "
                      "f32((x[0, c, i+h-2, j+w-1] | 2)) * f32(f[o, c, h, w])\noutput y\n");
}

TEST(SplitWindows, OfOneColumn) {
  expectSplitAndEqual("input x[1, 8, 12, 10] f16\n"
                      "f[c:8, h:5, w:3] f16 = f16(mod(i64(2*c + 3*h + 5*w), 7) - 3)\n"
                      "y[n:1, o:1, i:12, j:10] f32 = sum<f32>[c:8, h:5, w:3] "
                      "f32((x[0, c, i+h-2, j+w-1] | 0)) * f32(f[c, h, w])\noutput y\n");
}

TEST(SplitWindows, OfPhases) {
  // As a transposed convolution has them: what is not in the window is multiplied by 0.
  expectSplitAndEqual("input x[1, 8, 10] f16\n"
                      "f[c:8, w:9] f16 = f16(mod(i64(2*c + 5*w), 5) - 2)\n"
                      "y[n:1, i:8, p:3] f32 = sum<f32>[c:8, w:3] "
                      "f32(x[0, c, i+w]) * f32((f[c, p-3*w+6] | 0))\noutput y\n");
}

TEST(SplitWindows, OfTransposedConvolutionsWithinTheirPadding) {
  // Both dimensions at once: 4 * 4 points by 3 * 3 taps, where 5 * 5 quotients meet 2 * 2 taps in
  // each of 2 * 2 phases.
  std::string text =
      "input x[1, 8, 4, 4] f16\n"
      "f[c:8, o:64, h:3, w:3] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 5) - 2)\n"
      "x.padded[n:1, c:8, h:6, w:6] f16 = (x[0, c, h-1, w-1] | 0)\n"
      "f.phases[c:8, o:64, p:2, q:2, h:2, w:2] f16 = (f[c, o, p-2*h+2, q-2*w+2] | 0)\n"
      "y[n:1, o:64, i:5, j:5, p:2, q:2] f32 = sum<f32>[c:8, h:2, w:2] "
      "f32(x.padded[0, c, i+h, j+w]) * f32(f.phases[c, o, p, q, h, w])\noutput y\n";
  Program before = parsed(text);
  for (SplitWindowsOptions options : {onGpu(), onCpu()}) {
    Assumptions assumed;
    options.assumed = &assumed;
    Program after = split(text, options);
    ASSERT_EQ(after.nodes.size(), 3u) << printProgram(after);
    const auto &products = std::get<Definition>(after.nodes[1]);
    EXPECT_EQ(pointsOf(products.parallel), 4 * 4 * 64 * 3 * 3);
    EXPECT_EQ(pointsOf(products.reduction->iterators), 8);
    EXPECT_EQ(assumed.of("window-products"), 1u) << "x may be infinite where f.phases is 0";
    expectSameOfWholeNumbers(after, before, 4, 5);
  }
}

TEST(SplitWindows, OfGroups) {
  expectSplitAndEqual("input x[16, 12, 12] f16\n"
                      "f[c:16, o:2, h:5, w:5] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 5) - 2)\n"
                      "y[g:2, o:2, i:12, j:12] f32 = sum<f32>[c:8, h:5, w:5] "
                      "f32((x[8*g+c, i+h-2, j+w-2] | 0)) * f32(f[8*g+c, o, h, w])\noutput y\n");
}

TEST(SplitWindows, TellWhatZerosAreMultipliedWith) {
  auto assumptionsOf = [](const std::string &last) {
    Assumptions assumed;
    SplitWindowsOptions options = onGpu();
    options.assumed = &assumed;
    Program after =
        split("input x[2, 12] f32\nconst f[2, 2, 3] f32 = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, " +
                  last + "]\ny[i:12, o:2] f32 = sum<f32>[w:3, c:2] (x[c, i+w-1] | 0) * " +
                  "f[o, c, w]\noutput y\n",
              options);
    EXPECT_EQ(after.nodes.size(), 2u);
    return assumed.of("window-products");
  };
  EXPECT_EQ(assumptionsOf("3"), 0u);
  EXPECT_EQ(assumptionsOf("inf"), 1u);
}

TEST(SplitWindows, LeaveOthers) {
  std::string f = "f[o:4, c:8, w:3] f16 = f16(mod(i64(o + 2*c + 5*w), 5) - 2)\n";
  // Every second place, of which half of the products would be for nothing.
  EXPECT_EQ(nodesOf("input x[8, 31] f16\n" + f +
                    "y[o:4, i:15] f32 = sum<f32>[c:8, w:3] f32(x[c, 2*i+w]) * f32(f[o, c, w])\n"
                    "output y\n"),
            2u);
  // A channel each: no product of matrices comes of it.
  EXPECT_EQ(nodesOf("input x[8, 12, 10] f16\n"
                    "f[c:8, h:5, w:3] f16 = f16(mod(i64(2*c + 3*h + 5*w), 7) - 3)\n"
                    "y[c:8, i:8, j:8] f32 = sum<f32>[h:5, w:3] f32(x[c, i+h, j+w]) * "
                    "f32(f[c, h, w])\noutput y\n"),
            2u);
  // The window itself is the only sum.
  EXPECT_EQ(nodesOf("input x[32] f16\nf[o:4, w:9] f16 = f16(mod(i64(o + 5*w), 5) - 2)\n"
                    "y[o:4, i:24] f32 = sum<f32>[w:9] f32(x[i+w]) * f32(f[o, w])\noutput y\n"),
            2u);
  // Places of the window are summed by what is not.
  EXPECT_EQ(nodesOf("input x[42] f16\n" + f +
                    "y[o:4, i:32] f32 = sum<f32>[c:8, w:3] f32(x[i+w+c]) * f32(f[o, c, w])\n"
                    "output y\n"),
            2u);
  // Both factors are given.
  EXPECT_EQ(nodesOf("input x[8, 18] f16\ninput f[4, 8, 3] f16\n"
                    "y[o:4, i:16] f32 = sum<f32>[c:8, w:3] f32(x[c, i+w]) * f32(f[o, c, w])\n"
                    "output y\n"),
            1u);
}

TEST(SplitWindows, OfColumnsThatLeaveLanesEmpty) {
  auto along = [](int channels) {
    std::string o = std::to_string(channels);
    return "input x[1, 8, 12, 10] f32\n"
           "f[o:" +
           o +
           ", c:8, w:7] f32 = f32(mod(i64(o + 2*c + 5*w), 7) - 3)\n"
           "y[n:1, o:" +
           o +
           ", i:12, j:10] f32 = sum<f32>[c:8, w:7] (x[0, c, i, j+w-3] | 0) * "
           "f[o, c, w]\noutput y\n";
  };
  EXPECT_EQ(split(along(21), onCpu()).nodes.size(), 3u);
  EXPECT_EQ(split(along(24), onCpu()).nodes.size(), 2u);
}

TEST(SplitWindows, OnlyWhereThatIsQuicker) {
  SplitWindowsOptions options = onGpu();
  options.margin = SplitWindowsOptions().margin;
  auto convolution = [](const std::string &channels) {
    return "input x[1, 32, 232, 232] f16\nf[o:" + channels +
           ", c:32, h:9, w:9] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 7) - 3)\n"
           "y[n:1, i:224, j:224, o:" +
           channels +
           "] f32 = sum<f32>[c:32, h:9, w:9] f32(x[0, c, i+h, j+w]) * f32(f[o, c, h, w])\n"
           "output y\n";
  };
  EXPECT_EQ(split(convolution("3"), options).nodes.size(), 3u);
  EXPECT_EQ(split(convolution("64"), options).nodes.size(), 2u);
}

} // namespace kintsugi::derive
