//===- abilities_test.cpp - Answers don't depend on what is done without ----===//
//
// What the compiler does for blocks of threads alone: each is taken away from a program that it
// changes, and a processor, which does the work of the blocks, has to find the same.
//
//===----------------------------------------------------------------------===//

#include "compile_and_run.h"

#include "te/parser.h"
#include "unit/te/random_program.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <fstream>

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

struct Without {
  const char *name; ///< What --disable says.
  const char *text;
};

const Without cases[] = {
    {"share-repeated", R"(
input q[h:8, i:64, d:32] f32
input k[g:2, j:64, d:32] f32
u[h:8, j:64, d:32] f32 = k[h//4, j, d]
s[h:8, i:64, j:64] f32 = sum<f32>[d:32] q[h, i, d] * u[h, j, d]
t[h:8, i:64] f32 = sum<f32>[j:64] s[h, i, j]
y[n:512] f32 = t[n//64, n%64]
output y
)"},
    {"defer-division", R"(
input x[i:64, j:64] f32
input v[j:64, d:32] f16
m[i:64] f32 = max<f32>[j:64] x[i, j]
e[i:64, j:64] f32 = exp(x[i, j] - m[i])
z[i:64] f32 = sum<f32>[j:64] e[i, j]
w[i:64, j:64] f16 = stored f16(e[i, j] / z[i])
y[i:64, d:32] f32 = sum<f32>[j:64] f32(w[i, j]) * f32(v[j, d])
output y
)"},
    {"split-reduction", R"(
input x[i:65536, j:8] f32
y[j:8] f32 = sum<f32>[i:65536] x[i, j]
output y
)"},
    {"merge-products", R"(
input x[i:256, k:512] f16
a[k:512, j:512] f16 = f16(mod(i64(5*k + 3*j), 7) - 3)
b[k:512, j:384] f16 = f16(mod(i64(2*k + 5*j), 5) - 2)
p[i:256, j:512] f16 = sum<f32>[k:512] f32(x[i, k]) * f32(a[k, j])
q[i:256, j:384] f16 = sum<f32>[k:512] f32(x[i, k]) * f32(b[k, j])
y[j:512, i:256] f16 = p[i, j]
z[j:384, i:256] f16 = q[i, j]
output y
output z
)"},
    {"split-phases", R"(
input x[n:1, c:16, i:9, j:7] f16
k[c:16, o:8, h:5, w:4] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 7) - 3)
y[n:1, o:8, i:30, j:26] f32 = sum<f32>[c:16, h:5, w:4] cases { {(i+1-2*h)%3} == 0 and {(j-2*w)%4} == 0: f32((x[0, c, (i+1-2*h)//3, (j-2*w)//4] | 0)) * f32(k[c, o, h, w]); else: 0 }
output y
)"},
    {"window-products", R"(
input x[n:1, c:64, i:104, j:104] f16
f[o:3, c:64, h:9, w:9] f16 = f16(mod(i64(o + 2*c + 3*h + 5*w), 7) - 3)
y[n:1, o:3, i:96, j:96] f32 = sum<f32>[c:64, h:9, w:9] f32(x[0, c, i+h, j+w]) * f32(f[o, c, h, w])
output y
)"},
};

class Ability : public testing::TestWithParam<Without> {};

/// The kernels of a program, which tell that something was done without.
std::string kernelsOf(const std::string &text, const pipeline::CompileOptions &options) {
  std::string path = testing::TempDir() + "ability_" + std::to_string(getpid()) + ".te";
  std::ofstream(path) << text;
  devices::CpuDevice device;
  Diagnostics diagnostics;
  Expected<std::string> kernels =
      pipeline::emit(path, options, pipeline::Box::Tile, device, diagnostics);
  std::remove(path.c_str());
  EXPECT_TRUE(kernels.ok()) << (kernels.ok() ? "" : kernels.error().message);
  return kernels.ok() ? *kernels : "";
}

TEST_P(Ability, ChangesKernelsAndNoAnswers) {
  Expected<Program> program = parseProgram(GetParam().text, "ability");
  ASSERT_TRUE(program.ok()) << program.error().message;
  Expected<std::vector<Tensor>> made = test::randomFeeds(*program, 3);
  ASSERT_TRUE(made.ok());
  std::vector<Tensor> &feeds = *made;
  for (const machine::Machine &machine : test::hostMachines()) {
    SCOPED_TRACE(machine.level);
    pipeline::CompileOptions with;
    with.machine = test::blocksOn(machine.level);
    with.disabled.add("launch-merging"); // A processor has a function for each kernel.
    pipeline::CompileOptions without = with;
    without.disabled.add(GetParam().name);
    EXPECT_NE(kernelsOf(GetParam().text, with), kernelsOf(GetParam().text, without));
    Expected<test::Ran> one = test::compileAndRun(*program, with, feeds);
    Expected<test::Ran> other = test::compileAndRun(*program, without, feeds);
    ASSERT_TRUE(one.ok()) << one.error().message;
    ASSERT_TRUE(other.ok()) << other.error().message;
    double tolerance = test::toleranceOf(test::coarsestOf(*program));
    for (auto [result, right] : llvm::zip_equal(one->results, other->results))
      test::expectAgreement(result, right, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Without, Ability, testing::ValuesIn(cases), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
