// Whatever is mixed of equal programs computes the same: of what rules make of their cases, and of
// values in other orders, parts are taken that are foreign to each other.

#include "../derive/rule_case.h"
#include "../te/testing.h"
#include "base/files.h"
#include "layout/reorder.h"
#include "orchestrate/alternatives.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::pipeline {
namespace {

using namespace te;

class MixtureTest : public testing::TestWithParam<const derive::Rule *> {
protected:
  /// A small program of the rule's case, by chance, and what the rule makes of it.
  struct Changed {
    Program before, after;
    bool differs() const { return printProgram(before) != printProgram(after); }
  };

  void SetUp() override {
    Expected<std::string> text =
        readTextFile(std::string(KINTSUGI_RULE_CASES) + "/" + rule.name + ".te");
    ASSERT_TRUE(text.ok());
    known = derive::RuleCase::of(*text);
  }

  Changed changed(Chance &chance) const {
    Changed pair{parsed(known.varied(chance)), {}};
    derive::nameOriginals(pair.before);
    pair.after = derive::applied(rule, known, pair.before);
    return pair;
  }

  const derive::Rule &rule = *GetParam();
  derive::RuleCase known;
};

/// Values that may have another order, by chance in one.
Program turned(const Program &program, Chance &chance) {
  std::vector<layout::Order> orders(program.numValues());
  std::vector<bool> isFree(program.numValues(), false);
  for (const Node &node : program.nodes)
    if (const auto *definition = std::get_if<Definition>(&node))
      if (definition->results.size() == 1)
        isFree[definition->results[0].number] = true;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (!std::holds_alternative<Definition>(program.nodes[node]))
      for (ValueId operand : program.operandsOf(node))
        isFree[operand.number] = false;
  for (const Program::Output &output : program.outputs)
    isFree[output.value.number] = false;
  for (uint32_t number = 0; number < program.numValues(); ++number)
    for (unsigned k = 0; isFree[number] && k < program.values[number].shape.size(); ++k)
      orders[number].insert(orders[number].begin() + chance.between(0, k), k);
  return layout::reorder(program, orders);
}

orchestrate::OrchestrateOptions optionsFor(const std::string &level) {
  orchestrate::OrchestrateOptions options;
  search::ScheduleOptions &schedule = options.space.schedule;
  schedule.machine = *machine::Machine::forLevel(level);
  if (schedule.machine.threads > 0) {
    schedule.scratchLimit = 96 << 10;
    schedule.ringLimit = 225 << 10;
    schedule.clusterBlocks = 8;
    schedule.copies = false;
  }
  return options;
}

TEST_P(MixtureTest, ComputesTheSame) {
  constexpr unsigned wanted = 8, most = 60;
  orchestrate::OrchestrateOptions options = optionsFor(known.machine);
  space::ScheduleMemo memo;
  options.space.memo = &memo;
  unsigned mixed = 0;
  for (uint64_t seed = 1; seed <= most && mixed < wanted && !HasFailure(); ++seed) {
    Chance chance(seed);
    Changed pair = changed(chance);
    if (!pair.differs())
      continue;
    auto &[before, after] = pair;
    Program inOrders = turned(before, chance), afterInOrders = turned(after, chance);
    const Program *all[] = {&before, &after, &inOrders, &afterInOrders};
    size_t preferred = seed % 4;
    // What is foreign to the preferred one is taken wherever it can be.
    Expected<orchestrate::ChosenProgram> found =
        orchestrate::chooseAmong({all, preferred, -0.9, {}, -0.9}, options);
    ASSERT_TRUE(found.ok()) << found.error().message;
    Status valid = found->program.verify();
    ASSERT_TRUE(valid.ok()) << valid.error().message;
    SCOPED_TRACE(printProgram(before) + "--- becomes\n" + printProgram(found->program));
    mixed += printProgram(found->program) != printProgram(*all[preferred]);
    std::vector<ExactTensor> inputs = randomInputs(before, seed);
    std::vector<ExactTensor> a = evaluated(before, inputs), b = evaluated(found->program, inputs);
    ASSERT_EQ(a.size(), b.size());
    bool isNarrow = known.before.find("f16") != std::string::npos;
    for (auto [x, y] : llvm::zip_equal(a, b))
      derive::expectNear(x, y, isNarrow);
  }
  EXPECT_TRUE(mixed == wanted || HasFailure()) << "it mixed " << mixed;
}

TEST_P(MixtureTest, IsTheOptimumOfAllThereIs) {
  constexpr unsigned wanted = 8, most = 60;
  // Of small programs launches cost most; where they cost nothing, the rest decides.
  orchestrate::OrchestrateOptions options[] = {optionsFor(known.machine),
                                               optionsFor(known.machine)};
  options[1].space.schedule.machine.stageSeconds = 0;
  unsigned compared = 0;
  for (uint64_t seed = 1; seed <= most && compared < wanted && !HasFailure(); ++seed) {
    Chance chance(seed);
    Changed pair = changed(chance);
    if (!pair.differs())
      continue;
    Program inOrders = turned(pair.after, chance);
    const Program *all[] = {&pair.before, &pair.after, &inOrders};
    orchestrate::OrchestrateOptions search = options[seed % 2];
    space::ScheduleMemo memo;
    search.space.memo = &memo;
    orchestrate::OrchestrateOptions exhaustive = search;
    exhaustive.mode = orchestrate::PlanMode::Exhaustive;
    Expected<orchestrate::ChosenProgram> best = orchestrate::chooseAmong({all, 0, 0}, exhaustive);
    if (!best.ok() && best.error().kind == ErrorKind::Usage)
      continue; // It is too large.
    ASSERT_TRUE(best.ok()) << best.error().message;
    Expected<orchestrate::ChosenProgram> found = orchestrate::chooseAmong({all, 0, 0}, search);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_NEAR(found->objective, best->objective, 1e-9 * best->objective)
        << printProgram(pair.before) << "--- becomes\n"
        << printProgram(pair.after) << "--- is best as\n"
        << printProgram(best->program) << "--- and found as\n"
        << printProgram(found->program);
    ++compared;
  }
  EXPECT_TRUE(compared == wanted || HasFailure()) << "it compared " << compared;
}

INSTANTIATE_TEST_SUITE_P(Rules, MixtureTest,
                         testing::ValuesIn(derive::rules().begin(), derive::rules().end()),
                         [](const auto &info) {
                           std::string name = info.param->name;
                           llvm::replace(name, '-', '_');
                           return name;
                         });

} // namespace
} // namespace kintsugi::pipeline
