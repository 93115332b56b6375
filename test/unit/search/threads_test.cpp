//===- threads_test.cpp - Sums and points shared by a block's threads ------===//

#include "loops/block_registers.h"
#include "on_gpu.h"
#include "search/choice_memo.h"
#include "search/threads.h"

using namespace kintsugi;
using namespace kintsugi::te;
using namespace kintsugi::cost;
using namespace kintsugi::loops;
using namespace kintsugi::search;
using test::parsed;
using test::scheduled;

namespace {

/// y = W x, W[o, c] or W[c, o].
std::string oneRow(const std::string &type, const std::string &place) {
  std::string shape = place == "o, c" ? "2048, 1024" : "1024, 2048";
  return "input x[1024] " + type + "\ninput w[" + shape + "] " + type +
         "\ny[o:2048] f32 = sum<f32>[c:1024] f32(x[c]) * f32(w[" + place + "])\noutput y\n";
}

/// Cycles of a block for a schedule's first nest with these registers.
double busyWith(const RegisterTile &tile, Schedule schedule) {
  LoopNest nest = schedule.nests[0];
  NestChoice wanted = tile;
  ChoiceMemo memo;
  std::optional<BlockCycles> cycles = chooseThreads(nest, schedule, {}, memo, {&wanted, nullptr});
  EXPECT_TRUE(cycles);
  return cycles ? cycles->busy : 0;
}

/// Cycles of a block of so many threads, 64 of which share what is made of each row of x[4, 513].
double busyOfFourRows(const std::string &definition, int threads) {
  Schedule schedule = scheduled(parsed("input x[4, 513] f32\n" + definition + "\noutput most\n"));
  schedule.threads = threads;
  RegisterTile tile;
  tile.vectorIterator = 1;
  tile.lanes = 64;
  return busyWith(tile, std::move(schedule));
}

/// The schedule of a program where a core has other numbers than an H200's.
ScheduleResult onCore(const std::string &text,
                      llvm::function_ref<void(machine::BlockCore &)> change) {
  Program program = parsed(text);
  ScheduleOptions options;
  options.machine = *machine::Machine::forLevel("sm_90a");
  options.scratchLimit = options.machine.core.scratchBytes;
  options.copies = false;
  change(options.machine.core);
  ScheduleResult result = scheduleGroup(program, test::wholeOf(program), options);
  EXPECT_TRUE(result.schedule) << result.reason;
  return result;
}

} // namespace

TEST(Threads, AreAsManyAndWaitAsLongAsTheCoreSays) {
  const std::string sum = oneRow("f32", "o, c");
  auto asItIs = [](machine::BlockCore &) {};
  for (int registers : {65536, 16384, 8192}) {
    ScheduleResult result = onCore(sum, [&](auto &core) { core.registers = registers; });
    EXPECT_LE(result.schedule->threads * registersOf(*result.schedule), registers);
  }
  double usual = onCore(sum, asItIs).computeSeconds;
  EXPECT_GT(onCore(sum, [](auto &core) { core.sharedCycles *= 4; }).computeSeconds, usual);
  EXPECT_GT(onCore(sum, [](auto &core) { core.schedulers = 1; }).computeSeconds, usual);
  for (int subgroup : {16, 64}) { // Those that share a sum are of one, or as many of them apart.
    ScheduleResult result = onCore(sum, [&](auto &core) { core.subgroup = subgroup; });
    const RegisterTile &tile = result.schedule->nests[0].registers;
    EXPECT_TRUE(tile.apart == 1 || tile.apart == unsigned(subgroup));
  }
}

TEST(Threads, AreNearEachOtherThroughDivisions) {
  auto secondsOf = [](const std::string &place) {
    const std::string inputs = "input x[4096, 512] f16\ninput places[1024] i32\n";
    return onCore(inputs + "y[n:4096, i:1024] f16 = x[n, " + place + "]\noutput y\n",
                  [](machine::BlockCore &) {})
        .computeSeconds;
  };
  double halved = secondsOf("i // 2"), folded = secondsOf("i % 512");
  double gathered = secondsOf("{places[i]}");
  EXPECT_LT(2 * halved, gathered);
  EXPECT_LT(2 * folded, gathered);
}

TEST(Threads, ReadSumsThatTheyShareInWholeMoves) {
  for (auto [type, run] : {std::pair{"f16", 8u}, {"bf16", 8u}}) {
    Schedule schedule = scheduled(parsed(oneRow(type, "o, c")));
    ASSERT_EQ(schedule.nests.size(), 1u);
    const RegisterTile &tile = schedule.nests[0].registers;
    EXPECT_EQ(tile.vectorIterator, 1);
    EXPECT_GT(tile.lanes, 1u);
    EXPECT_EQ(tile.vectors, run);
    EXPECT_EQ(tile.apart, 1u);
    EXPECT_GE(schedule.tiles(), 100); // Every core has work.
  }
}

TEST(Threads, HaveConstantsPackedInTheOrderOfTheirSums) {
  Program program = parsed(oneRow("f16", "c, o"));
  EXPECT_FALSE(scheduled(program).buffers[1].packing);
  Schedule schedule = scheduled(program, {program.inputs[1]});
  EXPECT_EQ(schedule.nests[0].registers.vectors, 8u);
  ASSERT_TRUE(schedule.buffers[1].packing);
  ASSERT_EQ(schedule.buffers[1].packing->dimensions.size(), 2u);
  EXPECT_EQ(schedule.buffers[1].packing->dimensions[0].stride, 1);
  EXPECT_EQ(schedule.buffers[1].packing->dimensions[1].stride, 2048);
}

TEST(Threads, StreamLongRowsThroughSeveralBlocksACore) {
  Program program = parsed("input x[8192] f16\ninput w[8192, 2048] f16\n"
                           "y[o:2048] f32 = sum<f32>[c:8192] f32(x[c]) * f32(w[c, o])\noutput y\n");
  // While one block starts or ends, others of its core keep memory busy.
  EXPECT_GT(scheduled(program, {program.inputs[1]}).tiles(), 132);
}

TEST(Threads, AllTakePartInSumsThatWaitForAll) {
  EXPECT_GT(busyOfFourRows("most[h:4] f32 = max[r:513] x[h, r]", 1024),
            2 * busyOfFourRows("most[h:4] f32 = max[r:513] x[h, r]", 256));
}

TEST(Threads, StoreBeyondTheirCoreInTwiceTheTurns) {
  Schedule schedule = scheduled(parsed("input x[65536] f32\n"
                                       "y[i:65536, j:8] f32 = x[i]\noutput y\n"));
  RegisterTile tile; // Two moves of a thread, for each of which a warp touches eight lines.
  tile.vectorIterator = 1;
  tile.vectors = 8;
  double beyond = busyWith(tile, schedule);
  schedule.buffers[schedule.nests[0].destinations[0]].home = Home::Scratch;
  EXPECT_GT(beyond, 1.8 * busyWith(tile, schedule));
}

TEST(Threads, JoinStatisticsByPowers) {
  EXPECT_GT(
      busyOfFourRows("(most[h:4] f32, all[h:4] f32) = softmax_stats<f32>[r:513] x[h, r]", 256),
      3 * busyOfFourRows("most[h:4] f32 = max[r:513] x[h, r]", 256));
}

TEST(Threads, MovePointsInWholeChunks) {
  for (auto [type, points] : {std::pair{"f16", 8u}, {"f32", 4u}}) {
    Schedule schedule =
        scheduled(parsed(std::string("input x[4096, 1024] ") + type + "\ny[i:4096, j:1024] " +
                         type + " = x[i, j] + x[i, j]\noutput y\n"));
    const LoopNest &nest = schedule.nests[0];
    EXPECT_EQ(nest.registers.vectorIterator, int(nest.parallel.size()) - 1);
    EXPECT_EQ(nest.registers.vectors, points);
  }
}

TEST(Threads, KeepRowsNearThatTheyReadAgain) {
  Schedule schedule = scheduled(parsed(R"(input x[65536, 1024] f32
most[i:65536] f32 = max[j:1024] x[i, j]
power[i:65536, j:1024] f32 = exp(x[i, j] - most[i])
total[i:65536] f32 = sum[j:1024] power[i, j]
y[i:65536, j:1024] f32 = power[i, j] / total[i]
output y
)"));
  ASSERT_GE(schedule.space.size(), 1u);
  for (const TileDimension &dimension : llvm::ArrayRef(schedule.space).drop_front())
    EXPECT_EQ(dimension.count(), 1); // Whole rows.
  int64_t rowBytes = schedule.space[0].size * 1024 * 4, threads = schedule.threads;
  int64_t together = std::min<int64_t>(2048 / threads, 65536 / (threads * registersOf(schedule)));
  EXPECT_LE(together * (schedule.scratchBytes + rowBytes), 256 << 10); // What a core has.
}

TEST(Threads, ComputeAnewWhatScratchWouldHoldForTwo) {
  Schedule schedule = scheduled(parsed(R"(input x[131072, 1024] f16
most[i:131072] f32 = max[j:1024] f32(x[i, j])
power[i:131072, j:1024] f32 = exp(f32(x[i, j]) - most[i])
total[i:131072] f32 = sum[j:1024] power[i, j]
y[i:131072, j:1024] f16 = f16(power[i, j] / total[i])
output y
)"));
  EXPECT_EQ(schedule.nests.size(), 3u);
  EXPECT_LT(schedule.scratchBytes, 4096); // Two numbers of each row.
}

TEST(Threads, ShareWhatRowsHaveInCommon) {
  Schedule schedule = scheduled(parsed(R"(input x[65536, 1024] f16
input scale[1024] f32
input shift[1024] f32
y[i:65536, j:1024] f16 = f16(f32(x[i, j]) * scale[j] + shift[j])
output y
)"));
  const LoopNest &nest = schedule.nests[0];
  EXPECT_EQ(nest.registers.vectorIterator, int(nest.parallel.size()) - 1);
  EXPECT_EQ(nest.registers.vectors, 8u); // A whole move.
  EXPECT_EQ(nest.registers.rowIterator, 0);
  EXPECT_GE(nest.registers.rows, 2u);
}

TEST(Threads, TurnRowsToColumnsInScratch) {
  for (const char *type : {"f32", "f16"}) {
    Schedule schedule =
        scheduled(parsed(std::string("input x[16384, 4096] ") + type + "\ny[j:4096, i:16384] " +
                         type + " = x[i, j]\noutput y\n"));
    ASSERT_EQ(schedule.nests.size(), 2u);
    EXPECT_GT(schedule.scratchBytes, 0);
    for (const TileDimension &dimension : schedule.space)
      EXPECT_GE(dimension.size, 32);
  }
}
