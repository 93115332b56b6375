#include "loops/running.h"

#include "../loops/runner.h"
#include "whole_program.h"
#include "llvm/ADT/STLExtras.h"

using namespace kintsugi;
using namespace kintsugi::loops;
using namespace kintsugi::search;
using test::parsed;
using test::vectorMachine;
using test::wholeOf;

namespace {

size_t choicesIn(const std::string &text) {
  te::Program program = parsed(text);
  return runningChoices(fuse(program, wholeOf(program), {})).size();
}

TEST(Running, SumsOfWhatComesNoLaterAreWalked) {
  EXPECT_EQ(choicesIn("input x[i:20, j:40] f32\n"
                      "y[p:20, j:40] f32 = sum<f32>[r:20] cases { r <= p: x[r, j]; else: 0 }\n"
                      "output y"),
            1u);
  EXPECT_EQ(choicesIn("input x[i:20, j:40] i32\n"
                      "y[j:40, p:20] i32 = prod<i32>[r:20] cases { r < {p+1}: x[r, j]; else: 1 }\n"
                      "output y"),
            1u);
}

TEST(Running, OthersAreNot) {
  for (const char *sum : {
           "sum<f32>[r:20] cases { r < p: x[r, j]; else: 0 }",       // Without its own element.
           "sum<f32>[r:20] cases { p <= r: x[r, j]; else: 0 }",      // From it on.
           "sum<f32>[r:20] cases { r <= p: x[r, j]; else: 1 }",      // Others add something.
           "sum<f32>[r:20] cases { r <= p: x[r, p]; else: 0 }",      // Terms differ.
           "sum<f32>[r:19] cases { r <= p: x[r, j]; else: 0 }",      // The last has no step.
           "max<f32>[r:20] cases { r <= p: x[r, j]; else: 0 }",      // 0 is no minus infinity.
           "sum<f32>[r:20, s:2] cases { r <= p: x[r, s]; else: 0 }", // Steps of two iterators.
       })
    EXPECT_EQ(choicesIn("input x[i:20, j:40] f32\ny[p:20, j:40] f32 = " + std::string(sum) +
                        "\noutput y"),
              0u)
        << sum;
}

/// What is made of the sums is finished with them, or read later, or there is nothing.
void expectSums(const std::string &rest, double times, double others) {
  te::Program program = parsed(R"(
input x[b:4, i:64, j:3000] f32
y[b:4, p:64, j:3000] f32 = sum<f32>[r:64] cases { r <= p: x[b, r, j]; else: 0 }
)" + rest);
  ScheduleResult result = scheduleGroup(program, wholeOf(program), vectorMachine(1 << 24));
  ASSERT_TRUE(result.schedule) << result.reason;
  const Schedule &schedule = *result.schedule;
  ASSERT_TRUE(llvm::any_of(schedule.nests, keepsRunningValue)) << schedule.print();
  ASSERT_GT(schedule.tiles(), 1);
  test::Memory memory(schedule.buffers.size());
  constexpr int64_t count = 4 * 64 * 3000;
  for (int64_t position = 0; position < count; ++position)
    memory[0].push_back(double(position % 17) / 17);
  memory[1].assign(count, -1);
  ASSERT_EQ(test::runSchedule(schedule, memory), "");
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t j = 0; j < 3000; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < 64; ++p) {
        int64_t place = (b * 64 + p) * 3000 + j;
        sum += memory[0][place];
        double later = p + 1 < 64 ? memory[0][place + 3000] : 0;
        ASSERT_NEAR(memory[1][place], times * sum + others * (sum + later), 1e-9);
      }
    }
}

TEST(Running, TilesWalkTheirOwnColumns) {
  expectSums("output y", 1, 0);
  expectSums("z[b:4, p:64, j:3000] f32 = y[b, p, j] * 2\noutput z", 2, 0);
  expectSums("z[b:4, p:64, j:3000] f32 = y[b, p, j] + cases { p < 63: y[b, p+1, j]; else: y[b, 63, "
             "j] }\noutput z",
             1, 1);
}

} // namespace
