// What the log says of a derivation, step by step: each step's parts compute the same by
// themselves, also of chains of rules.

#include "derive/steps.h"

#include "../te/testing.h"
#include "base/files.h"
#include "rule_case.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <filesystem>

namespace kintsugi::derive {
namespace {

using namespace te;

using Inputs = std::map<std::string, ExactTensor>;

void addInputs(const Program &program, uint64_t seed, Inputs &inputs) {
  for (auto [id, tensor] : llvm::zip_equal(program.inputs, randomInputs(program, seed)))
    inputs.try_emplace(program.value(id).name, tensor);
}

std::vector<ExactTensor> evaluatedOn(const Program &program, const Inputs &inputs) {
  std::vector<ExactTensor> ordered;
  for (ValueId id : program.inputs)
    ordered.push_back(inputs.at(program.value(id).name));
  return evaluated(program, ordered);
}

void expectEqual(const PartsOfStep &parts, uint64_t seed) {
  SCOPED_TRACE(printProgram(parts.before) + "--- becomes\n" + printProgram(parts.after));
  for (const Program *part : {&parts.before, &parts.after}) {
    Status status = part->verify();
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  Inputs inputs;
  addInputs(parts.before, seed, inputs);
  addInputs(parts.after, seed, inputs);
  std::vector<ExactTensor> before = evaluatedOn(parts.before, inputs),
                           after = evaluatedOn(parts.after, inputs);
  ASSERT_FALSE(before.empty());
  bool isNarrow = printProgram(parts.before).find("f16") != std::string::npos;
  for (auto [a, b, output] : llvm::zip_equal(before, after, parts.after.outputs)) {
    SCOPED_TRACE(output.name);
    expectNear(a, b, isNarrow);
  }
}

std::vector<std::filesystem::path> allCases() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(KINTSUGI_RULE_CASES))
    if (entry.path().extension() == ".te")
      paths.push_back(entry.path());
  llvm::sort(paths);
  return paths;
}

class Steps : public testing::TestWithParam<std::filesystem::path> {
protected:
  RuleCase known = RuleCase::of(*readTextFile(GetParam()));
};

/// All rules that a machine has, one on what another made: cases of other rules are the start of
/// chains.
TEST_P(Steps, ComputeTheSame) {
  constexpr uint64_t seeds = 3;
  machine::Machine machine = *machine::Machine::forLevel(known.machine);
  unsigned steps = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Chance chance(seed);
    Program program = parsed(seed == 1 ? known.plain() : known.varied(chance));
    for (const Rule *rule : rules()) {
      if (!rule->helps(machine))
        continue;
      Program changed = applied(*rule, known, program);
      std::vector<PartsOfStep> parts = partsBetween(program, changed);
      EXPECT_EQ(parts.empty(), printProgram(program) == printProgram(changed)) << rule->name;
      for (const PartsOfStep &each : parts)
        expectEqual(each, seed);
      steps += parts.size();
      program = std::move(changed);
    }
  }
  EXPECT_GE(steps, seeds);
}

INSTANTIATE_TEST_SUITE_P(Rules, Steps, testing::ValuesIn(allCases()), [](const auto &info) {
  std::string name = info.param.stem();
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

} // namespace

TEST(PartsOfSteps, ArePartsThatDontReadEachOther) {
  Program before = parsed("input x[8, 4] f32\n"
                          "a[i:8] f32 = sum<f32>[k:4] x[i, k]\n"
                          "b[i:8] f32 = exp(a[i])\n"
                          "c[i:8] f32 = sum<f32>[k:4] x[i, k] * b[i]\n"
                          "output a\noutput c\n");
  Program after = parsed("input x[8, 4] f32\n"
                         "t[k:4, i:8] f32 = x[i, k]\n"
                         "a[i:8] f32 = sum<f32>[k:4] t[k, i]\n"
                         "b[i:8] f32 = exp(a[i])\n"
                         "d[i:8] f32 = sum<f32>[k:4] x[i, k]\n"
                         "c[i:8] f32 = b[i] * d[i]\n"
                         "output a\noutput c\n");
  std::vector<PartsOfStep> parts = partsBetween(before, after);
  ASSERT_EQ(parts.size(), 2u);
  explain::Step first = describe(parts[0], "rule", "a => b"), second = describe(parts[1], "", "");
  EXPECT_EQ(first.before, "input x[8, 4] f32\na[i:8] f32 = sum<f32>[k:4] x[i, k]\noutput a\n");
  EXPECT_EQ(first.after, "input x[8, 4] f32\nt[k:4, i:8] f32 = x[i, k]\n"
                         "a[i:8] f32 = sum<f32>[k:4] t[k, i]\noutput a\n");
  EXPECT_EQ(second.values, std::vector<std::string>{"c"});
  EXPECT_EQ(second.replaced, std::vector<std::string>{"c"});
  EXPECT_EQ(second.defined, (std::vector<std::string>{"d", "c"}));
  for (const PartsOfStep &each : parts)
    expectEqual(each, 1);
  EXPECT_TRUE(partsBetween(before, before).empty());
}

/// Values between two leaves are each read twice: there are 2^60 ways from one to the other.
TEST(PartsOfSteps, LookAtWhatLiesBetweenOnce) {
  std::string head = "input x[8] f32\nv0[i:8] f32 = exp(x[i])\n", last = "v0";
  for (int k = 1; k <= 60; ++k) {
    std::string next = "v" + std::to_string(k);
    head += next + "[i:8] f32 = " + last + "[i] + exp(" + last + "[i])\n";
    last = next;
  }
  std::string tail = "output y\n";
  Program before = parsed(head + "y[i:8] f32 = 2 * " + last + "[i] * v0[i]\n" + tail);
  Program after = parsed(head + "y[i:8] f32 = 2 * " + last + "[i] * exp(x[i])\n" + tail);
  std::vector<PartsOfStep> parts = partsBetween(before, after);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].before.inputs.size(), 1u) << printProgram(parts[0].before);
  EXPECT_EQ(parts[0].after.inputs.size(), 1u) << printProgram(parts[0].after);
}

} // namespace kintsugi::derive
