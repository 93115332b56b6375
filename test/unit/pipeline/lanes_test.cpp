// Scans side by side, a core each, on a machine where that pays whatever this one is like: steps
// are too small to share.

#include "compile_and_run.h"

#include "te/parser.h"
#include "unit/te/random_program.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

/// States of a recurrent layer that reads its input at `place` in each step.
std::string direction(const std::string &name, const std::string &place) {
  return "(h" + name + "[32] f32, y" + name + R"([256, 32] f32) = scan[256] carry(h) capture(x, r) {
program cell
input step[] i64
input h[32] f32
input x[256, 32] f32
input r[32, 32] f32
s[j:32] f32 = sum<f32>[k:32] h[k] * r[j, k]
hx[j:32] f32 = tanh(s[j] + x[)" +
         place + R"(, j])
output hx
output hx as y
}
output y)" +
         name + "\n";
}

TEST(Lanes, ComputeTheSameBitsAsOneAfterTheOther) {
  std::string text = "input x[t:256, k:32] f32\ninput r[j:32, k:32] f32\ninput h[k:32] f32\n";
  Expected<Program> program =
      parseProgram(text + direction("f", "step[]") + direction("b", "255-step[]"), "lanes");
  ASSERT_TRUE(program.ok()) << program.error().message;
  Expected<std::vector<Tensor>> made = test::randomFeeds(*program, 3);
  ASSERT_TRUE(made.ok());
  std::vector<Tensor> &feeds = *made;
  for (const machine::Machine &machine : test::hostMachines()) {
    SCOPED_TRACE(machine.level);
    pipeline::CompileOptions options;
    options.machine = machine;
    options.machine.cores = 2;
    Expected<test::Ran> lanes = test::compileAndRun(*program, options, feeds);
    options.disabled.add("merge-scans");
    Expected<test::Ran> inTurn = test::compileAndRun(*program, options, feeds);
    ASSERT_TRUE(lanes.ok()) << lanes.error().message;
    ASSERT_TRUE(inTurn.ok()) << inTurn.error().message;
    EXPECT_TRUE(lanes->hasLanes);
    EXPECT_FALSE(inTurn->hasLanes);
    for (auto [result, right] : llvm::zip_equal(lanes->results, inTurn->results))
      test::expectAgreement(result, right, 0);
  }
}

} // namespace
