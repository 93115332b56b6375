#include "derive/bilinear.h"
#include "llvm/ADT/SmallVector.h"
#include "gtest/gtest.h"

using namespace kintsugi::derive;

namespace {

TEST(Bilinear, EveryAlgorithmIsRight) {
  for (const BilinearAlgorithm &algorithm : bilinearAlgorithms()) {
    int64_t n = algorithm.points();
    EXPECT_EQ(algorithm.input.size(), size_t(n * n)) << algorithm.name;
    EXPECT_EQ(algorithm.kernel.size(), size_t(n * algorithm.taps)) << algorithm.name;
    EXPECT_EQ(algorithm.denominators.size(), size_t(n)) << algorithm.name;
    EXPECT_EQ(algorithm.output.size(), size_t(n * algorithm.outputs)) << algorithm.name;
    EXPECT_TRUE(algorithm.isRight()) << algorithm.name;
  }
}

TEST(Bilinear, AWrongDenominatorIsFound) {
  for (BilinearAlgorithm algorithm : bilinearAlgorithms()) {
    algorithm.inputDenominator *= 2;
    EXPECT_FALSE(algorithm.isRight()) << algorithm.name;
    algorithm.outputDenominator *= 2;
    EXPECT_FALSE(algorithm.isRight()) << algorithm.name;
  }
}

/// Whatever one number is changed to something else, the check says so.
TEST(Bilinear, AWrongNumberIsFound) {
  for (const BilinearAlgorithm &algorithm : bilinearAlgorithms())
    for (auto part : {&BilinearAlgorithm::input, &BilinearAlgorithm::kernel,
                      &BilinearAlgorithm::denominators, &BilinearAlgorithm::output})
      for (size_t position = 0; position < (algorithm.*part).size(); ++position) {
        llvm::SmallVector<int64_t> numbers(algorithm.*part);
        numbers[position] += 1;
        BilinearAlgorithm wrong = algorithm;
        wrong.*part = numbers;
        EXPECT_FALSE(wrong.isRight()) << algorithm.name << " at " << position;
      }
}

} // namespace
