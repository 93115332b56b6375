// Every rule of the table is checked alike: what it makes of its case, as text, and that it
// computes the same in variations of it.

#include "derive/rule.h"

#include "../te/testing.h"
#include "base/files.h"
#include "rule_case.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <set>

namespace kintsugi::derive {
namespace {

using namespace te;

class RuleTest : public testing::TestWithParam<const Rule *> {
protected:
  const Rule &rule = *GetParam();
  std::string path = std::string(KINTSUGI_RULE_CASES) + "/" + rule.name + ".te";
  RuleCase known = RuleCase::of(read());

  std::string read() const {
    Expected<std::string> text = readTextFile(path);
    EXPECT_TRUE(text.ok()) << "a rule has a case: " << path;
    return text.ok() ? *text : "";
  }

  /// Whatever it costs.
  Program after(const Program &before) const {
    RuleContext context;
    context.margins = cost::Margins::none();
    schedule::ScheduleOptions &options = context.space.schedule;
    options.machine = *machine::Machine::forLevel(known.machine);
    if (options.machine.threads > 0) {
      options.scratchLimit = 96 << 10;
      options.ringLimit = 225 << 10;
      options.clusterBlocks = 8;
      options.copies = false;
    }
    EXPECT_TRUE(rule.helps(options.machine));
    Expected<Program> result = rule.apply(before, context);
    EXPECT_TRUE(result.ok()) << result.error().message;
    Status valid = result.ok() ? result->verify() : Status::success();
    EXPECT_TRUE(valid.ok()) << valid.error().message << printProgram(*result);
    return result.ok() ? std::move(*result) : Program();
  }

  void expectEqual(const Program &one, const Program &other, uint64_t seed) const {
    std::vector<ExactTensor> inputs = randomInputs(one, seed);
    std::vector<ExactTensor> a = evaluated(one, inputs), b = evaluated(other, inputs);
    if (rule.exactness == Exactness::Bitwise)
      return expectSame(b, a);
    ASSERT_EQ(a.size(), b.size());
    for (auto [x, y] : llvm::zip_equal(a, b))
      expectNear(x, y);
  }

  /// But for the rounding of another order, and of what is stored in 16 bits.
  void expectNear(const ExactTensor &x, const ExactTensor &y) const {
    bool isNarrow = known.before.find("f16") != std::string::npos;
    double tolerance = isNarrow ? 2e-3 : 1e-6, largest = 0;
    ASSERT_EQ(x.shape, y.shape);
    EXPECT_EQ(x.integers, y.integers);
    for (double each : x.floats)
      largest = std::isfinite(each) ? std::max(largest, std::abs(each)) : largest;
    for (auto [k, pair] : llvm::enumerate(llvm::zip_equal(x.floats, y.floats))) {
      auto [own, other] = pair;
      if (std::isfinite(own))
        EXPECT_NEAR(own, other, tolerance * std::max(largest, 1.0)) << "at " << k;
      else
        EXPECT_TRUE(own == other || (std::isnan(own) && std::isnan(other))) << "at " << k;
    }
  }
};

TEST_P(RuleTest, MakesOfItsCaseWhatTheFileSays) {
  Program before = parsed(known.plain());
  std::string text = printProgram(after(before));
  EXPECT_NE(text, printProgram(before)) << "the rule has nothing to do";
  if (std::getenv("KINTSUGI_UPDATE_RULES"))
    EXPECT_TRUE(writeFileAtomic(path, known.head + "--- becomes\n" + text).ok());
  else
    EXPECT_EQ(text, known.after) << "KINTSUGI_UPDATE_RULES=1 writes it";
}

TEST_P(RuleTest, ComputesTheSameInVariations) {
  constexpr unsigned wanted = 20, most = 100;
  unsigned changed = 0;
  for (uint64_t seed = 1; seed <= most && changed < wanted && !HasFailure(); ++seed) {
    Chance chance(seed);
    std::string text = known.varied(chance);
    SCOPED_TRACE(text);
    Program before = parsed(text), other = after(before);
    if (printProgram(before) == printProgram(other))
      continue;
    ++changed;
    expectEqual(before, other, seed);
  }
  EXPECT_TRUE(changed == wanted || HasFailure()) << "it changed " << changed;
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleTest, testing::ValuesIn(rules().begin(), rules().end()),
                         [](const auto &info) {
                           std::string name = info.param->name;
                           llvm::replace(name, '-', '_');
                           return name;
                         });

} // namespace

TEST(Rules, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Rule *rule : rules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name << " is there twice";
    EXPECT_EQ(llvm::StringRef(rule->name).find_first_not_of("abcdefghijklmnopqrstuvwxyz-"),
              llvm::StringRef::npos);
    EXPECT_NE(rule->equation[0], '\0');
  }
}

} // namespace kintsugi::derive
