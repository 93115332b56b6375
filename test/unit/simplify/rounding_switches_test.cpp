// Programs whose roundings are inputs.

#include "simplify/rounding_switches.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "simplify/simplify.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::simplify {
namespace {

using namespace te;

std::string definitionsOf(const Program &program) {
  std::string all;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    all += printNode(program, node) + "\n";
  return all;
}

TEST(RoundingSwitches, RoundWhatIsStoredAndCopied) {
  Program program = simplify(parsed("input x[8, 64] f32\n"
                                    "const w[96, 64] f32 = weights(\"w\")\n"
                                    "const v[96, 96] f32 = weights(\"v\")\n"
                                    "a[i:8, j:96] = sum[k:64] x[i, k] * w[j, k]\n"
                                    "b[i:8, j:96] = tanh(a[i, j])\n"
                                    "c[i:8, j:96] = sum[k:96] b[i, k] * v[j, k]\n"
                                    "output c\n"));
  ASSERT_EQ(program.nodes.size(), 3u);
  Program switched = withRoundingSwitches(program, ElementType::F16, {}, {0, 0, 1}, 2);
  EXPECT_EQ(
      definitionsOf(switched),
      "x.rounded[i0:8, i1:64] f32 = cases { rounds[0]: f32(f16(x[i0, i1])); else: x[i0, i1] }\n"
      "w.rounded[i0:96, i1:64] f32 = cases { rounds[0]: f32(f16(w[i0, i1])); else: w[i0, i1] }\n"
      "a[i:8, j:96] f32 = sum<f32>[k:64] x.rounded[i, k] * w.rounded[j, k]\n"
      "b[i:8, j:96] f32 facts(low=-1, high=1) = tanh(a[i, j])\n"
      "b.rounded[i0:8, i1:96] f32 = cases { rounds[0]: f32(f16(b[i0, i1])); else: b[i0, i1] }\n"
      "v.rounded[i0:96, i1:96] f32 = cases { rounds[1]: f32(f16(v[i0, i1])); else: v[i0, i1] }\n"
      "c[i:8, j:96] f32 = sum<f32>[k:96] b.rounded[i, k] * v.rounded[j, k]\n");
}

TEST(RoundingSwitches, RandomProgramsComputeTheSameWhereNothingIsRounded) {
  unsigned rounded = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program before = randomProgram(seed);
    std::vector<unsigned> parts(before.nodes.size());
    for (uint32_t node = 0; node < parts.size(); ++node)
      parts[node] = node % 3;
    Program after = withRoundingSwitches(before, ElementType::F16, {}, parts, 3);
    Status status = after.verify();
    ASSERT_TRUE(status.ok()) << status.error().message << "\n" << printProgram(before);
    std::vector<ExactTensor> inputs = randomInputs(before, seed), right = evaluated(before, inputs);
    ExactTensor none{ElementType::Bool, {3}, {}, {}};
    none.integers.assign(3, 0);
    inputs.push_back(std::move(none));
    expectSame(evaluated(after, inputs), right);
    rounded += printProgram(after).find("rounds[") != std::string::npos;
  }
  EXPECT_GT(rounded, 20u);
}

} // namespace
} // namespace kintsugi::simplify
