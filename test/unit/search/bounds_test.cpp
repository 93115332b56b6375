// Loops that end where a table says: which nests have them, and that they compute what the
// conditions in the expressions mean.

#include "../loops/runner.h"
#include "whole_program.h"

#include "loops/scratch.h"
#include "search/scheduler.h"
#include "te/constant.h"
#include "te/interpreter.h"
#include "te/parser.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace kintsugi;
using namespace kintsugi::te;
using kintsugi::test::Memory;

namespace {

search::ScheduleOptions optionsFor(int cores, int vectorBits) {
  search::ScheduleOptions options;
  options.machine.cores = cores;
  options.machine.vectorBits = vectorBits;
  options.machine.vectorRegisters = 32;
  options.machine.flopsPerSecond = 1e11;
  options.machine.levels = {{"memory", int64_t(1) << 34, cores, 1e10, 2e10},
                            {"L2", 1 << 20, 1, 5e10, 1e11}};
  options.scalar = vectorBits == 0;
  return options;
}

/// A softmax's weighted sums over blocks of columns that tables choose.
Program attention(const std::string &count, const std::string &partial) {
  std::string text = R"(
input q[h:3, n:64, d:16] f32
input k[h:3, d:16, m:64] f32
input v[h:3, m:64, d:16] f32
input bias[r:16, c:16] f32
const count[4] i32 = [)" +
                     count + R"(]
const partial[4] i32 = [)" +
                     partial + R"(]
const column[4, 4] i32 = [0, 1, 0, 0, 1, 0, 3, 0, 2, 0, 1, 3, 3, 0, 1, 2]
s[h:3, j:4, r:16, b:4, c:16] f32 = sum<f32>[d:16] q[h, 16*j+r, d] * k[h, d, 16*column[j, b]+c]
x[h:3, j:4, r:16, b:4, c:16] f32 = cases { b < partial[j]: s[h, j, r, b, c] + bias[r, c]; else: s[h, j, r, b, c] }
m[h:3, j:4, r:16] f32 = max<f32>[b:4, c:16] cases { b < count[j]: x[h, j, r, b, c]; else: -inf }
e[h:3, j:4, r:16, b:4, c:16] f32 = exp(x[h, j, r, b, c] - m[h, j, r])
t[h:3, j:4, r:16] f32 = sum<f32>[b:4, c:16] cases { b < count[j]: e[h, j, r, b, c]; else: 0 }
p[h:3, j:4, r:16, b:4, c:16] f32 = e[h, j, r, b, c] / t[h, j, r]
o[h:3, j:4, r:16, d:16] f32 = sum<f32>[b:4, c:16] cases { b < count[j]: p[h, j, r, b, c] * v[h, 16*column[j, b]+c, d]; else: 0 }
y[n:64, z:48] f32 = o[z//16, n//16, n%16, z%16]
output y
)";
  Expected<Program> program = parseProgram(text, "attention");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return std::move(*program);
}

loops::Group wholeProgram(const Program &program) {
  loops::Group group = test::wholeOf(program);
  for (uint32_t value = 0; value < program.numValues(); ++value)
    if (program.values[value].kind == ValueKind::Constant)
      group.constants.push_back({value});
  return group;
}

std::vector<Tensor> randomFeeds(const Program &program) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<Tensor> feeds;
  for (ValueId input : program.inputs) {
    Expected<Tensor> tensor = Tensor::create(ElementType::F32, plainShape(program.shape(input)));
    EXPECT_TRUE(tensor.ok());
    for (float &x : tensor->as<float>())
      x = uniform(random);
    feeds.push_back(std::move(*tensor));
  }
  return feeds;
}

/// Runs a schedule, and compares with the interpreter.
void check(const Program &program, const loops::Schedule &schedule) {
  std::vector<Tensor> feeds = randomFeeds(program);
  std::vector<TensorView> views;
  for (const Tensor &feed : feeds)
    views.push_back(feed.view());
  Expected<std::vector<Tensor>> expected = interpret(program, views);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  Memory memory;
  for (const loops::Buffer &buffer : schedule.buffers) {
    memory.emplace_back(buffer.elements, NAN);
    if (buffer.value.number >= program.numValues())
      continue;
    const Value &value = program.value(buffer.value);
    if (value.kind == ValueKind::Constant) {
      Expected<Tensor> constant = loadConstant(value);
      ASSERT_TRUE(constant.ok());
      for (auto [k, x] : llvm::enumerate(memory.back()))
        x = loadDouble(constant->view(), int64_t(k));
    }
    for (auto [input, feed] : llvm::zip(program.inputs, feeds))
      if (buffer.value == input)
        llvm::copy(feed.as<float>(), memory.back().begin());
  }
  ASSERT_EQ(test::runSchedule(schedule, memory), "");
  const auto *output = llvm::find_if(schedule.buffers, [&](const loops::Buffer &buffer) {
    return buffer.value == program.outputs[0].value;
  });
  ASSERT_NE(output, schedule.buffers.end());
  for (auto [found, wanted] :
       llvm::zip_equal(memory[output - schedule.buffers.begin()], (*expected)[0].as<float>()))
    ASSERT_NEAR(found, wanted, 1e-5);
}

size_t countBounded(const loops::Schedule &schedule) {
  return llvm::count_if(schedule.nests,
                        [](const loops::LoopNest &nest) { return !nest.spans.empty(); });
}

TEST(Bounds, NestsOfASparseSoftmaxEndWhereTheTableSays) {
  Program program = attention("1, 2, 1, 3", "1, 1, 0, 2");
  search::ScheduleResult result =
      search::scheduleGroup(program, wholeProgram(program), optionsFor(2, 512));
  ASSERT_TRUE(result.schedule) << result.reason;
  SCOPED_TRACE(result.schedule->print());
  // The scores of partial and of open blocks, two sums, one maximum, two passes over weights.
  EXPECT_EQ(countBounded(*result.schedule), 7u);
  check(program, *result.schedule);
}

TEST(Bounds, TablesMayBeFullEmptyOrWrong) {
  for (const char *count : {"4, 4, 4, 4", "1, 4, 2, 3", "9, 4, 1, 2"})
    for (const char *partial : {"0, 0, 0, 0", "1, 4, 2, 3", "-5, 9, 1, 0"})
      for (int cores : {1, 2, 16})
        for (int bits : {0, 256, 512}) {
          Program program = attention(count, partial);
          search::ScheduleResult result =
              search::scheduleGroup(program, wholeProgram(program), optionsFor(cores, bits));
          ASSERT_TRUE(result.schedule) << result.reason;
          SCOPED_TRACE(result.schedule->print());
          check(program, *result.schedule);
        }
}

TEST(Bounds, AShorterTableCostsLess) {
  auto seconds = [](const char *count) {
    Program program = attention(count, "0, 0, 0, 0");
    return search::scheduleGroup(program, wholeProgram(program), optionsFor(2, 512)).computeSeconds;
  };
  EXPECT_LT(seconds("1, 1, 1, 1"), 0.8 * seconds("4, 4, 4, 4"));
}

/// Whether a copy in scratch lies in panels that more than one nest reads.
bool sharesPanels(const loops::Schedule &schedule) {
  for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
    size_t readers = llvm::count_if(schedule.nests, [&, k = unsigned(number)](const auto &nest) {
      return llvm::is_contained(loops::buffersRead(nest), k);
    });
    if (buffer.home == loops::Home::Scratch && buffer.packing && readers > 1)
      return true;
  }
  return false;
}

/// The scores of partial and of open blocks are two nests that read one copy of the queries: where
/// that lies in panels, both have to know.
TEST(Bounds, EveryScheduleThatTheSearchLooksAtIsRight) {
  Program program = test::parsed(R"(
input q[n:64, d:16] f32
input k[m:64, d:16] f32
const count[2] i32 = [1, 3]
const partial[2] i32 = [1, 2]
const column[2, 4] i32 = [0, 1, 2, 3, 1, 3, 0, 2]
s[b:4, c:16, j:2, r:32] f32 = sum<f32>[d:16] q[32*j+r, d] * k[16*column[j, b]+c, d]
x[b:4, c:16, j:2, r:32] f32 = cases { b < partial[j]: cases { r < c: -1000; else: s[b, c, j, r] }; else: s[b, c, j, r] }
m[j:2, r:32] f32 = max<f32>[b:4, c:16] cases { b < count[j]: x[b, c, j, r]; else: -inf }
y[n:64] f32 = m[n//32, n%32]
output y
)");
  size_t shared = 0;
  for (int bits : {128, 256, 512}) {
    search::ScheduleOptions options = optionsFor(2, bits);
    options.machine.stageSeconds = 0; // So that tiles are cut, small as they are.
    loops::Group group = wholeProgram(program);
    std::vector<search::Tried> tried;
    ASSERT_TRUE(search::scheduleGroup(program, group, options, &tried).schedule);
    for (const search::Tried &each : tried) {
      search::ScheduleResult result = search::scheduleAt(program, group, options, each.point);
      ASSERT_TRUE(result.schedule) << result.reason;
      SCOPED_TRACE(result.schedule->print());
      shared += sharesPanels(*result.schedule);
      check(program, *result.schedule);
      if (HasFatalFailure())
        return;
    }
  }
  EXPECT_GE(shared, 1u);
}

/// What a sum's condition lets through elsewhere must still be computed.
TEST(Bounds, AReaderWithoutTheConditionKeepsTheWholeExtent) {
  Expected<Program> program = parseProgram(R"(
input x[j:4, b:16, c:32] f32
const count[4] i32 = [1, 2, 3, 16]
e[j:4, b:16, c:32] f32 = exp(x[j, b, c])
s[j:4, c:32] f32 = sum<f32>[b:16] cases { b < count[j]: e[j, b, c]; else: 0 }
t[j:4, c:32] f32 = sum<f32>[b:16] e[j, b, c]
y[j:4, c:32] f32 = s[j, c] / t[j, c]
output y
)",
                                           "two_sums");
  ASSERT_TRUE(program.ok()) << program.error().message;
  for (int cores : {1, 2}) {
    search::ScheduleResult result =
        search::scheduleGroup(*program, wholeProgram(*program), optionsFor(cores, 512));
    ASSERT_TRUE(result.schedule) << result.reason;
    SCOPED_TRACE(result.schedule->print());
    EXPECT_LE(countBounded(*result.schedule), 1u);
    check(*program, *result.schedule);
  }
}

/// A condition that is not neutral where it fails is no bound.
TEST(Bounds, OnlyNeutralElementsAreLeftOut) {
  Expected<Program> program = parseProgram(R"(
input x[j:4, b:16, c:32] f32
const count[4] i32 = [1, 2, 3, 16]
y[j:4, c:32] f32 = sum<f32>[b:16] cases { b < count[j]: x[j, b, c]; else: 1 }
output y
)",
                                           "ones");
  ASSERT_TRUE(program.ok()) << program.error().message;
  search::ScheduleResult result =
      search::scheduleGroup(*program, wholeProgram(*program), optionsFor(2, 512));
  ASSERT_TRUE(result.schedule) << result.reason;
  EXPECT_EQ(countBounded(*result.schedule), 0u);
  check(*program, *result.schedule);
}

} // namespace
