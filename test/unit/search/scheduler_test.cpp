#include "../loops/runner.h"
#include "whole_program.h"

#include "loops/group_key.h"
#include "search/choice_memo.h"
#include "search/point_text.h"
#include "search/scheduler.h"
#include "te/interpreter.h"
#include "te/parser.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace kintsugi;
using namespace kintsugi::te;
using kintsugi::test::Memory;

namespace {

struct Case {
  const char *name;
  const char *text;
  size_t nests;        ///< Of the kernel that has everything.
  bool packs = false;  ///< Whether it would have a constant operand packed.
  bool copies = false; ///< Whether it copies an operand that isn't constant.
};

const Case cases[] = {
    {"matmul_bias_relu", R"(
input a[m:37, k:50] f32
input b[k:50, n:65] f32
input c[n:65] f32
t[m:37, n:65] f32 = sum<f32>[k:50] a[m, k] * b[k, n]
u[m:37, n:65] f32 = t[m, n] + c[n]
y[m:37, n:65] f32 = max(u[m, n], 0.0)
output y
)",
     1, true},
    {"softmax", R"(
input x[h:3, i:20, j:45] f32
m[h:3, i:20] f32 = max<f32>[j:45] x[h, i, j]
e[h:3, i:20, j:45] f32 = exp(x[h, i, j] - m[h, i])
s[h:3, i:20] f32 = sum<f32>[j:45] e[h, i, j]
y[h:3, i:20, j:45] f32 = e[h, i, j] / s[h, i]
output y
)",
     3},
    {"padded_convolution", R"(
input x[n:1, c:5, h:13, w:17] f32
input k[o:12, c:5, r:3, s:3] f32
input r[n:1, o:12, h:13, w:17] f32
p[n:1, c:5, h:15, w:19] f32 = (x[n, c, h - 1, w - 1] | 0.0)
t[n:1, o:12, h:13, w:17] f32 = sum<f32>[c:5, r:3, s:3] p[n, c, h + r, w + s] * k[o, c, r, s]
y[n:1, o:12, h:13, w:17] f32 = max(t[n, o, h, w] + r[n, o, h, w], 0.0)
output y
)",
     4},
    {"grouped_convolution", R"(
input x[c:12, h:9] f32
input k[o:8, c:3, r:2] f32
t[g:4, o:2, h:8] f32 = sum<f32>[c:3, r:2] x[3 * g + c, h + r] * k[2 * g + o, c, r]
y[o:8, h:8] f32 = t[o // 2, o % 2, h] + 1.0
output y
)",
     1},
    {"channels_last_convolution", R"(
input x[h:9, w:17, c:6] f32
input k[o:40, c:6, r:3, s:3] f32
y[h:7, w:15, o:40] f32 = sum<f32>[c:6, r:3, s:3] x[h + r, w + s, c] * k[o, c, r, s]
output y
)",
     1, true, true},
    {"channels_last_depthwise", R"(
input x[h:9, w:17, c:37] f32
input k[c:37, r:3, s:3] f32
y[h:7, w:15, c:37] f32 = sum<f32>[r:3, s:3] x[h + r, w + s, c] * k[c, r, s]
output y
)",
     1, true, true},
    {"batched_transposed_weights", R"(
input x[b:3, m:5, k:21] f32
input w[b:3, n:50, k:21] f32
y[b:3, m:5, n:50] f32 = sum<f32>[k:21] x[b, m, k] * w[b, n, k]
output y
)",
     1, true, true},
    {"attention_scores", R"(
input q[m:96, h:3, d:48] f32
input k[n:80, h:3, d:48] f32
y[h:3, m:96, n:80] f32 = sum<f32>[d:48] q[m, h, d] * k[n, h, d]
output y
)",
     1, true, true},
    {"transposed_convolution_by_phase", R"(
input x[h:9, w:9, c:7] f32
input k[c:7, o:24, r:4, s:4] f32
y[h:8, w:8, p:2, q:2, o:24] f32 = sum<f32>[c:7, r:2, s:2] x[h + r, w + s, c] * k[c, o, p - 2 * r + 2, q - 2 * s + 2]
output y
)",
     1, true, true},
    {"channels_first_result", R"(
input x[p:64, c:70] f32
input k[o:50, c:70] f32
t[p:64, o:50] f32 = sum<f32>[c:70] x[p, c] * k[o, c]
y[o:50, h:8, w:8] f32 = t[8 * h + w, o] + 1.0
output y
)",
     1, true, true},
    {"flattened_after_a_reduction", R"(
input x[b:2, c:8, w:4] f32
input g[k:16, n:9] f32
p[b:2, c:8, w:2] f32 = max<f32>[r:2] x[b, c, 2 * w + r]
f[b:2, k:16] f32 = p[b, k // 2, k % 2]
y[b:2, n:9] f32 = sum<f32>[k:16] f[b, k] * g[k, n]
output y
)",
     2, true},
    {"one_constant_twice_in_a_sum", R"(
input x[i:30, k:40] f32
input w[j:50, k:40] f32
y[i:30, j:50] f32 = sum<f32>[k:40] (x[i, k] - w[j, k]) * (x[i, k] - w[j, k])
output y
)",
     1, true, true},
    {"one_constant_in_two_sums", R"(
input x[i:30, k:40] f32
input w[j:40, k:40] f32
t[i:30, j:40] f32 = sum<f32>[k:40] x[i, k] * w[k, j]
y[i:30, j:40] f32 = sum<f32>[k:40] t[i, k] * w[k, j]
output y
)",
     2},
    {"two_operands_that_lie_badly", R"(
input a[k:60, m:70] f32
input b[n:80, k:60] f32
y[m:70, n:80] f32 = sum<f32>[k:60] a[k, m] * (b[n, k] * b[m, k])
output y
)",
     1, false, true},
    {"padded_where_it_is_read", R"(
input x[h:11, w:13, c:24] f32
input k[o:40, c:24, r:3, s:3] f32
y[h:11, w:13, o:40] f32 = sum<f32>[c:24, r:3, s:3] (x[h + r - 1, w + s - 1, c] | 0.0) * k[o, c, r, s]
output y
)",
     1, true, true},
    {"merged_heads", R"(
input x[h:4, s:6, d:8] f32
input w[k:32, n:10] f32
t[s:6, n:10] f32 = sum<f32>[k:32] x[k // 8, s, k % 8] * w[k, n]
y[s:6, n:10] f32 = -t[s, n]
output y
)",
     1, true},
    {"strided_pool_after_halo", R"(
input x[h:21, w:21] f32
a[h:21, w:21] f32 = exp(x[h, w])
b[h:10, w:10] f32 = max<f32>[r:3, s:3] a[2 * h + r, 2 * w + s]
y[h:10, w:10] f32 = b[h, w] * 2.0
output y
)",
     2},
    {"two_outputs", R"(
input x[i:30, j:40] f32
m[i:30] f32 = sum<f32>[j:40] x[i, j]
y[i:30, j:40] f32 = x[i, j] - m[i]
output y
output m
)",
     2},
    {"shuffle", R"(
input x[c:12, p:49] f32
y[c:12, p:49] f32 = x[6 * (c % 2) + c // 2, p] + 1.0
output y
)",
     1},
    {"concatenation_of_columns", R"(
input a[i:30, j:20] f32
input b[i:30, j:45] f32
input c[i:30, j:7] f32
y[i:30, j:72] f32 = cases { j < 20: a[i, j]; j < 65: b[i, j - 20]; else: c[i, j - 65] } * 2.0
output y
)",
     3},
    {"concatenation_on_the_way", R"(
input a[c:5, p:49] f32
input b[c:6, p:49] f32
input w[o:9, c:11] f32
x[c:11, p:49] f32 = cases { c < 5: a[c, p]; else: exp(b[c - 5, p]) }
s[p:49] f32 = max<f32>[c:11] x[c, p]
y[o:9, p:49] f32 = sum<f32>[c:11] (x[c, p] - s[p]) * w[o, c]
output y
)",
     4},
    {"constant_from_before_its_start", R"(
input x[c:8, h:18] f32
input k[o:32, c:8, r:3] f32
y[h:16, o:32] f32 = sum<f32>[c:8, r:3] x[c, h + r] * (k[o, c, r - 1] | 0.0)
output y
)",
     1},
    {"constant_beyond_its_end", R"(
input x[c:8, h:18] f32
input k[o:32, c:8, r:3] f32
y[h:16, o:32] f32 = sum<f32>[c:8, r:3] x[c, h + r] * (k[o, c, r + 1] | 0.0)
output y
)",
     1},
    {"sum_of_few_columns", R"(
input x[i:3, j:131072] f32
y[j:131072] f32 = sum<f32>[i:3] x[i, j]
output y
)",
     1},
    {"sum_of_nothing", R"(
input x[i:300, j:2048] f32
t[j:2048] f32 = sum<f32>[k:0] x[k, j]
y[j:2048] f32 = t[j] + 1.0
output y
)",
     1},
    {"sum_of_columns", R"(
input x[i:300, j:1536] f32
t[j:1536] f32 = sum<f32>[i:300] x[i, j]
y[j:1536] f32 = t[j] / 300.0
output y
)",
     1},
};

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

class SchedulerTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    Expected<Program> parsed = parseProgram(GetParam().text, GetParam().name);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    program = std::move(*parsed);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<TensorView> views;
    for (ValueId input : program.inputs) {
      std::vector<int64_t> shape;
      for (Extent extent : program.shape(input))
        shape.push_back(extent.constant());
      Expected<Tensor> tensor = Tensor::create(ElementType::F32, shape);
      ASSERT_TRUE(tensor.ok());
      for (float &x : tensor->as<float>())
        x = uniform(random);
      feeds.push_back(std::move(*tensor));
    }
    for (const Tensor &feed : feeds)
      views.push_back(feed.view());
    Expected<std::vector<Tensor>> results = interpret(program, views);
    ASSERT_TRUE(results.ok()) << results.error().message;
    expected = std::move(*results);
  }

  loops::Group wholeProgram() const { return test::wholeOf(program); }

  /// A constant as the kernel wants it, by the interpreter.
  void pack(const loops::Buffer &buffer, const Tensor &feed, std::vector<double> &packed) {
    Program packing;
    ValueId source = packing.addInput("source", buffer.type, Shape(program.shape(buffer.value)));
    packing.addOutput("packed", packing.define("p", buffer.type,
                                               buffer.packing->define(source, packing.shape(source),
                                                                      buffer.type)));
    ASSERT_TRUE(packing.verify().ok());
    Expected<std::vector<Tensor>> results = interpret(packing, {feed.view()});
    ASSERT_TRUE(results.ok()) << results.error().message;
    for (auto [element, x] : llvm::zip_equal(packed, results->front().as<float>()))
      element = x;
  }

  /// Without copies that scheduling added.
  size_t nestsOfTheProgram(const loops::Schedule &schedule) const {
    return llvm::count_if(schedule.nests, [&](const loops::LoopNest &nest) {
      return schedule.buffers[nest.destinations[0]].value.number < program.numValues();
    });
  }

  void check(const loops::Schedule &schedule) {
    Memory memory;
    for (const loops::Buffer &buffer : schedule.buffers)
      memory.emplace_back(buffer.elements, NAN);
    for (auto [input, feed] : llvm::zip(program.inputs, feeds))
      for (auto [number, buffer] : llvm::enumerate(schedule.buffers))
        if (buffer.value == input && buffer.packing)
          pack(buffer, feed, memory[number]);
        else if (buffer.value == input)
          for (auto [element, x] : llvm::zip(memory[number], feed.as<float>()))
            element = x;
    ASSERT_EQ(test::runSchedule(schedule, memory), "");
    for (auto [output, tensor] : llvm::zip(program.outputs, expected)) {
      const auto *buffer = llvm::find_if(
          schedule.buffers, [&](const loops::Buffer &b) { return b.value == output.value; });
      ASSERT_NE(buffer, schedule.buffers.end());
      const std::vector<double> &values = memory[buffer - schedule.buffers.begin()];
      for (auto [position, x] : llvm::enumerate(tensor.as<float>()))
        ASSERT_NEAR(values[position], x, 1e-5) << output.name << " at " << position;
    }
  }

  Program program;
  std::vector<Tensor> feeds;
  std::vector<Tensor> expected;
};

TEST_P(SchedulerTest, WholeProgramAsOneKernel) {
  for (int cores : {1, 2, 16})
    for (int bits : {0, 256, 512}) {
      search::ScheduleResult result =
          search::scheduleGroup(program, wholeProgram(), optionsFor(cores, bits));
      ASSERT_TRUE(result.schedule) << result.reason;
      if (bits) // Scalar code keeps the sides of a choice in one nest.
        EXPECT_EQ(nestsOfTheProgram(*result.schedule), GetParam().nests)
            << result.schedule->print();
      SCOPED_TRACE(result.schedule->print());
      check(*result.schedule);
      EXPECT_GT(result.schedule->operations, 0);
    }
}

/// With every input but the first known when the model is compiled.
TEST_P(SchedulerTest, PackedConstants) {
  loops::Group group = wholeProgram();
  group.constants.assign(program.inputs.begin() + 1, program.inputs.end());
  unsigned packed = 0;
  for (int cores : {1, 2, 16, 64})
    for (int bits : {128, 256, 512}) {
      search::ScheduleResult result =
          search::scheduleGroup(program, group, optionsFor(cores, bits));
      ASSERT_TRUE(result.schedule) << result.reason;
      SCOPED_TRACE(result.schedule->print());
      for (const loops::Buffer &buffer : result.schedule->buffers)
        packed += buffer.packing.has_value();
      check(*result.schedule);
    }
  EXPECT_EQ(packed > 0, GetParam().packs);
}

TEST_P(SchedulerTest, RegisterTilesFitTheirNests) {
  search::ScheduleResult result =
      search::scheduleGroup(program, wholeProgram(), optionsFor(2, 512));
  ASSERT_TRUE(result.schedule);
  for (const loops::LoopNest &nest : result.schedule->nests) {
    const loops::RegisterTile &tile = nest.registers;
    auto extent = [&](int iterator) {
      return iterator < int(nest.parallel.size())
                 ? nest.parallel[iterator].extent.constant()
                 : nest.reduction->iterators[iterator - nest.parallel.size()].extent.constant();
    };
    if (tile.vectorIterator >= 0 && extent(tile.vectorIterator) < tile.lanes)
      EXPECT_EQ(tile.vectors, 1u);
    else if (tile.vectorIterator >= 0)
      EXPECT_LT(int64_t(tile.lanes) * (tile.vectors - 1), extent(tile.vectorIterator));
    if (tile.rowIterator >= 0)
      EXPECT_LE(int64_t(tile.rows), extent(tile.rowIterator));
  }
}

TEST_P(SchedulerTest, APointIsAScheduleAgain) {
  search::ScheduleOptions options = optionsFor(2, 512);
  std::vector<search::Tried> tried;
  search::ScheduleResult found = search::scheduleGroup(program, wholeProgram(), options, &tried);
  ASSERT_TRUE(found.schedule);
  search::ScheduleResult again = search::scheduleAt(program, wholeProgram(), options, found.point);
  ASSERT_TRUE(again.schedule) << search::pointText(found.point);
  EXPECT_EQ(again.schedule->print(), found.schedule->print());
  EXPECT_EQ(again.computeSeconds, found.computeSeconds);
  EXPECT_EQ(again.point, found.point);
  for (size_t i = 0; i < tried.size(); i += 1 + tried.size() / 8) {
    const loops::Point &point = tried[i].point;
    std::optional<loops::Point> read = search::parsePoint(search::pointText(point));
    ASSERT_TRUE(read) << search::pointText(point);
    EXPECT_EQ(*read, point);
    search::ScheduleResult result = search::scheduleAt(program, wholeProgram(), options, *read);
    ASSERT_TRUE(result.schedule) << search::pointText(point);
    EXPECT_EQ(result.computeSeconds, tried[i].computeSeconds) << search::pointText(point);
    check(*result.schedule);
  }
}

TEST_P(SchedulerTest, WhatIsKnownOrLeftOutChangesNothing) {
  static search::ChoiceMemo memo; // Of all programs.
  for (int cores : {1, 2, 8})
    for (unsigned bits : {256, 512}) {
      search::ScheduleOptions options = optionsFor(cores, bits);
      options.machine.stageSeconds = 1e-9; // Even these are worth cutting.
      std::vector<search::Tried> tried;    // Whoever asks hears of all, to the end.
      search::ScheduleResult all = search::scheduleGroup(program, wholeProgram(), options, &tried);
      options.choiceMemo = &memo;
      search::ScheduleResult found = search::scheduleGroup(program, wholeProgram(), options);
      ASSERT_TRUE(all.schedule && found.schedule);
      EXPECT_EQ(search::pointText(found.point), search::pointText(all.point));
      EXPECT_EQ(found.computeSeconds, all.computeSeconds);
      EXPECT_EQ(found.schedule->print(), all.schedule->print());
      options.choiceMemo = nullptr;
      for (size_t i = 0; i < tried.size(); i += 1 + tried.size() / 64) {
        search::ScheduleResult alone =
            search::scheduleAt(program, wholeProgram(), options, tried[i].point);
        EXPECT_EQ(alone.computeSeconds, tried[i].computeSeconds);
      }
    }
}

TEST_P(SchedulerTest, AnyRegistersOnOfferGiveTheSameAnswers) {
  search::ScheduleOptions options = optionsFor(2, 512);
  loops::Point point = search::scheduleGroup(program, wholeProgram(), options).point;
  std::vector<search::NestChoices> choices;
  ASSERT_TRUE(search::scheduleAt(program, wholeProgram(), options, point, &choices).schedule);
  double shares = 0;
  for (auto [nest, choice] : llvm::enumerate(choices)) {
    shares += choice.share;
    ASSERT_FALSE(choice.registers.empty());
    for (size_t i = 0; i < choice.registers.size(); i += 7) {
      loops::Point other = point;
      other.registers.resize(nest);
      other.registers.push_back(choice.registers[i]);
      std::optional<loops::Point> read = search::parsePoint(search::pointText(other));
      ASSERT_TRUE(read) << search::pointText(other);
      EXPECT_EQ(*read, other);
      search::ScheduleResult result = search::scheduleAt(program, wholeProgram(), options, other);
      ASSERT_TRUE(result.schedule) << search::pointText(other);
      check(*result.schedule);
    }
  }
  EXPECT_NEAR(shares, 1, 1e-9);
}

TEST_P(SchedulerTest, WhatIsNoPointOfTheGroupHasNoSchedule) {
  search::ScheduleOptions options = optionsFor(2, 512);
  const loops::Point good = search::scheduleGroup(program, wholeProgram(), options).point;
  auto refused = [&](auto change) {
    loops::Point point = good;
    change(point);
    search::ScheduleResult result = search::scheduleAt(program, wholeProgram(), options, point);
    return !result.schedule && !result.reason.empty();
  };
  using loops::Point;
  EXPECT_TRUE(refused([](Point &p) { p.sizes.push_back(1); }));
  EXPECT_TRUE(refused([](Point &p) { p.sizes[0] = 0; }));
  EXPECT_TRUE(refused([](Point &p) { p.sizes[0] = 1 << 30; }));
  EXPECT_TRUE(refused([](Point &p) { p.transforms.resize(60, {0, 0}); }));
  EXPECT_TRUE(refused([](Point &p) { p.registers.resize(50, loops::RegisterTile()); }));
  loops::RegisterTile odd;
  odd.vectorIterator = 0;
  odd.lanes = 3;
  EXPECT_TRUE(refused([&](Point &p) { p.registers = {odd}; }));
  odd.vectorIterator = 99;
  odd.lanes = 16;
  EXPECT_TRUE(refused([&](Point &p) { p.registers = {odd}; }));
}

TEST(SchedulePoint, TextThatIsNoneIsRefused) {
  for (const char *text :
       {"", "-", "- -", "-  -", "2 4 -", "pad 4,x -", "pad 4, -", "pad#0 4 -", "pad# 4 -",
        "pad#x 4 -", "pad, 4 -", "pad,nosuch 4 -", "- 4 1x16", "- 4 1x16x2+", "- 4 1x16x2+3",
        "- 4 -1x16x2", "- 4 1x16x2 ", "- 04 -", "- 99999999999999999999 -"})
    EXPECT_FALSE(search::parsePoint(text)) << text;
  EXPECT_TRUE(search::parsePoint("- - -"));
  EXPECT_TRUE(search::parsePoint("keep-reduced,stage-operand,stage-operand#2 4 -"));
}

TEST(SchedulerPrograms, CountWhatIsColdOfWhatTheyRead) {
  Program inputs = test::parsed("input a[m:64, k:128] f32\ninput b[k:128, n:96] f32\n"
                                "y[m:64, n:96] f32 = sum<f32>[k:128] a[m, k] * b[k, n]\n"
                                "output y\n");
  loops::Group group = test::wholeOf(inputs);
  group.constants = {inputs.inputs[1]};
  for (const char *level : {"x86-64-v3", "x86-64-v4", "sm_90a"})
    for (bool cold : {false, true}) {
      search::ScheduleOptions options;
      options.machine = *machine::Machine::forLevel(level);
      options.copies = options.machine.threads == 0;
      options.coldConstants = cold;
      search::ScheduleResult result = search::scheduleGroup(inputs, group, options);
      ASSERT_TRUE(result.schedule) << result.reason;
      EXPECT_EQ(result.schedule->bytesCold, cold ? 128 * 96 * 4 : 0) << level;
      EXPECT_GE(result.schedule->bytesRead, (64 + 96) * 128 * 4) << level;
    }
}

/// An index that data name, taken apart along two dimensions, is put together again.
TEST(SchedulerPrograms, DigitsOfDataAreOnePosition) {
  for (const char *shape : {"p:6, q:9", "p:6, q:27"}) {
    bool isWhole = llvm::StringRef(shape).contains("27");
    Program program = test::parsed("input ids[i:40] i64\ninput x[h:3, " + std::string(shape) +
                                   "] f32\ny[h:3, i:40] f32 = x[h, {ids[i]}//27, {ids[i]}%27]\n"
                                   "output y\n");
    search::ScheduleResult result =
        search::scheduleGroup(program, test::wholeOf(program), test::vectorMachine(1 << 25));
    ASSERT_TRUE(result.schedule) << result.reason;
    unsigned count = 0; // Of numbers from data that a position is made of.
    result.schedule->nests[0].bodies[0].walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && e.type() == ElementType::F32)
        e.readIndices()[0].forEachData([&](const Expr &) { ++count; });
    });
    EXPECT_EQ(count, isWhole ? 1u : 2u) << shape;
  }
}

TEST_P(SchedulerTest, CopiesOnTheWayWhereTheyPay) {
  search::ScheduleResult result =
      search::scheduleGroup(program, wholeProgram(), optionsFor(1, 512));
  ASSERT_TRUE(result.schedule);
  bool copies = result.schedule->nests.size() > nestsOfTheProgram(*result.schedule);
  EXPECT_EQ(copies, GetParam().copies) << result.schedule->print();
}

TEST(SchedulerPrograms, OpenRowsAreCutSoThatTilesCanBeLeftOut) {
  Program program = test::parsed(R"(
input a[m:128, k:768] f32
input b[k:768, n:768] f32
y[m:128, n:768] f32 = sum<f32>[k:768] a[m, k] * b[k, n]
output y
)");
  loops::Group group = test::wholeOf(program);
  search::ScheduleOptions options = test::vectorMachine(16 << 20);
  auto rows = [&] {
    search::ScheduleResult result = search::scheduleGroup(program, group, options);
    EXPECT_TRUE(result.schedule);
    return result.point.sizes[0];
  };
  double whole = search::scheduleGroup(program, group, options).computeSeconds;
  EXPECT_GE(rows(), 32);
  group.open = {{0, 1, 65, 128}};
  EXPECT_LE(rows(), 16);
  EXPECT_LT(search::scheduleGroup(program, group, options).computeSeconds, 1.05 * whole);
  EXPECT_NE(loops::keyOf(program, group).text, loops::keyOf(program, test::wholeOf(program)).text);
}

TEST(SchedulerPrograms, EveryCaseIsThere) { EXPECT_EQ(std::size(cases), 26u); }

INSTANTIATE_TEST_SUITE_P(Programs, SchedulerTest, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
