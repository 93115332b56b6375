#include "derive/correlation.h"

#include "../te/testing.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::derive;

namespace {

std::optional<Correlation> find(const std::string &text) {
  te::Program program = te::parsed(text);
  return findCorrelation(program, std::get<te::Definition>(program.nodes[0]));
}

TEST(Correlation, FindsTheWindowsOfAConvolution) {
  std::optional<Correlation> found = find(R"(
input x[n:2, c:4, h:9, w:11] f32
input k[o:6, c:4, r:3, s:5] f32
y[n:2, o:6, h:9, w:11] f32 = sum<f32>[c:4, r:3, s:5] (x[n, c, h+r-1, w+s-2] | 0) * k[o, c, r, s]
output y
)");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->windows.size(), 2u);
  EXPECT_EQ(found->depth, 4);
  const Window &columns = found->windows[1];
  EXPECT_EQ(columns.output, 3u);
  EXPECT_EQ(columns.tap, 6u);
  EXPECT_EQ(columns.inputDimension, 3u);
  EXPECT_EQ(columns.dilation, 1);
  EXPECT_EQ(columns.offset, -2);
  EXPECT_EQ(columns.extent, 11);
  EXPECT_EQ(columns.taps, 5);
}

TEST(Correlation, FindsThemInAnyOrderAndDilated) {
  std::optional<Correlation> found = find(R"(
input x[h:12, c:4] f32
input k[r:3, c:4, o:6] f32
y[h:8, o:6] f32 = sum<f32>[r:3, c:4] k[r, c, o] * x[2*r+h, c]
output y
)");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->windows.size(), 1u);
  EXPECT_EQ(found->windows[0].dilation, 2);
  EXPECT_EQ(found->kernel.readValue().number, 1u);
}

TEST(Correlation, FindsPhasesOfTransposedConvolutions) {
  std::optional<Correlation> found = find(R"(
input x[c:4, h:10] f32
input k[c:4, o:6, r:4] f32
y[o:6, h:9, p:2] f32 = sum<f32>[c:4, r:2] x[c, h+r] * k[c, o, p-2*r+2]
output y
)");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->windows.size(), 1u);
  EXPECT_EQ(found->windows[0].taps, 2);
  EXPECT_EQ(found->depth, 4);
}

TEST(Correlation, LeavesWhatSlidesByMoreOrIsNoSumOfProducts) {
  // No filter, but a sum of what the window holds.
  EXPECT_FALSE(find(R"(
input x[h:10, c:2] f32
input k[c:2] f32
y[h:8] f32 = sum<f32>[r:3, c:2] x[h+r, c] * k[c]
output y
)"));
  // A stride.
  EXPECT_FALSE(find(R"(
input x[h:17] f32
input k[r:3] f32
y[h:8] f32 = sum<f32>[r:3] x[2*h+r] * k[r]
output y
)"));
  // The kernel differs from place to place.
  EXPECT_FALSE(find(R"(
input x[h:10] f32
input k[h:8, r:3] f32
y[h:8] f32 = sum<f32>[r:3] x[h+r] * k[h, r]
output y
)"));
  // Outside there are ones.
  EXPECT_FALSE(find(R"(
input x[h:8] f32
input k[r:3] f32
y[h:8] f32 = sum<f32>[r:3] (x[h+r-1] | 1) * k[r]
output y
)"));
  EXPECT_FALSE(find(R"(
input x[h:10] f32
input k[r:3] f32
y[h:8] f32 = max<f32>[r:3] x[h+r] * k[r]
output y
)"));
  EXPECT_FALSE(find(R"(
input x[m:8, k:10] f32
input w[k:10, n:8] f32
y[m:8, n:8] f32 = sum<f32>[k:10] x[m, k] * w[k, n]
output y
)"));
}

} // namespace
