#include "search/scheduler.h"
#include "te/parser.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

/// How often the copies of a product's right operand store each of its elements, all workers
/// together.
double timesCopied(int64_t size, int64_t scratchLimit) {
  std::string n = std::to_string(size);
  std::string text = "input a[m:" + n + ", k:" + n + "] f32\ninput b[k:" + n + ", n:" + n +
                     "] f32\ny[m:" + n + ", n:" + n + "] f32 = sum<f32>[k:" + n +
                     "] a[m, k] * b[k, n]\noutput y\n";
  Expected<Program> program = parseProgram(text, "product");
  search::ScheduleOptions options;
  options.machine = *machine::Machine::forLevel("x86-64-v4");
  options.machine.cores = 2;
  options.scratchLimit = scratchLimit;
  loops::Group group;
  group.nodes = {0};
  group.outputs = {program->outputs[0].value};
  search::ScheduleResult result = search::scheduleGroup(*program, group, options);
  EXPECT_TRUE(result.schedule) << result.reason;
  const loops::Schedule &schedule = *result.schedule;
  EXPECT_EQ(schedule.nests.size(), 2u) << schedule.print();
  double stored = double(schedule.tiles());
  for (const Iterator &iterator : schedule.nests[0].parallel)
    stored *= double(iterator.extent.constant());
  for (const loops::TileDimension &dimension :
       llvm::ArrayRef(schedule.space).take_back(schedule.nests[0].sharedDimensions))
    stored /= double(dimension.count());
  if (schedule.nests[0].sharedDimensions == schedule.space.size())
    stored *= 2; // Each worker has a copy of its own.
  return stored / double(size * size);
}

TEST(SchedulerProducts, WorkersShareOutWhatIsCopied) {
  EXPECT_EQ(timesCopied(512, 4 << 20), 1);
  EXPECT_EQ(timesCopied(1024, 4 << 20), 1);
}

TEST(SchedulerProducts, TilesAreFoundWhereAWholeOperandIsTooLargeForScratch) {
  EXPECT_LE(timesCopied(1024, 1 << 20), 2);
  EXPECT_LE(timesCopied(2048, 4 << 20), 2);
}

} // namespace
