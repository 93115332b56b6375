#include "tune/plan_times.h"
#include "tune/records.h"

#include "product.h"
#include "search/point_text.h"
#include "tune/pairs.h"
#include "unit/store/temporary_folder.h"

namespace kintsugi::tune {
namespace {

using store::Measurement;
using store::Store;
using store::TemporaryFolder;

std::shared_ptr<Store> open(const TemporaryFolder &folder) {
  auto store = Store::open(folder.file("tuned.db"));
  EXPECT_TRUE(store.ok());
  return std::make_shared<Store>(std::move(*store));
}

Records read(const std::shared_ptr<Store> &store, const char *machine = "m",
             const char *compiler = "c") {
  auto records = Records::read(store, machine, compiler);
  EXPECT_TRUE(records.ok());
  return std::move(*records);
}

Hash128 hashOf(uint64_t number) { return Hasher("records").add(number).finish(); }

TEST(Records, AreKeptByMachineAndCompiler) {
  TemporaryFolder folder;
  Records records = read(open(folder));
  EXPECT_TRUE(records.empty());
  Measurement found{hashOf(1), "- 16,8 -", 1e-3, 2e-3, 9};
  ASSERT_TRUE(records.add(found).ok());
  ASSERT_NE(records.find(hashOf(1)), nullptr);
  Records again = read(open(folder));
  ASSERT_NE(again.find(hashOf(1)), nullptr);
  EXPECT_EQ(*again.find(hashOf(1)), found);
  EXPECT_EQ(again.digest(), records.digest());
  EXPECT_TRUE(read(open(folder), "other").empty());
  EXPECT_TRUE(read(open(folder), "m", "other").empty());
}

TEST(Records, WithoutAStoreLastAsLongAsTheObject) {
  Records records = read(nullptr);
  ASSERT_TRUE(records.add({hashOf(1), "- 4 -", 1e-3, 2e-3, 1}).ok());
  EXPECT_NE(records.find(hashOf(1)), nullptr);
  EXPECT_TRUE(read(nullptr).empty());
}

TEST(Records, OnlyClearWinnersThatCanBeReadAreSchedules) {
  Records records = read(nullptr);
  ASSERT_TRUE(records.add({hashOf(1), "- 4 -", 0.9e-3, 1e-3, 1}).ok());
  ASSERT_TRUE(records.add({hashOf(2), "- 4 -", 0.99e-3, 1e-3, 1}).ok());
  ASSERT_TRUE(records.add({hashOf(3), "", 0.5e-3, 1e-3, 1}).ok());
  ASSERT_TRUE(records.add({hashOf(4), "DROP TABLE", 0.5e-3, 1e-3, 1}).ok());
  auto schedules = records.kernels(1e-6).schedules;
  ASSERT_EQ(schedules.size(), 1u);
  EXPECT_EQ(schedules.begin()->first, hashOf(1));
  EXPECT_DOUBLE_EQ(schedules.begin()->second.gain, 0.9);
}

TEST(Records, TimesOfKernelsAreNoSchedules) {
  Records records = read(nullptr);
  EXPECT_TRUE(records.kernels(1e-6).empty());
  EXPECT_EQ(records.kernels(1e-6).bias, 1);
  for (auto [number, seconds] : {std::pair(1, 0.5e-3), std::pair(2, 3e-3), std::pair(3, 1.5e-3)})
    ASSERT_TRUE(records.addTime(hashOf(number), seconds, 1e-3).ok());
  ASSERT_TRUE(records.addTime(hashOf(4), 1e-9, 2e-6).ok()); // It says nothing of longer ones.
  space::MeasuredKernels kernels = records.kernels(1e-6);
  EXPECT_TRUE(kernels.schedules.empty());
  ASSERT_EQ(kernels.seconds.size(), 4u);
  EXPECT_EQ(kernels.seconds.at(hashOf(2)), 3e-3);
  EXPECT_DOUBLE_EQ(kernels.bias, 1.5);
}

TEST(Records, SecondsDecideWhereTheyWon) {
  te::Program program;
  program.addOutput("y", program.addInput("x", ElementType::F32, {4}));
  Records records = read(nullptr);
  EXPECT_EQ(verdictOn(records, modelKey(program)), Verdict::NotRaced);
  for (bool hasWon : {true, false}) {
    ASSERT_TRUE(records.add(verdict(modelKey(program), 1e-3, 1e-3, hasWon)).ok());
    EXPECT_EQ(verdictOn(records, modelKey(program)), hasWon ? Verdict::Won : Verdict::Lost);
  }
}

TEST(Records, DigestSaysWhatIsKnown) {
  Records records = read(nullptr);
  Digest before = records.digest();
  ASSERT_TRUE(records.add({hashOf(1), "- 4 -", 0.9e-3, 1e-3, 1}).ok());
  Digest after = records.digest();
  EXPECT_NE(after, before);
  ASSERT_TRUE(records.add({hashOf(1), "- 8 -", 0.9e-3, 1e-3, 1}).ok());
  EXPECT_NE(records.digest(), after);
}

/// A plan of one stage, tuned or not.
orchestrate::Plan planOf(const Product &product, bool isTuned) {
  auto shape = std::make_shared<loops::KernelShape>();
  shape->schedule = *product.defaults().schedule;
  shape->point = product.defaults().point;
  if (isTuned) {
    auto untuned = std::make_shared<loops::KernelShape>(*shape);
    shape->untuned = untuned;
    shape->point = *search::parsePoint("- 4 -");
  }
  orchestrate::Plan plan;
  plan.kernels.push_back({"k0", hashOf(7), shape, 1e-3, nullptr, {}});
  plan.stages.emplace_back();
  orchestrate::PlanNode stage;
  stage.kind = orchestrate::PlanNode::Kind::Stage;
  plan.root.children.push_back(stage);
  return plan;
}

TEST(Records, APlanThatLostDoesNotShip) {
  Product product;
  orchestrate::Plan plain = planOf(product, false), tuned = planOf(product, true);
  EXPECT_NE(planKey(plain), planKey(tuned));

  Records records = read(nullptr);
  EXPECT_FALSE(lostAsAWhole(records, tuned)) << "nobody timed it";
  ASSERT_TRUE(records.add({planKey(tuned), "", 0.9e-3, 1e-3, 0}).ok());
  EXPECT_FALSE(lostAsAWhole(records, tuned));
  ASSERT_TRUE(records.add({planKey(tuned), "", 1e-3, 1e-3, 0}).ok());
  EXPECT_TRUE(lostAsAWhole(records, tuned));
  EXPECT_FALSE(lostAsAWhole(records, plain));
  EXPECT_TRUE(records.kernels(1e-6).empty()) << "a verdict on a plan is no schedule";
}

TEST(Records, APlanIsPricedByItsOwnRuns) {
  Product product;
  const search::ScheduleOptions options;
  const orchestrate::Plan plan = planOf(product, false);
  const orchestrate::Kernel &kernel = plan.kernels[0];
  const Hash128 model = hashOf(1), other = hashOf(2);
  auto priced = [&](const Records &records, Hash128 ofModel) {
    orchestrate::Plan result = plan;
    result.objectiveSeconds = result.stages[0].predictedSeconds = 1e-3;
    priceAsMeasured(result, records, ofModel, options);
    return std::pair(result.kernels[0].predictedSeconds, result.objectiveSeconds);
  };
  Records records = read(nullptr);
  ASSERT_TRUE(records.addTime(timingKeyOf(kernel, options), 2e-3, 1e-3).ok());
  EXPECT_EQ(priced(records, model), std::pair(2e-3, 2e-3)) << "as in any plan";
  RunKeys keys(model, plan, options);
  ASSERT_TRUE(records.addRunTime(keys.ofKernel(kernel), 3e-3, 1e-3).ok());
  ASSERT_TRUE(records.addRunTime(keys.whole(), 4e-3, 1e-3).ok());
  EXPECT_EQ(priced(records, model), std::pair(3e-3, 4e-3)) << "as in this one";
  EXPECT_EQ(priced(records, other), std::pair(2e-3, 2e-3)) << "another model's";
  EXPECT_EQ(records.kernels(1e-6).seconds.size(), 1u) << "other plans are made without";
}

TEST(Pairs, SharesHoldAgainstOutliers) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
  std::vector<double> quick(40, 0.8), usual(40, 1.0);
  for (size_t i = 0; i < 10; ++i)
    quick[i] = 50;
  EXPECT_NEAR(shareOf(quick, usual), 0.8, 1e-12);
  EXPECT_NEAR(quietShareOf(quick, usual), 0.8, 1e-12);
  EXPECT_NEAR(shareOf(usual, usual), 1, 1e-12);
}

} // namespace
} // namespace kintsugi::tune
