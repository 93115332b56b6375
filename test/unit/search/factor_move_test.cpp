//===- factor_move_test.cpp - How products' factors come to the units -------===//

#include "loops/factor_move.h"

#include "on_gpu.h"
#include "search/matrix.h"
#include "llvm/ADT/STLExtras.h"

using namespace kintsugi;
using namespace kintsugi::loops;
using namespace kintsugi::search;

namespace {

/// What a thread does for eight elements of the right factor, which is read at `index`.
FactorMove moveOf(const std::string &shape, const std::string &index) {
  te::Program program = test::parsed("input a[i:128, k:64] f16\ninput b" + shape +
                                     " f16\n"
                                     "c[i:128, j:120] f32 = sum<f32>[k:64] f32(a[i, k]) * f32(b" +
                                     index + ")\noutput c\n");
  Schedule schedule = test::scheduled(program);
  const LoopNest &nest = schedule.nests.back();
  std::optional<MatrixProduct> product = matrixProductOf(nest);
  EXPECT_TRUE(product);
  return factorMoveOf(nest.bodies[0].operand(1), nest, product->element, product->columns,
                      schedule);
}

/// Seconds of attention over keys that are stored as `shape` and read at `index`, as one kernel.
double secondsOf(int64_t keys, const std::string &shape, const std::string &index) {
  std::string j = "j:" + std::to_string(keys);
  te::Program program = test::parsed(
      "input q[h:6, i:" + std::to_string(keys) + ", k:64] f16\ninput p" + shape +
      " f16\ninput v[h:6, " + j + ", d:64] f16\n" + "s[h:6, i:" + std::to_string(keys) + ", " + j +
      "] f32 = sum<f32>[k:64] f32(q[h, i, k]) * f32(p" + index +
      ")\n"
      "(m[h, i] f32, z[h, i] f32) = softmax_stats<f32>[j] s[h, i, j]\n"
      "w[h, i, j] f16 = stored f16(exp(s[h, i, j] - m[h, i]))\n"
      "o[h, i, d:64] f32 = sum<f32>[j] f32(w[h, i, j]) * f32(v[h, j, d])\n"
      "y[h, i, d] f32 = o[h, i, d] / z[h, i]\n"
      "output y\n");
  ScheduleResult result = test::resultOf(program);
  EXPECT_TRUE(llvm::any_of(result.schedule->nests, [](auto &nest) { return nest.streamed; }));
  return result.computeSeconds;
}

} // namespace

TEST(FactorMove, CopiesWhatLiesInEights) {
  EXPECT_EQ(moveOf("[k:64, j:120]", "[k, j]").instructions, FactorMove::direct);
  EXPECT_EQ(moveOf("[j:120, k:64]", "[j, k]").instructions, FactorMove::direct);
}

TEST(FactorMove, ReadsOneByOneWhatLiesAcross) {
  EXPECT_TRUE(moveOf("[k:64, j:125]", "[k, j]").isAlone); // Rows start anywhere.
  EXPECT_TRUE(moveOf("[k:64, j:240]", "[k, 2*j]").isAlone);
}

TEST(FactorMove, MakesAttentionDearerWhoseKeysComeOneByOne) {
  double inRows = secondsOf(1500, "[h:6, j:1500, k:64]", "[h, j, k]");
  EXPECT_GT(secondsOf(1500, "[h:6, k:64, j:1500]", "[h, k, j]"), 1.2 * inRows);
  inRows = secondsOf(1536, "[h:6, j:1536, k:64]", "[h, j, k]");
  EXPECT_EQ(secondsOf(1536, "[h:6, k:64, j:1536]", "[h, k, j]"), inRows);
}
