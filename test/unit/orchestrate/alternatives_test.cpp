// Of equal programs the solver takes the parts that are quickest together.

#include "orchestrate/alternatives.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "programs.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {
namespace {

using namespace te;

/// Values of equal names are equal; those that end in "_T" are transposed.
void label(const Program &first, Program &program) {
  std::map<std::string, uint32_t> numbers;
  for (uint32_t number = 0; number < first.numValues(); ++number)
    numbers[first.values[number].name] = number;
  for (Value &value : program.values) {
    bool isTurned = llvm::StringRef(value.name).ends_with("_T");
    auto found = numbers.find(value.name.substr(0, value.name.size() - (isTurned ? 2 : 0)));
    if (found == numbers.end() || value.kind != ValueKind::Result)
      continue;
    value.original = Original{found->second, {}};
    if (isTurned)
      value.original->order = {1, 0};
  }
}

class Equal {
public:
  explicit Equal(llvm::ArrayRef<std::string> texts) {
    for (const std::string &text : texts)
      programs.push_back(programOf(text.c_str()));
    for (Program &program : programs)
      label(programs[0], program);
  }

  ChosenProgram chosen(size_t preferred = 0, double margin = 0,
                       const OrchestrateOptions &options = smallOptions()) const {
    llvm::SmallVector<const Program *> all;
    for (const Program &program : programs)
      all.push_back(&program);
    Expected<ChosenProgram> found = chooseAmong({all, preferred, margin}, options);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    if (!found.ok())
      return {};
    EXPECT_TRUE(found->program.verify().ok());
    EXPECT_EQ(found->sources.size(), found->program.nodes.size());
    expectEqual(found->program);
    return std::move(*found);
  }

  double objective(size_t number) const { return planned(programs[number]).objectiveSeconds; }

  std::vector<Program> programs;

private:
  void expectEqual(const Program &program) const {
    std::vector<ExactTensor> inputs = randomInputs(programs[0], 1);
    std::vector<ExactTensor> expected = evaluated(programs[0], inputs);
    std::vector<ExactTensor> found = evaluated(program, inputs);
    ASSERT_EQ(found.size(), expected.size());
    for (auto [a, b] : llvm::zip_equal(found, expected))
      for (auto [x, y] : llvm::zip_equal(a.floats, b.floats))
        EXPECT_NEAR(x, y, 1e-9 * std::max(1.0, std::abs(y)));
  }
};

bool defines(const Program &program, const std::string &name) {
  return llvm::any_of(program.values, [&](const Value &value) { return value.name == name; });
}

/// One of several sums in a row, of which each has another form: by parts, or with its terms
/// computed far too often.
std::string site(unsigned number, const std::string &before, bool isOther, bool isGood) {
  std::string k = std::to_string(number);
  std::string map = "y" + k + "[i:64, j:64] f32 = max(" + before + "[i, j] - s" + k + "[i], 0)\n";
  if (!isOther)
    return "s" + k + "[i:64] f32 = sum<f32>[j:64] " + before + "[i, j] * 2\n" + map;
  if (isGood)
    return "h" + k + "[i:64] f32 = sum<f32>[j:64] " + before + "[i, j]\ns" + k + "[i:64] f32 = h" +
           k + "[i] * 2\n" + map;
  return "h" + k + "[i:64, j:64, k:64] f32 = " + before + "[i, j] + " + before + "[i, k]\ns" + k +
         "[i:64] f32 = sum<f32>[j:64, k:64] h" + k + "[i, j, k] * 0.015625\n" + map;
}

/// Each reads what the one before it made.
std::string chain(unsigned sites, unsigned others, unsigned good = 0) {
  std::string text = "input x[i:64, j:64] f32\n", last = "x";
  for (unsigned k = 0; k < sites; ++k, last = "y" + std::to_string(k - 1))
    text += site(k, last, others >> k & 1, good >> k & 1);
  return text + "output " + last + "\n";
}

/// Each has an input of its own, so that no kernel is of two.
std::string row(unsigned sites, unsigned others, unsigned good) {
  std::string inputs, text, outputs;
  for (unsigned k = 0; k < sites; ++k) {
    std::string number = std::to_string(k);
    inputs += "input x" + number + "[i:64, j:64] f32\n";
    text += site(k, "x" + number, others >> k & 1, good >> k & 1);
    outputs += "output y" + number + "\n";
  }
  return inputs + text + outputs;
}

/// The share of an objective that what kernels move may be.
constexpr double breaksTies = 1e-5;

TEST(Alternatives, TakesThePartsOfEachThatAreQuicker) {
  // The first form is slow at site 0, the second at site 1.
  Equal equal({chain(2, 0b01), chain(2, 0b10)});
  ChosenProgram chosen = equal.chosen();
  EXPECT_FALSE(defines(chosen.program, "h0"));
  EXPECT_FALSE(defines(chosen.program, "h1"));
  double objective = planned(chosen.program).objectiveSeconds;
  EXPECT_LT(objective, equal.objective(0));
  EXPECT_LT(objective, equal.objective(1));
  EXPECT_NEAR(objective, chosen.objective, breaksTies * objective);
}

TEST(Alternatives, AreAsQuickAsTheBestOfAllMixtures) {
  constexpr unsigned sites = 3;
  for (unsigned good = 0; good < 1u << sites; ++good) {
    SCOPED_TRACE(good);
    Equal equal({row(sites, 0, good), row(sites, (1u << sites) - 1, good)});
    double best = equal.objective(0);
    for (unsigned others = 1; others < 1u << sites; ++others)
      best = std::min(best, planned(programOf(row(sites, others, good).c_str())).objectiveSeconds);
    EXPECT_NEAR(equal.chosen().objective, best, breaksTies * best);
  }
}

TEST(Alternatives, AreNeverSlowerThanAnyOfThem) {
  constexpr unsigned sites = 2;
  for (unsigned good = 0; good < 1u << sites; ++good)
    for (unsigned others = 0; others < 1u << sites; ++others) {
      Equal equal({chain(sites, others, good), chain(sites, ~others, good)});
      double best = std::min(equal.objective(0), equal.objective(1));
      EXPECT_LE(equal.chosen().objective, best * (1 + breaksTies)) << good << " " << others;
    }
}

TEST(Alternatives, DefinitionsThatAFormDoesWithoutAreCoveredByWhatReadThem) {
  std::string head = "input x[i:64, j:64] f32\n", tail = "output z\n";
  std::string apart = "a[i:64, j:64] f32 = log(exp(x[j, i])) * 2\n"
                      "b[i:64, j:64] f32 = a[j, i] + 1\ny[i:64] f32 = sum<f32>[j:64] b[i, j]\n";
  std::string together = "y[i:64] f32 = sum<f32>[j:64] x[i, j] * 2 + 1\n";
  std::string then = "z[i:64] f32 = tanh(y[i])\n";
  ChosenProgram chosen =
      Equal({head + apart + then + tail, head + together + then + tail}).chosen();
  EXPECT_EQ(chosen.program.nodes.size(), 2u) << printProgram(chosen.program);
}

TEST(Alternatives, AreJoinedByCopiesWhereTheyStoreAValueInOtherOrders) {
  std::string head = "input x[i:64, j:32] f32\n", tail = "output y\n";
  std::string slow = "h[i:64, j:32, k:512] f32 = exp(x[i, j] * 0.01)\n"
                     "v[i:64, j:32] f32 = sum<f32>[k:512] h[i, j, k] * 0.001953125\n";
  std::string quick = "v_T[j:32, i:64] f32 = exp(x[i, j] * 0.01)\n";
  std::string then = "y[i:64] f32 = sum<f32>[j:32] v[i, j]\n";
  std::string slowThen = "g[i:64, k:512] f32 = sum<f32>[j:32] v_T[j, i]\n"
                         "y[i:64] f32 = sum<f32>[k:512] g[i, k] * 0.001953125\n";
  Equal equal({head + slow + then + tail, head + quick + slowThen + tail});
  ChosenProgram chosen = equal.chosen();
  EXPECT_TRUE(defines(chosen.program, "v_T") && defines(chosen.program, "v_T.turned"))
      << printProgram(chosen.program);
  EXPECT_LT(chosen.objective, std::min(equal.objective(0), equal.objective(1)));
}

TEST(Alternatives, HaveToBeQuickerByTheMargin) {
  Equal equal({chain(1, 0b1), chain(1, 0b0)});
  EXPECT_FALSE(defines(equal.chosen(0, 0.03).program, "h0"));
  double ratio = equal.objective(0) / equal.objective(1);
  ASSERT_GT(ratio, 1);
  EXPECT_TRUE(defines(equal.chosen(0, 100 * ratio).program, "h0"));
}

/// y by a constant of 80 MiB, far too often; or quickly, by one of so many times that.
ChosenProgram chosenWithConstants(int64_t times) {
  std::string head = "input x[j:2048] f32\nconst k[j:2048, i:10240] f32 = weights(\"k\")\n";
  std::string slow =
      "y[i:10240] f32 = sum<f32>[j:2048, q:64] x[j] * k[j, i] * 0.015625\noutput y\n";
  std::string large = "large[r:" + std::to_string(times) +
                      ", j:2048, i:10240] f32 = k[j, i] * 2\n" +
                      "y[i:10240] f32 = sum<f32>[j:2048] x[j] * large[0, j, i] * 0.5\noutput y\n";
  Equal equal({head + slow, head + large});
  Expected<ChosenProgram> found =
      chooseAmong({{&equal.programs[0], &equal.programs[1]}, 0, 0}, smallOptions());
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? std::move(*found) : ChosenProgram();
}

TEST(Alternatives, HaveRoomForTheirConstants) {
  EXPECT_TRUE(defines(chosenWithConstants(2).program, "large"));
  EXPECT_FALSE(defines(chosenWithConstants(3).program, "large"));
}

TEST(Alternatives, AreTheSameWithAnyNumberOfThreads) {
  for (const char *level : {"x86-64-v3", "x86-64-v4", "sm_90a"})
    for (unsigned good : {0b000u, 0b011u, 0b101u, 0b111u}) {
      Equal equal({chain(3, 0), chain(3, 0b110, good), chain(3, 0b011, ~good)});
      OrchestrateOptions options = smallOptions();
      options.space.schedule.machine = *machine::Machine::forLevel(level);
      options.mergesLaunches = options.space.schedule.inBlocks();
      ChosenProgram one = equal.chosen(0, 0.01, options);
      options.space.threads = 4;
      ChosenProgram several = equal.chosen(0, 0.01, options);
      EXPECT_EQ(printProgram(several.program), printProgram(one.program)) << level;
      EXPECT_EQ(several.objective, one.objective) << level;
      EXPECT_EQ(several.sources, one.sources) << level;
    }
}

TEST(Alternatives, WithoutAKnownOutputAreLeftOut) {
  Equal equal({chain(1, 0b1), chain(1, 0b0)});
  for (Value &value : equal.programs[1].values)
    value.original.reset();
  EXPECT_TRUE(defines(equal.chosen().program, "h0"));
}

TEST(Alternatives, ShareCallsWithTheFirst) {
  auto text = [](bool isOther, const char *many) {
    return "input x[i:64, j:64] f32\n" + site(0, "x", isOther, false) + "(top[" + many +
           "] f32, places[" + many + "] i64) = call TopK(s0) {\"k\":" + many +
           ", \"axis\":0}\noutput y0\nbest[] f32 = top[0]\noutput best\n";
  };
  EXPECT_FALSE(defines(Equal({text(true, "2"), text(false, "2")}).chosen().program, "h0"));
  EXPECT_TRUE(defines(Equal({text(true, "2"), text(false, "3")}).chosen().program, "h0"))
      << "another call makes another program";
}

/// A recurrence of so many steps, of which each is slow where its sums are computed far too often.
std::string recurrence(unsigned number, const std::string &before, bool isSlow) {
  std::string k = std::to_string(number);
  std::string sums = isSlow ? "d[i:64, j:64] f32 = h[j] + h[i] * 0.015625\n"
                              "s[i:64] f32 = sum<f32>[j:64, l:64] d[i, j] * r[j, i] * 0.015625\n"
                            : "e[j:64] f32 = h[j] * 1\nu[i:64] f32 = sum<f32>[j:64] r[j, i]\n"
                              "v[i:64] f32 = sum<f32>[j:64] e[j] * r[j, i]\n"
                              "s[i:64] f32 = v[i] + u[i] * h[i] * 0.015625\n";
  return "(last" + k + "[64] f32, all" + k + "[20, 64] f32) = scan[20] carry(" + before +
         ") capture(r) {\ninput step[] i64\ninput h[64] f32\ninput r[64, 64] f32\n" + sums +
         "next[i:64] f32 = tanh(s[i] * 0.01)\noutput next\noutput next as stacked\n}\n";
}

const char *headOfScans = "input x[i:64, j:64] f32\ninput r[i:64, j:64] f32\n"
                          "first[i:64] f32 = x[0, i] * 0.1\n";

unsigned scansOf(const Program &program) {
  return llvm::count_if(program.nodes,
                        [](const Node &node) { return std::holds_alternative<Scan>(node); });
}

TEST(Alternatives, TakeEachScanFromWhereItIsQuicker) {
  auto inTurn = [](bool a, bool b, bool c) {
    return headOfScans + recurrence(0, "first", a) + "between[i:64] f32 = last0[i] + all0[3, i]\n" +
           recurrence(1, "between", b) + site(2, "x", c, false) +
           "output last1\noutput all1\noutput y2\n";
  };
  // One form is slow at the first scan and beside the scans, the other at the second scan.
  Equal equal({inTurn(true, false, true), inTurn(false, true, false)});
  double best = planned(programOf(inTurn(false, false, false).c_str())).objectiveSeconds;
  for (size_t preferred : {0, 1}) {
    ChosenProgram chosen = equal.chosen(preferred);
    double objective = planned(chosen.program).objectiveSeconds;
    EXPECT_LT(objective, 0.9 * std::min(equal.objective(0), equal.objective(1)));
    EXPECT_NEAR(objective, best, breaksTies * best);
    EXPECT_NEAR(objective, chosen.objective, breaksTies * objective);
    EXPECT_EQ(scansOf(chosen.program), 2u);
  }
}

TEST(Alternatives, MayMakeSeveralScansOne) {
  // Two layers, of which each has a step of its own; or both of them in one, a step apart.
  std::string cell = "input step[] i64\ninput h[64] f32\ninput r[64, 64] f32\n";
  std::string apart =
      "(a[64] f32, alls[20, 64] f32) = scan[20] carry(first) capture(r) {\n" + cell +
      "s[i:64] f32 = sum<f32>[j:64] h[j] * r[j, i]\nnext[i:64] f32 = tanh(s[i])\noutput next\n"
      "output next as stacked\n}\n"
      "twice[t:20, i:64] f32 = alls[t, i] * 2\n"
      "(b[64] f32) = scan[20] carry(first) capture(r, twice) {\n" +
      cell +
      "input in[20, 64] f32\ns[i:64] f32 = sum<f32>[j:64] h[j] * r[j, i]\n"
      "next[i:64] f32 = tanh(s[i] + in[step[], i])\noutput next\n}\n";
  std::string together =
      "(a[64] f32, b[64] f32) = scan[20] carry(first, first) capture(r) {\n"
      "input step[] i64\ninput g[64] f32\ninput h[64] f32\ninput r[64, 64] f32\n"
      "s[i:64] f32 = sum<f32>[j:64] g[j] * r[j, i]\nn[i:64] f32 = tanh(s[i])\n"
      "t[i:64] f32 = sum<f32>[j:64] h[j] * r[j, i]\nm[i:64] f32 = tanh(t[i] + n[i] * 2)\n"
      "output n\noutput m\n}\n";
  std::string slow = "z[i:64] f32 = sum<f32>[j:64, k:512] x[i, j] * 0.001953125 + b[i] * "
                     "0.000030517578125\n",
              quick = "y[i:64] f32 = sum<f32>[j:64] x[i, j]\nz[i:64] f32 = y[i] + b[i]\n";
  for (const char *outputs : {"output b\noutput z\n", "output a\noutput b\noutput z\n"})
    for (bool isQuickBeside : {false, true}) {
      Equal equal({headOfScans + apart + slow + outputs,
                   headOfScans + together + (isQuickBeside ? quick : slow) + outputs,
                   headOfScans + apart + quick + outputs});
      double best =
          planned(programOf((headOfScans + together + quick + outputs).c_str())).objectiveSeconds;
      ChosenProgram chosen = equal.chosen();
      EXPECT_EQ(scansOf(chosen.program), 1u) << printProgram(chosen.program);
      EXPECT_NEAR(chosen.objective, best, breaksTies * best);
    }
}

TEST(Alternatives, ScansPayTheirOwnMargin) {
  auto text = [](bool isSlow) {
    return headOfScans + recurrence(0, "first", isSlow) + "output last0\n";
  };
  Equal equal({text(true), text(false)});
  double ratio = equal.objective(0) / equal.objective(1);
  ASSERT_GT(ratio, 1);
  auto chosen = [&](double scanMargin) {
    const Program *all[] = {&equal.programs[0], &equal.programs[1]};
    Expected<ChosenProgram> found = chooseAmong({all, 0, 0, {}, scanMargin}, smallOptions());
    EXPECT_TRUE(found.ok());
    return planned(found->program).objectiveSeconds;
  };
  EXPECT_EQ(chosen(0.5 * (ratio - 1)), equal.objective(1));
  EXPECT_EQ(chosen(2 * (ratio - 1)), equal.objective(0));
}

TEST(Alternatives, ScansThatMeetArePricedAsLanes) {
  auto text = [](bool a, bool b) {
    return headOfScans + recurrence(0, "first", a) + "second[i:64] f32 = x[1, i]\n" +
           recurrence(1, "second", b) + "y[i:64] f32 = last0[i] + last1[i]\noutput y\n";
  };
  Equal equal({text(true, false), text(false, true)});
  OrchestrateOptions options = smallOptions();
  options.space.schedule.machine.stageSeconds = 1e-5; // A step is for one worker.
  auto objectiveOf = [&](const Program &program, bool hasLanes) {
    Expected<Plan> plan = orchestrate(program, options);
    EXPECT_TRUE(plan.ok());
    EXPECT_EQ(plan->print().find("lanes") != std::string::npos, hasLanes) << plan->print();
    return plan->objectiveSeconds;
  };
  ChosenProgram chosen = equal.chosen(0, 0, options);
  double objective = objectiveOf(chosen.program, true);
  EXPECT_NEAR(objective, chosen.objective, breaksTies * objective);
  for (const Program &program : equal.programs)
    EXPECT_LT(objective, 0.9 * objectiveOf(program, false));
  options.lanes = false;
  EXPECT_LT(objective, 0.8 * equal.chosen(0, 0, options).objective);
}

TEST(Alternatives, WithoutAKnownOutputAreNotMixedWherePreferred) {
  Equal equal({chain(1, 0b0), chain(1, 0b1)});
  for (Value &value : equal.programs[1].values)
    value.original.reset();
  ChosenProgram chosen = equal.chosen(1);
  EXPECT_TRUE(defines(chosen.program, "h0")) << "nothing is known to be in its place";
}

TEST(Alternatives, MayHaveEqualDefinitionsAndSomeThatNothingNeeds) {
  std::string twice = chain(1, 0b1);
  size_t output = twice.find("output");
  twice.insert(output, "t[i:64] f32 = sum<f32>[j:64] y0[i, j]\nu[i:64] f32 = sum<f32>[k:64] "
                       "y0[i, k]\nv[i:64] f32 = t[i] * u[i]\nn[i:64] f32 = exp(u[i])\n");
  twice += "output v\n";
  std::string once = chain(1, 0b0);
  once.insert(once.find("output"), "t[i:64] f32 = sum<f32>[j:64] y0[i, j]\nv[i:64] f32 = t[i] * "
                                   "t[i]\n");
  once += "output v\n";
  for (size_t first : {0, 1}) {
    std::string texts[] = {twice, once};
    ChosenProgram chosen = Equal({texts[first], texts[1 - first]}).chosen();
    EXPECT_FALSE(defines(chosen.program, "h0")) << printProgram(chosen.program);
    EXPECT_FALSE(defines(chosen.program, "n")) << printProgram(chosen.program);
  }
}

TEST(Alternatives, MayHaveTensorsWithoutElements) {
  auto text = [](bool isOther) {
    std::string text = chain(1, isOther);
    text.insert(text.find("output"), "e[i:0, j:64] f32 = s0[j] * 3\n"
                                     "z[j:64] f32 = sum<f32>[i:0] e[i, j]\n");
    return text + "output e\noutput z\n";
  };
  EXPECT_FALSE(defines(Equal({text(true), text(false)}).chosen().program, "h0"));
}

TEST(Alternatives, MayHaveInputsAndConstantsAsOutputs) {
  auto text = [](bool isOther) {
    std::string text = chain(1, isOther);
    text.insert(text.find("s0"), "const c[k:2] f32 = [1, 2]\n");
    return text + "output x as \"x again\"\noutput c\n";
  };
  EXPECT_FALSE(defines(Equal({text(true), text(false)}).chosen().program, "h0"));
}

} // namespace
} // namespace kintsugi::orchestrate
