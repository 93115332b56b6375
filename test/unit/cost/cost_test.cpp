// What holds of every price, whatever the machine's constants are: more work never costs less, a
// better machine never more, and what runs together takes between the longest and the sum.

#include "cost/block_seconds.h"
#include "cost/cost.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace kintsugi::cost {
namespace {

using loops::KernelShape;
using machine::Machine;

const char *const levels[] = {"x86-64-v3", "x86-64-v4", "sm_90a"};

Machine machineOf(const char *level) {
  Expected<Machine> found = Machine::forLevel(level);
  EXPECT_TRUE(found.ok()) << level;
  return *found;
}

struct Work {
  double seconds, read, written;
  int64_t tiles;
};

KernelShape kernelOf(const Work &work, const Machine &machine) {
  KernelShape kernel;
  kernel.computeSeconds = work.seconds;
  kernel.schedule.bytesRead = work.read;
  kernel.schedule.bytesWritten = work.written;
  kernel.schedule.space = {{work.tiles, 1}};
  kernel.schedule.threads = machine.threads ? 128 : 0;
  return kernel;
}

double secondsOf(const Work &work, const Machine &machine) {
  return predictSeconds(kernelOf(work, machine), machine);
}

/// Work from nanoseconds to milliseconds, within caches and far beyond them.
class Draws {
public:
  Work work() { return {upTo(-9, -3), upTo(2, 10), upTo(2, 10), tiles()}; }

private:
  double upTo(double least, double most) {
    return std::pow(10, std::uniform_real_distribution<>(least, most)(random));
  }
  int64_t tiles() { return int64_t(upTo(0, 5)); }

  std::mt19937 random{7};
};

class Prices : public ::testing::TestWithParam<const char *> {
protected:
  Machine machine = machineOf(GetParam());
  Draws draws;
};

TEST_P(Prices, MoreWorkNeverCostsLess) {
  for (int i = 0; i < 1000; ++i) {
    Work less = draws.work(), more = less;
    more.seconds *= 1.5;
    EXPECT_LE(secondsOf(less, machine), secondsOf(more, machine));
    more = less;
    more.read *= 1.5;
    EXPECT_LE(secondsOf(less, machine), secondsOf(more, machine)) << less.read << less.written;
    more = less;
    more.written *= 1.5;
    EXPECT_LE(secondsOf(less, machine), secondsOf(more, machine)) << less.read << less.written;
  }
}

TEST_P(Prices, ABetterMachineNeverCostsMore) {
  Machine better = machine;
  for (machine::MemoryLevel &level : better.levels) {
    level.bytesPerSecond *= 1.25;
    level.bytesPerSecondAll *= 1.25;
  }
  Machine eager = machine;
  eager.stageSeconds /= 2;
  for (int i = 0; i < 1000; ++i) {
    Work work = draws.work();
    EXPECT_LE(secondsOf(work, better), secondsOf(work, machine));
    EXPECT_LE(secondsOf(work, eager), secondsOf(work, machine));
  }
}

TEST_P(Prices, NoKernelBeatsMemoryOrArithmetic) {
  const machine::MemoryLevel *quickest = &machine.memory();
  for (const machine::MemoryLevel &level : machine.levels)
    if (level.bytesPerSecondAll > quickest->bytesPerSecondAll)
      quickest = &level;
  for (int i = 0; i < 1000; ++i) {
    Work work = draws.work();
    double seconds = secondsOf(work, machine);
    bool isAlone = machine.threads == 0 && work.tiles == 1; // Whom nobody waits for.
    EXPECT_GE(seconds, (isAlone ? 0 : machine.stageSeconds) + work.seconds);
    EXPECT_GE(seconds, (work.read + work.written) / quickest->bytesPerSecondAll);
  }
}

TEST_P(Prices, TunedKernelsCostTheirShareOfTheOthers) {
  for (int i = 0; i < 100; ++i) {
    auto untuned = std::make_shared<KernelShape>(kernelOf(draws.work(), machine));
    KernelShape tuned = kernelOf(draws.work(), machine);
    tuned.untuned = untuned;
    tuned.gain = 0.8;
    EXPECT_DOUBLE_EQ(predictSeconds(tuned, machine), 0.8 * predictSeconds(*untuned, machine));
    EXPECT_DOUBLE_EQ(predictAloneSeconds(tuned, machine),
                     0.8 * predictAloneSeconds(*untuned, machine));
  }
}

TEST_P(Prices, OneTileWaitsForWhatOtherCoresHad) {
  if (machine.threads > 0)
    return; // Blocks of threads have nothing that others exchange.
  KernelShape own = kernelOf({1e-6, 1e5, 1e5, 1}, machine), exchanged = own;
  exchanged.schedule.bytesExchanged = 2e5;
  machine.cores = 4;
  double seconds = predictSeconds(exchanged, machine) - predictSeconds(own, machine);
  EXPECT_NEAR(seconds, 0.75 * 2e5 / 20e9, 1e-9);
  EXPECT_EQ(predictAloneSeconds(own, machine), predictAloneSeconds(exchanged, machine));
  machine.cores = 1;
  EXPECT_EQ(predictSeconds(own, machine), predictSeconds(exchanged, machine));
}

TEST_P(Prices, LanesTakeBetweenTheLongestAndAll) {
  for (size_t count : {1, 2, 7, 200}) {
    std::vector<double> seconds;
    double longest = 0, all = 0;
    for (size_t i = 0; i < count; ++i) {
      seconds.push_back(draws.work().seconds);
      longest = std::max(longest, seconds.back());
      all += seconds.back();
    }
    double found = predictLanesSeconds(seconds, machine) - machine.stageSeconds;
    EXPECT_GE(found, std::max(longest, all / machine.cores) * 0.999999);
    EXPECT_LE(found, all * 1.000001);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Prices, ::testing::ValuesIn(levels), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Launches of a GPU hold several kernels.
class Launches : public Prices {};

TEST_P(Launches, KernelsTogetherTakeBetweenTheLongestAndAllInTurn) {
  for (int i = 0; i < 1000; ++i) {
    KernelShape one = kernelOf(draws.work(), machine), other = kernelOf(draws.work(), machine);
    double start = machine.stageSeconds;
    double a = predictSeconds(one, machine) - start, b = predictSeconds(other, machine) - start;
    double together = predictTogetherSeconds({&one, &other}, machine) - start;
    EXPECT_GE(together, std::max(a, b) * 0.999999);
    // Of two that each fill the machine, one starts while none ends.
    EXPECT_LE(together, (a + b) * 1.000001 + startSeconds(machine));
    EXPECT_DOUBLE_EQ(predictTogetherSeconds({&one}, machine), predictSeconds(one, machine));
  }
}

TEST_P(Launches, NoneBeatsMemory) {
  KernelShape half = kernelOf({1e-5, 2.2e7, 1e3, 64}, machine); // Of its own blocks' arithmetic.
  double bytes = 4 * (2.2e7 + 1e3);
  double together = predictTogetherSeconds({&half, &half, &half, &half}, machine);
  EXPECT_GE(together, machine.stageSeconds + bytes / machine.memory().bytesPerSecondAll);
  EXPECT_LT(together, 4 * predictSeconds(half, machine));
}

TEST_P(Launches, EachBlockTakesTheRegistersOfTheLargestKernel) {
  KernelShape product = kernelOf({1e-6, 1e3, 1e3, 128}, machine);
  std::vector<KernelShape> gathers(20, kernelOf({4e-7, 1e3, 1e3, 128}, machine));
  cost::Phase kernels{&product};
  for (const KernelShape &gather : gathers)
    kernels.push_back(&gather);
  product.schedule.registers = 32;
  double few = predictTogetherSeconds(kernels, machine);
  product.schedule.registers = 255; // Two blocks of a core, in place of 16.
  EXPECT_GT(predictTogetherSeconds(kernels, machine), 3 * few);
}

TEST_P(Launches, NestsOfABlockStartButOnce) {
  loops::Schedule one, three;
  for (loops::Schedule *schedule : {&one, &three}) {
    schedule->space = {{132, 1}};
    schedule->threads = 128;
  }
  auto nest = [] {
    loops::LoopNest result;
    result.parallel.push_back({"i", 4});
    return result;
  };
  one.nests = {nest()};
  three.nests = {nest(), nest(), nest()};
  BlockCycles cycles{100, 3000, 0};
  double saved = secondsInBlocks(one, cycles, machine) - secondsInBlocks(three, cycles, machine);
  EXPECT_GT(saved, 0);
  EXPECT_LT(saved, 2 * 600 * startSeconds(machine) / 500);
}

TEST_P(Launches, BlocksOfACoreWaitTogetherWhereNothingIsBroughtAhead) {
  BlockCycles cycles{1000, 3000, 0};
  double busy = cycles.busy * startSeconds(machine) / 500;
  auto secondBlockOf = [&](const loops::LoopNest &nest) {
    loops::Schedule one;
    one.space = {{machine.cores, 1}};
    one.threads = 128;
    one.nests = {nest};
    loops::Schedule two = one;
    two.space = {{2 * machine.cores, 1}};
    return secondsInBlocks(two, cycles, machine) - secondsInBlocks(one, cycles, machine);
  };
  loops::LoopNest plain, product;
  plain.parallel.push_back({"i", 4});
  product = plain;
  product.matrix = loops::MatrixTile();
  EXPECT_NEAR(secondBlockOf(plain), busy, 1e-3 * busy);
  EXPECT_NEAR(secondBlockOf(product), 0.5 * busy, 1e-3 * busy);
}

TEST_P(Launches, APhaseMoreCostsABarrierAndItsWork) {
  for (int i = 0; i < 100; ++i) {
    KernelShape one = kernelOf(draws.work(), machine), other = kernelOf(draws.work(), machine);
    double both = predictPhasesSeconds({Phase{&one}, Phase{&other}}, machine);
    double alone = predictPhasesSeconds({Phase{&one}}, machine);
    double own = predictSeconds(other, machine) - machine.stageSeconds;
    EXPECT_NEAR(both, alone + machine.barrierSeconds + own, both * 1e-9);
  }
}

TEST_P(Launches, BlocksOfUnlikeSizesShareOneWhileEachHasRegistersEnough) {
  KernelShape small = kernelOf({1e-6, 1e3, 1e3, 8}, machine), large = small;
  small.schedule.threads = 64;
  large.schedule.threads = 256;
  EXPECT_TRUE(mayShareLaunch({&small, &large}));
  large.schedule.threads = 512;
  EXPECT_FALSE(mayShareLaunch({&small, &large}));
  EXPECT_TRUE(mayShareLaunch({&large, &large}));
}

INSTANTIATE_TEST_SUITE_P(Machines, Launches, ::testing::Values("sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Overlapped, IsBetweenTheGreaterAndTheSum) {
  for (double a : {0.0, 1e-9, 3e-6, 2.0})
    for (double b : {0.0, 1e-7, 1.0}) {
      EXPECT_GE(overlapped(a, b), std::max(a, b));
      EXPECT_LE(overlapped(a, b), a + b);
      EXPECT_EQ(overlapped(a, b), overlapped(b, a));
    }
}

TEST_P(Prices, RoughOnesAddWhatTheyAreMadeOf) {
  for (int round = 0; round < 100; ++round) {
    KernelShape kernel = kernelOf(draws.work(), machine);
    double moving = movingSeconds(kernel, machine);
    EXPECT_DOUBLE_EQ(moving * machine.memory().bytesPerSecondAll,
                     kernel.schedule.bytesRead + kernel.schedule.bytesWritten);
    EXPECT_DOUBLE_EQ(roughSeconds(kernel, machine),
                     machine.stageSeconds + kernel.computeSeconds + moving);
    EXPECT_DOUBLE_EQ(roughSharedSeconds(kernel, 4, machine),
                     machine.stageSeconds + kernel.computeSeconds / 4 + moving);
    KernelShape tuned = kernelOf(draws.work(), machine);
    tuned.untuned = std::make_shared<KernelShape>(kernel);
    tuned.gain = 0.7;
    EXPECT_DOUBLE_EQ(roughSeconds(tuned, machine), 0.7 * roughSeconds(kernel, machine));
  }
}

TEST_P(Prices, ConstantsAreColdWhereNoCacheHoldsAll) {
  double largest = 0;
  for (const machine::MemoryLevel &level : machine.levels)
    if (&level != &machine.memory())
      largest = std::max(largest, double(level.bytes));
  double kept = machine.threads > 0 ? 0.5 : 0.9;
  EXPECT_FALSE(areCold((kept - 0.01) * largest, machine));
  EXPECT_TRUE(areCold((kept + 0.01) * largest, machine));
}

TEST_P(Prices, ColdBytesCostWhatMemoryGives) {
  constexpr double bytes = 1 << 16;
  KernelShape warm = kernelOf({1e-9, bytes, 1e3, 64}, machine), cold = warm;
  cold.schedule.bytesCold = bytes;
  double more = predictSeconds(cold, machine) - predictSeconds(warm, machine);
  EXPECT_GT(more, 0);
  EXPECT_LE(more, bytes / machine.memory().bytesPerSecondAll);
  EXPECT_GT(predictAloneSeconds(cold, machine), predictAloneSeconds(warm, machine));
}

} // namespace
} // namespace kintsugi::cost
