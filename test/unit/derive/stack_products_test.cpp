// Products of one value with several constants become one product with all of them; what is
// computed stays the same.

#include "derive/stack_products.h"

#include "on_gpu.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

StackOptions onGpu() {
  StackOptions options;
  options.schedule = onHopper();
  options.schedule.ringLimit = 220 << 10;
  options.margin = -1; // Whatever it costs.
  return options;
}

Program stacked(const std::string &text) {
  Program after = stackProducts(parsed(text), onGpu());
  Status status = after.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(after);
  return after;
}

/// How many sums of products of matrices there are.
unsigned productsOf(const Program &program) {
  unsigned products = 0;
  for (const Node &node : program.nodes)
    if (const auto *definition = std::get_if<Definition>(&node))
      products += definition->isReduction();
  return products;
}

/// The same values before and after, from small whole numbers, whose sums are exact.
void expectEqual(const std::string &text, unsigned products) {
  Program before = parsed(text), after = stacked(text);
  EXPECT_EQ(productsOf(after), products) << printProgram(after);
  expectSameOfWholeNumbers(after, before, 4, 11);
}

// Values of constants come from their places.
const std::string weights = "input x[32, 64] f16\n"
                            "a[k:64, j:64] f16 = f16(mod(i64(5*k + 3*j), 7) - 3)\n"
                            "b[k:64, j:96] f16 = f16(mod(i64(2*k + 5*j), 5) - 2)\n"
                            "c[j:96] f16 = f16(mod(i64(j), 3))\n"
                            "d[j:64] f16 = f16(mod(i64(j), 5))\n";

/// Readers of other elements than those that they make.
const std::string turned = "y[j:64, i:32] f16 = p[i, j]\nz[j:96, i:32] f16 = q[i, j]\n"
                           "output y\noutput z\n";

} // namespace

TEST(StackProducts, WithWhatFollowsAlike) {
  expectEqual(weights +
                  "s[i:32, j:64] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(a[k, j])\n"
                  "t[i:32, j:96] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(b[k, j])\n"
                  "p[i:32, j:64] f16 = f16(max(s[i, j] + f32(d[j]), 0))\n"
                  "q[i:32, j:96] f16 = f16(max(t[i, j] + f32(c[j]), 0))\n" +
                  turned,
              1);
}

TEST(StackProducts, OfConvolutions) {
  expectEqual("input x[1, 16, 10, 10] f16\n"
              "a[o:32, c:16, h:3, w:3] f16 = f16(mod(i64(o + 2*c + 3*h + w), 5) - 2)\n"
              "b[o:48, c:16, h:3, w:3] f16 = f16(mod(i64(3*o + c + h + 2*w), 7) - 3)\n"
              "p[n:1, o:32, y:8, z:8] f32 = sum<f32>[c:16, h:3, w:3] f32(x[0, c, y+h, z+w]) * "
              "f32(a[o, c, h, w])\n"
              "q[n:1, o:48, y:8, z:8] f32 = sum<f32>[c:16, h:3, w:3] f32(x[0, c, y+h, z+w]) * "
              "f32(b[o, c, h, w])\n"
              "u[y:8, o:32, z:8] f16 = f16(p[0, o, y, z])\n"
              "v[y:8, o:48, z:8] f16 = f16(q[0, o, y, z])\n"
              "output u\noutput v\n",
              1);
}

TEST(StackProducts, LeavesWhatOthersShareTheKernelOf) {
  // A gate and what it lets through meet point by point.
  EXPECT_EQ(productsOf(stacked("input x[32, 64] f16\n"
                               "a[k:64, j:64] f16 = f16(mod(i64(5*k + 3*j), 7) - 3)\n"
                               "b[k:64, j:64] f16 = f16(mod(i64(2*k + 5*j), 5) - 2)\n"
                               "s[i:32, j:64] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(a[k, j])\n"
                               "t[i:32, j:64] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(b[k, j])\n"
                               "y[i:32, j:64] f16 = f16(max(s[i, j], 0) * t[i, j])\noutput y\n")),
            2u);
}

TEST(StackProducts, LeavesWhatDiffersInMoreThanConstants) {
  std::string product = "s[i:32, j:64] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(a[k, j])\n";
  // Another activation.
  EXPECT_EQ(productsOf(stacked(weights + product +
                               "t[i:32, j:96] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(b[k, j])\n"
                               "p[i:32, j:64] f16 = f16(max(s[i, j], 0))\n"
                               "q[i:32, j:96] f16 = f16(min(t[i, j], 0))\n" +
                               turned)),
            2u);
  // Another value.
  EXPECT_EQ(
      productsOf(stacked(weights + "w[i:32, k:64] f16 = f16(f32(x[i, k]) * 2)\n" + product +
                         "t[i:32, j:96] f32 = sum<f32>[k:64] f32(w[i, k]) * f32(b[k, j])\n"
                         "p[i:32, j:64] f16 = f16(s[i, j])\nq[i:32, j:96] f16 = f16(t[i, j])\n" +
                         turned)),
      2u);
  // A result of the model.
  EXPECT_EQ(productsOf(stacked(weights + product +
                               "t[i:32, j:96] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(b[k, j])\n"
                               "output s\noutput t\n")),
            2u);
}

TEST(StackProducts, LeavesNeighboursAlongTheDimension) {
  // Past its last column each has a fill, not the first column of the next.
  expectEqual(weights +
                  "s[i:32, j:64] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(a[k, j])\n"
                  "t[i:32, j:96] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(b[k, j])\n"
                  "g[i:32, j:64] f16 = f16(max(s[i, j], 0))\n"
                  "h[i:32, j:96] f16 = f16(max(t[i, j], 0))\n"
                  "p[i:32, j:64] f16 = f16(s[i, j] + f32((g[i, j+1] | 0)))\n"
                  "q[i:32, j:96] f16 = f16(t[i, j] + f32((h[i, j+1] | 0)))\n" +
                  turned,
              2);
}

TEST(StackProducts, LeavesWhatIsAsQuickApart) {
  // Both fit on the machine side by side.
  std::string text = weights +
                     "s[i:32, j:64] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(a[k, j])\n"
                     "t[i:32, j:96] f32 = sum<f32>[k:64] f32(x[i, k]) * f32(b[k, j])\n"
                     "p[i:32, j:64] f16 = f16(s[i, j])\nq[i:32, j:96] f16 = f16(t[i, j])\n" +
                     turned;
  StackOptions options = onGpu();
  EXPECT_EQ(productsOf(stackProducts(parsed(text), options)), 1u);
  options.margin = StackOptions().margin;
  EXPECT_EQ(productsOf(stackProducts(parsed(text), options)), 2u);
}

} // namespace kintsugi::derive
