#include "tune/kernel_search.h"

#include "imagined.h"
#include "product.h"
#include "search/point_text.h"
#include "tune/records.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::tune {
namespace {

using cost::Effort;
using cost::Timed;
using loops::Schedule;

/// The tile's size along dimension `d` of the result, cut or not.
int64_t sizeAlong(const Schedule &schedule, int64_t extent) {
  for (const loops::TileDimension &dimension : schedule.space)
    if (dimension.extent == extent)
      return dimension.size;
  return extent;
}

KernelSearch searchOf(const Product &product, KernelSearch::Fuel fuel = {}) {
  return KernelSearch(product.program, product.group, product.options, fuel);
}

Status step(KernelSearch &search, cost::Measurer &measurer) {
  KernelSearch::Batch batch = search.propose();
  for (const std::shared_ptr<KernelSearch::Candidate> &candidate : batch)
    candidate->prepare(measurer);
  return batch.empty() ? Status::success() : search.judge(batch, measurer);
}

void runToTheEnd(KernelSearch &search, cost::Measurer &measurer) {
  for (int number = 0; !search.hasEnded() && number < 1000; ++number)
    ASSERT_TRUE(step(search, measurer).ok());
  ASSERT_TRUE(search.hasEnded());
}

TEST(KernelSearch, FindsTheTileThatIsQuickest) {
  Product product;
  Imagined measurer([](const Schedule &schedule) {
    return 1e-3 * (1 + std::abs(std::log2(double(sizeAlong(schedule, 64)) / 4)));
  });
  KernelSearch search = searchOf(product);
  runToTheEnd(search, measurer);
  ASSERT_TRUE(search.best());
  search::ScheduleResult found =
      search::scheduleAt(product.program, product.group, product.options, *search.best());
  ASSERT_TRUE(found.schedule);
  EXPECT_EQ(sizeAlong(*found.schedule, 64), 4) << search::pointText(*search.best());
  EXPECT_LT(search.share(), clearGain);
}

TEST(KernelSearch, FindsRegistersBesides) {
  Product product;
  auto rows = [](const Schedule &schedule) { return double(schedule.nests.back().registers.rows); };
  double usual = rows(*product.defaults().schedule);
  double wanted = usual == 3 ? 2 : 3;
  Imagined measurer(
      [&](const Schedule &schedule) { return 1e-3 * (rows(schedule) == wanted ? 0.5 : 1); });
  KernelSearch search = searchOf(product);
  runToTheEnd(search, measurer);
  ASSERT_TRUE(search.best());
  EXPECT_EQ(search.share(), 0.5);
}

TEST(KernelSearch, KeepsTheDefaultWhereNothingIsClearlyBetter) {
  Product product;
  std::string usual = product.defaults().schedule->print();
  Imagined measurer([&](const Schedule &schedule) {
    return schedule.print() == usual ? 1e-3 : 1e-3 * (clearGain + 0.005);
  });
  KernelSearch search = searchOf(product);
  runToTheEnd(search, measurer);
  EXPECT_FALSE(search.best());
  EXPECT_EQ(search.share(), 1);
  EXPECT_EQ(search.defaultSeconds(), 1e-3);
}

TEST(KernelSearch, WhatIsOnlyLuckyOnceIsNotTaken) {
  Product product;
  class Lucky : public ImaginedMeasurer {
    Expected<std::vector<Timed>> timesOf(const std::vector<const Schedule *> &schedules,
                                         Effort effort) override {
      std::vector<Timed> times(schedules.size(), {1e-3, effort == Effort::Compare ? 0.5 : 1.1});
      times[0].share = 1;
      return times;
    }
  } measurer;
  KernelSearch search = searchOf(product);
  runToTheEnd(search, measurer);
  EXPECT_FALSE(search.best());
}

TEST(KernelSearch, WhatComputesSomethingElseIsNotTaken) {
  Product product;
  class Wrong : public ImaginedMeasurer {
    Expected<std::vector<Timed>> timesOf(const std::vector<const Schedule *> &schedules,
                                         Effort effort) override {
      std::vector<Timed> times(schedules.size(), {1e-3, 0.5, effort == Effort::Compare});
      times[0] = {1e-3, 1};
      return times;
    }
  } measurer;
  KernelSearch search = searchOf(product);
  runToTheEnd(search, measurer);
  EXPECT_FALSE(search.best());
  EXPECT_FALSE(search.wrongPoints().empty());
}

TEST(KernelSearch, FuelCountsPoints) {
  Product product;
  double next = 1; // Each is better than all before: it would never end by itself.
  std::map<std::string, double> times;
  Imagined measurer([&](const Schedule &schedule) {
    std::string text = schedule.print();
    for (const loops::LoopNest &nest : schedule.nests)
      text += std::to_string(nest.registers.rowIterator);
    return times.try_emplace(text, next *= 0.9).first->second;
  });
  KernelSearch::Fuel fuel{12, 5};
  KernelSearch search = searchOf(product, fuel);
  runToTheEnd(search, measurer);
  EXPECT_GE(search.spent(), fuel.points);
  EXPECT_LT(search.spent(), fuel.points + int64_t(fuel.aBatch));
  EXPECT_EQ(size_t(search.spent()), measurer.measured);
  EXPECT_LE(measurer.largest, fuel.aBatch + 1) << "beside the best so far";
}

TEST(KernelSearch, GoesOnWhereItWas) {
  Product product;
  Imagined measurer([](const Schedule &schedule) {
    return 1e-3 * (1 + std::abs(std::log2(double(sizeAlong(schedule, 64)) / 4)));
  });
  KernelSearch first = searchOf(product);
  runToTheEnd(first, measurer);
  ASSERT_TRUE(first.best());

  KernelSearch spent = searchOf(product);
  spent.resume(*first.best(), first.share(), KernelSearch::Fuel().points);
  EXPECT_TRUE(spent.hasEnded());
  EXPECT_EQ(spent.best(), first.best());

  KernelSearch again = searchOf(product);
  again.resume(*first.best(), first.share(), 10);
  EXPECT_FALSE(again.hasEnded());
  EXPECT_EQ(again.spent(), 10);
  runToTheEnd(again, measurer);
  EXPECT_EQ(again.best(), first.best());

  KernelSearch foreign = searchOf(product);
  foreign.resume(*search::parsePoint("- 1,2,3,4,5,6,7 -"), 0.1, 10);
  EXPECT_FALSE(foreign.best());
}

TEST(KernelSearch, AnErrorIsPassedOn) {
  Product product;
  class Broken : public ImaginedMeasurer {
    Expected<std::vector<Timed>> timesOf(const std::vector<const Schedule *> &, Effort) override {
      return machineError("no device");
    }
  } measurer;
  KernelSearch search = searchOf(product);
  Status status = step(search, measurer);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "no device");
}

TEST(KernelSearch, WhatCannotBePreparedIsLeftOut) {
  Product product;
  std::string usual = product.defaults().schedule->print();
  class Picky : public Imagined {
  public:
    using Imagined::Imagined;
    std::string usual;
    bool takesUsual = true;

    Expected<std::unique_ptr<cost::Contender>> prepare(const Schedule &schedule) override {
      if ((schedule.print() == usual) != takesUsual)
        return machineError("too much memory");
      return Imagined::prepare(schedule);
    }
  } measurer([](const Schedule &) { return 1e-3; });
  measurer.usual = usual;
  KernelSearch search = searchOf(product);
  runToTheEnd(search, measurer);
  EXPECT_FALSE(search.best());
  EXPECT_LT(measurer.measured, size_t(search.spent())) << "they are not tried again";

  measurer.takesUsual = false;
  KernelSearch hopeless = searchOf(product);
  Status status = step(hopeless, measurer);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "too much memory");
}

TEST(KernelSearch, OnAGpuTriesThreadsAndChoicesOfUnits) {
  Product product(Product::Where::Gpu);
  auto unitsOf = [](const Schedule &schedule) { return *schedule.nests[0].matrix; };
  const Schedule usual = *product.defaults().schedule;
  ASSERT_TRUE(usual.nests[0].matrix);
  std::set<int> threads;
  std::set<unsigned> stages, depths;
  Imagined measurer([&](const Schedule &schedule) {
    threads.insert(schedule.threads);
    if (!schedule.nests[0].matrix)
      return 2e-3;
    stages.insert(unitsOf(schedule).stages);
    depths.insert(unitsOf(schedule).depth);
    return unitsOf(schedule).stages + 1 == unitsOf(usual).stages ? 0.5e-3 : 1e-3;
  });
  KernelSearch search = searchOf(product, {240, 8});
  runToTheEnd(search, measurer);
  EXPECT_GT(threads.size(), 1u);
  EXPECT_GT(stages.size(), 1u);
  EXPECT_GT(depths.size(), 1u);
  ASSERT_TRUE(search.best());
  search::ScheduleResult found =
      search::scheduleAt(product.program, product.group, product.options, *search.best());
  ASSERT_TRUE(found.schedule);
  EXPECT_EQ(unitsOf(*found.schedule).stages + 1, unitsOf(usual).stages);
}

} // namespace
} // namespace kintsugi::tune
