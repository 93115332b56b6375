//===- streamed_test.cpp - Attention whose scores are in registers --------===//
//
// The schedule is the search's own. A processor runs the nests one after another, which tests what
// they say; of the loop that a device makes of them, the code is counted and assembled.
//
//===----------------------------------------------------------------------===//

#include "kernel_runner.h"
#include "nests.h"
#include "ptx.h"
#include "search/scheduler.h"
#include "te/parser.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;
using loops::Schedule;

namespace {

struct Sizes {
  int64_t heads, rows, columns, terms, values;
};

/// `score`: what the softmax is of, by s[h, i, j]; `outputs`: further ones.
std::string attention(Sizes sizes, const std::string &score, const std::string &outputs = "",
                      const std::string &type = "f16") {
  auto n = [](int64_t number) { return std::to_string(number); };
  std::string h = "h:" + n(sizes.heads), i = "i:" + n(sizes.rows), j = "j:" + n(sizes.columns);
  std::string d = "d:" + n(sizes.values), k = "k:" + n(sizes.terms);
  return "input q[" + n(sizes.heads) + ", " + n(sizes.rows) + ", " + n(sizes.terms) + "] " + type +
         "\ninput p[" + n(sizes.heads) + ", " + n(sizes.columns) + ", " + n(sizes.terms) + "] " +
         type + "\ninput v[" + n(sizes.heads) + ", " + n(sizes.columns) + ", " + n(sizes.values) +
         "] " + type + "\ninput mask[" + n(sizes.rows) + ", " + n(sizes.columns) + "] f32\n" +
         "s[" + h + ", " + i + ", " + j + "] f32 = sum<f32>[" + k +
         "] f32(q[h, i, k]) * f32(p[h, j, k])\n" +                    //
         "x[" + h + ", " + i + ", " + j + "] f32 = " + score + "\n" + //
         "(m[" + h + ", " + i + "] f32, z[" + h + ", " + i + "] f32) = softmax_stats<f32>[" + j +
         "] x[h, i, j]\n" + //
         "w[" + h + ", " + i + ", " + j + "] " + type + " = stored " + type +
         "(exp(x[h, i, j] - m[h, i]))\n" + //
         "o[" + h + ", " + i + ", " + d + "] f32 = sum<f32>[" + j +
         "] f32(w[h, i, j]) * f32(v[h, j, d])\n" + //
         "y[" + h + ", " + i + ", " + d + "] f32 = o[h, i, d] / z[h, i]\noutput y\n" + outputs;
}

/// `ringLimit`: see ScheduleOptions; 0: no warps multiply together. `rows`: of a head's tile; 0:
/// the search's.
std::optional<Schedule> scheduled(const std::string &text, int64_t ringLimit = 0,
                                  int64_t rows = 0) {
  Expected<Program> program = parseProgram(text, "test.te");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  loops::Group group;
  for (uint32_t node = 0; node < program->nodes.size(); ++node)
    group.nodes.push_back(node);
  for (const Program::Output &output : program->outputs)
    group.outputs.push_back(output.value);
  search::ScheduleOptions options;
  options.machine = *machine::Machine::forLevel("sm_90a");
  options.scratchLimit = 88 << 10;
  options.ringLimit = ringLimit;
  search::ScheduleResult found = scheduleGroup(*program, group, options);
  if (rows == 0)
    return found.schedule;
  found.point.threads = 0;
  found.point.registers.clear();
  found.point.sizes[found.point.sizes.size() - 3] = 1;
  found.point.sizes.end()[-2] = rows;
  found.point.sizes.back() = 64;
  return scheduleAt(*program, group, options, found.point).schedule;
}

bool isStreamed(const Schedule &schedule) {
  return schedule.nests.size() == 4 && schedule.nests[0].streamed;
}

const std::string masked = "s[h, i, j] * 0.125 + mask[i, j]";

} // namespace

TEST(Streamed, KeepsScoresOutOfMemory) {
  std::optional<Schedule> schedule = scheduled(attention({12, 1024, 1024, 64, 64}, masked));
  ASSERT_TRUE(schedule);
  ASSERT_TRUE(isStreamed(*schedule)) << schedule->print();
  // What two tiles of scores take would not fit; that of a device is a few of its blocks.
  EXPECT_LT(schedule->scratchBytes, 88 << 10);
  EXPECT_GT(schedule->standInBytes, 64 * 1024 * 4);
  EXPECT_EQ(llvm::count_if(schedule->buffers, [](const auto &buffer) { return buffer.standsIn; }),
            2);
  EXPECT_TRUE(schedule->nests[3].matrix);
}

TEST(Streamed, LeavesWhatOthersNeed) {
  // Scores, or weights, that are outputs lie in memory; another softmax is not one of all columns.
  for (const char *output : {"output x\n", "output w\n"}) {
    std::optional<Schedule> schedule = scheduled(attention({2, 64, 64, 32, 32}, masked, output));
    EXPECT_TRUE(!schedule || !isStreamed(*schedule)) << output;
  }
  std::string text = attention({2, 64, 64, 32, 32}, masked);
  text.replace(text.find("exp(x[h, i, j] - m"), 18, "exp(s[h, i, j] - m");
  std::optional<Schedule> schedule = scheduled(text);
  EXPECT_TRUE(!schedule || !isStreamed(*schedule));
}

TEST(Streamed, MeansTheSameOnAProcessor) {
  for (Sizes sizes : {Sizes{24, 64, 128, 32, 32}, {24, 49, 49, 32, 32}, {24, 100, 77, 40, 24}}) {
    std::optional<Schedule> schedule = scheduled(attention(sizes, masked));
    ASSERT_TRUE(schedule);
    ASSERT_TRUE(isStreamed(*schedule)) << schedule->print();
    Operands memory;
    for (const auto &buffer : schedule->buffers)
      if (buffer.home == loops::Home::Memory && !buffer.written)
        memory.push_back(numbers(buffer.elements));
      else if (buffer.home == loops::Home::Memory)
        memory.push_back({});
    EXPECT_EQ(compareKernel(*schedule, memory, 2e-3), "") << sizes.rows;
  }
}

TEST(Streamed, LeavesHiddenBlocksOut) {
  // Blocks of 64 rows and columns have a flag each.
  std::string score = "cases { open[i // 64, j // 64]: s[h, i, j] * 0.125; else: -inf }";
  for (Sizes sizes : {Sizes{2, 128, 512, 64, 64}, {2, 128, 4096, 64, 64}}) {
    int64_t across = sizes.columns / 64;
    std::string text = "input open[2, " + std::to_string(across) + "] bool\n";
    std::optional<Schedule> schedule = scheduled(text + attention(sizes, score));
    ASSERT_TRUE(schedule);
    ASSERT_TRUE(isStreamed(*schedule)) << schedule->print();
    EXPECT_TRUE(schedule->nests[0].skipsBlocks);
    const loops::MatrixTile &tile = *schedule->nests[0].matrix;
    EXPECT_EQ(64 % (tile.columns / tile.across), 0u);
    for (const char *level : {"sm_80", "sm_90a"}) {
      EXPECT_EQ(countOf(textOf(*schedule, level), "vote.sync.ballot"), 1u);
      if (hasAssembler())
        expectAssembles(*schedule, level, "hidden");
    }
    if (sizes.columns > 1000)
      continue;
    Operands memory;
    for (const auto &buffer : schedule->buffers)
      if (buffer.home == loops::Home::Memory)
        memory.push_back(buffer.written
                             ? std::vector<double>()
                             : numbers(buffer.elements, 0, 1.2, buffer.type == ElementType::Bool));
    EXPECT_EQ(compareKernel(*schedule, memory, 2e-3), "");
  }
  // Flags of other blocks than the loop's are only values.
  std::optional<Schedule> schedule = scheduled(
      "input open[128, 512] bool\n" +
      attention({2, 128, 512, 64, 64}, "cases { open[i, j]: s[h, i, j] * 0.125; else: -inf }"));
  ASSERT_TRUE(schedule && isStreamed(*schedule));
  EXPECT_FALSE(schedule->nests[0].skipsBlocks);
}

TEST(Streamed, GroupsOfFourWarpsHaveOpenBlocksOfTheirOwn) {
  std::string text = "input open[16, 16] bool\n" +
                     attention({12, 1024, 1024, 64, 64},
                               "cases { open[i // 64, j // 64]: s[h, i, j]; else: -inf }");
  std::optional<Schedule> schedule = scheduled(text, 200 << 10);
  ASSERT_TRUE(schedule && isStreamed(*schedule));
  const loops::MatrixTile &tile = *schedule->nests[0].matrix;
  EXPECT_TRUE(tile.inFours && schedule->nests[0].skipsBlocks);
  ASSERT_EQ(tile.across, 2u) << schedule->print();
  EXPECT_EQ(tile.columns, 128u);
  // Of 256 threads those of a group wait in the loop, which has no barrier of all.
  llvm::SmallVector<llvm::StringRef> lines;
  std::string code = textOf(*schedule, "sm_90a");
  llvm::StringRef(code).split(lines, '\n');
  EXPECT_EQ(llvm::count_if(lines,
                           [](llvm::StringRef line) {
                             return line.contains("bar.sync") && line.ends_with(", 128;");
                           }),
            1);
  for (const char *level : {"sm_80", "sm_90a"})
    if (hasAssembler())
      expectAssembles(*schedule, level, "apart");
}

TEST(Streamed, AsksForBitsWhereSomeAreNotSet) {
  std::string score =
      "cases { open[i // 64, j // 64]: cases { (shr(words[i, j // 64], {j % 64}) and "
      "1) != 0: s[h, i, j] * 0.125; else: -inf }; else: -inf }";
  for (int64_t ringLimit : {0, 200 << 10})
    for (Sizes sizes : {Sizes{2, 128, 512, 64, 64}, {12, 4096, 16384, 64, 64}}) {
      auto n = [](int64_t number) { return std::to_string(number); };
      std::string text = "input open[" + n(sizes.rows / 64) + ", " + n(sizes.columns / 64) +
                         "] bool\ninput words[" + n(sizes.rows) + ", " + n(sizes.columns / 64) +
                         "] u64\n";
      std::optional<Schedule> schedule = scheduled(text + attention(sizes, score), ringLimit);
      ASSERT_TRUE(schedule && isStreamed(*schedule));
      EXPECT_TRUE(schedule->nests[0].skipsBlocks);
      for (const char *level : {"sm_80", "sm_90a"}) {
        EXPECT_EQ(countOf(textOf(*schedule, level), "vote.sync.all"), 1u);
        if (hasAssembler())
          expectAssembles(*schedule, level, "bits");
      }
      if (sizes.columns > 1000)
        continue;
      Operands memory;
      for (const auto &buffer : schedule->buffers)
        if (buffer.home == loops::Home::Memory) {
          std::vector<double> values;
          for (int64_t k = 0; k < buffer.elements && !buffer.written; ++k)
            values.push_back(buffer.type == ElementType::U64
                                 ? double(k * 2654435761 % 65536 * 2 + 1)
                             : buffer.type == ElementType::Bool ? double(k % 3 != 1)
                                                                : double(k * 7 % 31) / 16 - 1);
          memory.push_back(values);
        }
      EXPECT_EQ(compareKernel(*schedule, memory, 2e-3), "");
    }
}

TEST(Streamed, LeavesBlocksOutThatARowGroupDoesNotSee) {
  // 128 rows share keys, of which each 64 have flags of their own.
  for (int64_t columns : {256, 4096}) {
    std::optional<Schedule> schedule =
        scheduled("input open[4, " + std::to_string(columns / 64) + "] bool\n" +
                      attention({2, 256, columns, 64, 64},
                                "cases { open[i // 64, j // 64]: s[h, i, j]; else: -inf }"),
                  200 << 10, 128);
    ASSERT_TRUE(schedule && isStreamed(*schedule));
    EXPECT_TRUE(schedule->nests[0].skipsBlocks);
    EXPECT_EQ(schedule->nests[0].matrix->rows, 128u);
    for (const char *level : {"sm_80", "sm_90a"})
      if (hasAssembler())
        expectAssembles(*schedule, level, "groups");
    Operands memory;
    for (const auto &buffer : schedule->buffers)
      if (buffer.home == loops::Home::Memory)
        memory.push_back(buffer.written
                             ? std::vector<double>()
                             : numbers(buffer.elements, 0, 1.2, buffer.type == ElementType::Bool));
    if (columns < 1000)
      EXPECT_EQ(compareKernel(*schedule, memory, 2e-3), "");
  }
}

TEST(Streamed, LetsFourWarpsMultiplyTogether) {
  for (Sizes sizes :
       {Sizes{12, 4096, 4096, 64, 64}, {12, 4096, 4096, 128, 128}, {12, 4096, 4096, 80, 32}})
    for (const char *type : {"f16", "bf16"}) {
      std::optional<Schedule> schedule =
          scheduled(attention(sizes, "s[h, i, j] * 0.125", "", type), 200 << 10);
      ASSERT_TRUE(schedule && isStreamed(*schedule)) << schedule->print();
      const loops::MatrixTile &scores = *schedule->nests[0].matrix;
      ASSERT_TRUE(scores.inFours && schedule->nests[3].matrix->inFours) << schedule->print();
      size_t steps = (sizes.terms + scores.depth - 1) / scores.depth;
      std::string text = textOf(*schedule, "sm_90a");
      EXPECT_EQ(countOf(text, "wgmma.mma_async"),
                steps * scores.depth / 16 + scores.columns / scores.across / 16);
      EXPECT_EQ(countOf(text, "mma.sync"), 0u);
      EXPECT_EQ(countOf(textOf(*schedule, "sm_80"), "wgmma"), 0u);
      if (hasAssembler())
        for (const char *level : {"sm_80", "sm_90a"})
          expectAssembles(*schedule, level, std::string("fours_") + type);
    }
}

TEST(Streamed, MultipliesOnMatrixUnits) {
  for (const char *type : {"f16", "bf16"})
    for (Sizes sizes : {Sizes{4, 256, 512, 64, 64}, {24, 49, 49, 32, 32}, {12, 70, 90, 80, 40}}) {
      std::optional<Schedule> schedule = scheduled(attention(sizes, masked, "", type));
      ASSERT_TRUE(schedule);
      ASSERT_TRUE(isStreamed(*schedule)) << schedule->print();
      const loops::MatrixTile &scores = *schedule->nests[0].matrix;
      const loops::MatrixTile &weighted = *schedule->nests[3].matrix;
      size_t steps = (sizes.terms + scores.depth - 1) / scores.depth;
      size_t own = scores.columns / scores.across; // Of a group of warps.
      size_t products = steps * scores.depth / 16 * own / 8 + own / 16 * weighted.columns / 8;
      for (const char *level : {"sm_80", "sm_90a"}) {
        std::string text = textOf(*schedule, level);
        EXPECT_EQ(countOf(text, "mma.sync.aligned.m16n8k16"), products) << level;
        EXPECT_GE(countOf(text, "ex2.approx"), own / 2);
        EXPECT_EQ(countOf(text, "mul.rn.f64"), 0u);
        if (hasAssembler())
          expectAssembles(*schedule, level, std::string("streamed_") + type);
      }
    }
}

} // namespace kintsugi::test
