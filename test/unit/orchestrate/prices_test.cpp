// What kernels that were not chosen would cost.

#include "orchestrate/prices.h"

#include "orchestrate/alternatives.h"
#include "programs.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace kintsugi::orchestrate {
namespace {

using namespace te;

constexpr unsigned all = 10000;

OrchestrateOptions pricing(explain::Log &log, unsigned priced = all) {
  OrchestrateOptions options = smallOptions();
  options.log = &log;
  options.priced = priced;
  return options;
}

class Prices : public testing::TestWithParam<SmallProgram> {};

INSTANTIATE_TEST_SUITE_P(, Prices, testing::ValuesIn(smallPrograms),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(Prices, AreToldOfTheProgramItself) {
  Program program = programOf(GetParam().text);
  explain::Log log;
  Expected<Plan> plan = orchestrate(program, pricing(log));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(log.choices().size(), 1u);
  const explain::Choice choice = log.choices().front();
  EXPECT_EQ(choice.among, "kernels");
  std::map<std::string, size_t> kernelOf; // By definition.
  for (auto [number, kernel] : llvm::enumerate(choice.chosen))
    for (const std::string &name : kernel.definitions)
      EXPECT_TRUE(kernelOf.try_emplace(name, number).second) << name;
  for (const explain::Alternative &each : choice.alternatives) {
    std::set<size_t> replaced;
    for (const std::string &name : each.kernel.definitions)
      replaced.insert(kernelOf.at(name));
    EXPECT_EQ(each.insteadOf, std::vector<size_t>(replaced.begin(), replaced.end()));
    EXPECT_GE(each.moreAtLeast, 0);
    for (const std::string &name : each.kernel.stores)
      EXPECT_TRUE(llvm::is_contained(each.kernel.definitions, name));
    if (each.more)
      EXPECT_GE(*each.more, each.moreAtLeast * (1 - 1e-6) - 1e-15);
  }
}

TEST_P(Prices, ChangeNoPlan) {
  Program program = programOf(GetParam().text);
  explain::Log log, without;
  Expected<Plan> plan = orchestrate(program, pricing(log));
  Expected<Plan> other = orchestrate(program, pricing(without, 0));
  ASSERT_TRUE(plan.ok() && other.ok());
  EXPECT_EQ(plan->print(), other->print());
  EXPECT_TRUE(without.choices().empty());
}

/// A row sum of x, as the program's own sum or by way of a far larger tensor.
std::string sumBy(bool isLarge) {
  return std::string("input x[i:64, j:64] f32\n") +
         (isLarge ? "h[i:64, j:64, k:64] f32 = x[i, j] + x[i, k]\n"
                    "s[i:64] f32 = sum<f32>[j:64, k:64] h[i, j, k] * 0.015625\n"
                  : "s[i:64] f32 = sum<f32>[j:64] x[i, j] * 2\n") +
         "output s\n";
}

TEST(PricesOfForms, AreHowMuchSlowerTheyAre) {
  Program first = programOf(sumBy(false).c_str()), other = programOf(sumBy(true).c_str());
  for (Program *program : {&first, &other})
    for (Value &value : program->values)
      if (value.name == "s")
        for (uint32_t number = 0; number < first.numValues(); ++number)
          if (first.values[number].name == "s")
            value.original = Original{number, {}};
  explain::Log log;
  const Program *programs[] = {&first, &other};
  std::string names[] = {"as it is", "large"};
  auto chosen = chooseAmong({programs, 0, 0, names}, pricing(log));
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  ASSERT_EQ(log.choices().size(), 1u);
  const explain::Choice choice = log.choices().front();
  EXPECT_EQ(choice.forms, (std::vector<std::string>{"as it is", "large"}));
  double best = std::numeric_limits<double>::infinity();
  for (const explain::Alternative &each : choice.alternatives)
    if (each.kernel.forms == std::vector<size_t>{1} && each.isProven)
      best = std::min(best, *each.more);
  double slower = planned(other).objectiveSeconds - planned(first).objectiveSeconds;
  EXPECT_GT(slower, 0);
  EXPECT_NEAR(best, slower, 1e-4 * slower);
}

} // namespace
} // namespace kintsugi::orchestrate
