// Every rule of the table is checked alike: what it makes of its cases, as text, and that it
// computes the same in variations of them. Its first case, RULE.te, is small enough for all plans
// of it to be looked at (pipeline/mixture_test); others are RULE.WORD.te.

#include "derive/rule.h"

#include "../te/testing.h"
#include "base/files.h"
#include "rule_case.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace kintsugi::derive {
namespace {

using namespace te;

struct CaseOfRule {
  const Rule *rule;
  std::string path;
};

class RuleTest : public testing::TestWithParam<CaseOfRule> {
protected:
  const Rule &rule = *GetParam().rule;
  std::string path = GetParam().path;
  RuleCase known = RuleCase::of(read());

  std::string read() const {
    Expected<std::string> text = readTextFile(path);
    EXPECT_TRUE(text.ok()) << "a rule has a case: " << path;
    return text.ok() ? *text : "";
  }

  Program after(const Program &before) const { return applied(rule, known, before); }

  /// Outputs, and all that the rule says to be equal: another form's kernels may read it.
  void expectEqual(Program one, Program other, uint64_t seed) const {
    std::vector<ExactTensor> inputs = randomInputs(one, seed);
    for (uint32_t number = 0; number < other.numValues(); ++number)
      if (const std::optional<Original> original = other.values[number].original) {
        ASSERT_TRUE(original->order.empty());
        std::string name = "equal " + std::to_string(number);
        one.addOutput(name, {original->value});
        other.addOutput(name, {number});
      }
    std::vector<ExactTensor> a = evaluated(one, inputs), b = evaluated(other, inputs);
    if (rule.exactness == Exactness::Bitwise)
      return expectSame(b, a);
    ASSERT_EQ(a.size(), b.size());
    bool isNarrow = known.before.find("f16") != std::string::npos;
    for (auto [x, y] : llvm::zip_equal(a, b))
      expectNear(x, y, isNarrow);
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
    Program before = parsed(text);
    nameOriginals(before);
    Program other = after(before);
    if (printProgram(before) == printProgram(other))
      continue;
    ++changed;
    expectEqual(before, other, seed);
  }
  EXPECT_TRUE(changed == wanted || HasFailure()) << "it changed " << changed;
}

std::vector<CaseOfRule> casesOfRules() {
  std::vector<CaseOfRule> cases;
  for (const Rule *rule : rules()) {
    std::string first = std::string(KINTSUGI_RULE_CASES) + "/" + rule->name;
    cases.push_back({rule, first + ".te"});
    for (const auto &entry : std::filesystem::directory_iterator(KINTSUGI_RULE_CASES))
      if (llvm::StringRef(entry.path().string()).starts_with(first + ".") &&
          entry.path() != first + ".te")
        cases.push_back({rule, entry.path()});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleTest, testing::ValuesIn(casesOfRules()), [](const auto &info) {
  std::string name = std::filesystem::path(info.param.path).stem();
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
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
