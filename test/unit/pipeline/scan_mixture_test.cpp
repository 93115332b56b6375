// Forms that differ in scans: chains of recurrent layers, of which each may be merged or not,
// beside what other rules have forms of. Whatever is mixed of them computes the same, the solver
// finds the optimum of all there is, and a plan takes each part from where it is quickest.

#include "compile_and_run.h"

#include "../derive/rule_case.h"
#include "../te/testing.h"
#include "derive/merge_scans.h"
#include "derive/wave_scans.h"
#include "orchestrate/alternatives.h"
#include "pipeline/planning.h"
#include "te/hash.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::pipeline {
namespace {

using namespace te;

struct ChainShape {
  unsigned layers;
  int64_t steps, batch, units;
  bool readsFinals; ///< The last states are outputs.
  bool hasProducts; ///< What a layer gives out is multiplied before it comes into the next.
};

std::string shaped(llvm::ArrayRef<int64_t> extents) {
  std::string text;
  for (int64_t extent : extents)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

/// Recurrent layers, each of which reads what the one before gave out.
std::string chainOf(const std::string &name, const ChainShape &shape) {
  auto [layers, steps, batch, units, readsFinals, hasProducts] = shape;
  std::string all = shaped({steps, batch, units}), state = shaped({batch, units}),
              weights = shaped({units, units});
  std::string b = std::to_string(batch), n = std::to_string(units), t = std::to_string(steps);
  std::string text = "input x" + name + all + " f32\n", last = "x" + name;
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::string own = name + std::to_string(layer), in = last;
    text += "input h" + own + state + " f32\ninput r" + own + weights + " f32\n";
    if (layer == 0 || hasProducts) {
      in = "p" + own;
      text += "input w" + own + weights + " f32\n" + in + "[t:" + t + ", b:" + b + ", j:" + n +
              "] f32 = sum<f32>[k:" + n + "] " + last + "[t, b, k] * w" + own + "[j, k]\n";
    }
    last = "y" + own;
    text += "(last" + own + state + " f32, " + last + all + " f32) = scan[" + t + "] carry(h" +
            own + ") capture(" + in + ", r" + own + ") {\nprogram cell\ninput step[] i64\ninput h" +
            state + " f32\ninput in" + all + " f32\ninput r" + weights + " f32\ns[b:" + b +
            ", j:" + n + "] f32 = sum<f32>[k:" + n + "] h[b, k] * r[j, k]\nhx[b:" + b + ", j:" + n +
            "] f32 = tanh((s[b, j] + in[step[], b, j]) * 0.125)\noutput hx\noutput hx as y\n}\n";
    if (readsFinals)
      text += "output last" + own + "\n";
  }
  return text + "output " + last + "\n";
}

/// Two products of a value that are added: with a form of one product.
std::string sumsOf(int64_t size) {
  std::string n = std::to_string(size), shape = shaped({size, size});
  return "input a" + shape + " f32\ninput b" + shape + " f32\ninput c" + shape + " f32\nu[i:" + n +
         ", j:" + n + "] f32 = sum<f32>[k:" + n + "] a[i, k] * b[k, j]\nv[i:" + n + ", j:" + n +
         "] f32 = sum<f32>[k:" + n + "] a[i, k] * c[k, j]\nz[i:" + n + ", j:" + n +
         "] f32 = u[i, j] + v[i, j]\noutput z\n";
}

std::string drawn(Chance &chance) {
  std::string text;
  int64_t chains = chance.between(1, 2);
  for (int64_t chain = 0; chain < chains; ++chain) {
    text += chainOf(std::string(1, char('a' + chain)),
                    {unsigned(chance.between(1, 3)), chance.between(6, 12), chance.between(1, 2),
                     chance.between(2, 4), chance.oneIn(2), chance.oneIn(2)});
  }
  return chance.oneIn(2) ? text + sumsOf(chance.between(2, 5)) : text;
}

Program madeBy(const char *rule, const std::string &level, const Program &program) {
  derive::RuleCase known;
  known.machine = level;
  auto found = llvm::find_if(derive::rules(), [&](const derive::Rule *each) {
    return each->name == llvm::StringRef(rule);
  });
  return derive::applied(**found, known, program);
}

/// Each chain's scans as one, by chance: in blocks of steps, or as waves where they are alike.
Program mergedByChance(const Program &program, Chance &chance) {
  std::vector<derive::ScanChain> chains = derive::findScanChains(program);
  std::vector<derive::MergedScans> merged;
  for (const derive::ScanChain &chain : chains) {
    unsigned count = chain.scans.size();
    derive::MergedScans all{&chain, 0, count, chance.between(2, chain.steps / count), nullptr};
    if (llvm::any_of(chain.scans, [](const auto &scan) { return scan.earliest > 0; }))
      continue;
    if (std::optional<derive::WaveScan> wave = derive::waveOf(program, all);
        wave && chance.oneIn(2))
      all.wave = std::make_shared<const derive::WaveScan>(std::move(*wave));
    merged.push_back(all);
    if (!derive::canMergeAll(program, merged))
      merged.pop_back();
  }
  return derive::mergeScans(program, merged);
}

orchestrate::OrchestrateOptions optionsFor(const std::string &level) {
  CompileOptions options;
  options.machine = *machine::Machine::forLevel(level);
  orchestrate::OrchestrateOptions its;
  its.space = spaceOptions(options);
  its.space.threads = 1;
  return its;
}

/// Whether it has a scan whose body is none of the program's.
bool hasMergedScan(const Program &mixture, const Program &program) {
  std::set<Hash128> known;
  for (const Node &node : program.nodes)
    if (const auto *scan = std::get_if<Scan>(&node))
      known.insert(hashOf(*scan->body));
  return llvm::any_of(mixture.nodes, [&](const Node &node) {
    const auto *scan = std::get_if<Scan>(&node);
    return scan && !known.count(hashOf(*scan->body));
  });
}

class ScanMixture : public testing::TestWithParam<const char *> {
protected:
  const std::string level = GetParam();

  /// The program as it is, with merged scans, with one product for two, and with both.
  std::vector<Program> formsOf(Chance &chance) const {
    std::vector<Program> forms{parsed(drawn(chance))};
    derive::nameOriginals(forms[0]);
    forms.push_back(mergedByChance(forms[0], chance));
    forms.push_back(madeBy("factor-sums", level, forms[0]));
    forms.push_back(madeBy("factor-sums", level, forms[1]));
    return forms;
  }
};

llvm::SmallVector<const Program *> pointersTo(const std::vector<Program> &forms) {
  llvm::SmallVector<const Program *> pointers;
  for (const Program &form : forms)
    pointers.push_back(&form);
  return pointers;
}

TEST_P(ScanMixture, ComputesTheSame) {
  constexpr unsigned wanted = 24, most = 200;
  orchestrate::OrchestrateOptions options = optionsFor(level);
  space::ScheduleMemo memo;
  options.space.memo = &memo;
  unsigned mixed = 0;
  for (uint64_t seed = 1; seed <= most && mixed < wanted && !HasFailure(); ++seed) {
    Chance chance(seed);
    std::vector<Program> forms = formsOf(chance);
    if (printProgram(forms[0]) == printProgram(forms[1]))
      continue;
    size_t preferred = seed % forms.size();
    Expected<orchestrate::ChosenProgram> found =
        orchestrate::chooseAmong({pointersTo(forms), preferred, -0.9, {}, -0.9}, options);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_TRUE(found->problems.empty());
    ASSERT_TRUE(found->program.verify().ok());
    SCOPED_TRACE(printProgram(forms[0]) + "--- becomes\n" + printProgram(found->program));
    mixed += printProgram(found->program) != printProgram(forms[preferred]);
    std::vector<ExactTensor> inputs = randomInputs(forms[0], seed);
    for (auto [x, y] :
         llvm::zip_equal(evaluated(forms[0], inputs), evaluated(found->program, inputs)))
      derive::expectNear(x, y, false);
  }
  EXPECT_TRUE(mixed == wanted || HasFailure()) << "it mixed " << mixed;
}

TEST_P(ScanMixture, IsTheOptimumOfAllThereIs) {
  constexpr unsigned wanted = 24, most = 200;
  orchestrate::OrchestrateOptions options[] = {optionsFor(level), optionsFor(level)};
  options[1].space.schedule.machine.stageSeconds = 0;
  unsigned compared = 0, merged = 0;
  for (uint64_t seed = 1; seed <= most && compared < wanted && !HasFailure(); ++seed) {
    Chance chance(seed);
    std::vector<Program> forms = formsOf(chance);
    if (printProgram(forms[0]) == printProgram(forms[1]))
      continue;
    orchestrate::OrchestrateOptions search = options[seed % 2];
    space::ScheduleMemo memo;
    search.space.memo = &memo;
    orchestrate::OrchestrateOptions exhaustive = search;
    exhaustive.mode = orchestrate::PlanMode::Exhaustive;
    Expected<orchestrate::ChosenProgram> best =
        orchestrate::chooseAmong({pointersTo(forms), 0, 0}, exhaustive);
    if (!best.ok() && best.error().kind == ErrorKind::Usage)
      continue; // It is too large.
    ASSERT_TRUE(best.ok()) << best.error().message;
    Expected<orchestrate::ChosenProgram> found =
        orchestrate::chooseAmong({pointersTo(forms), 0, 0}, search);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_NEAR(found->objective, best->objective, 1e-9 * best->objective)
        << printProgram(forms[0]) << "--- is best as\n"
        << printProgram(best->program) << "--- and found as\n"
        << printProgram(found->program);
    ++compared;
    merged += hasMergedScan(found->program, forms[0]);
  }
  EXPECT_TRUE(compared == wanted || HasFailure()) << "it compared " << compared;
  EXPECT_GT(merged, 0u) << "of " << compared;
}

/// One layer after the other pays for the second chain, side by side for the first.
TEST_P(ScanMixture, TakesEachPartFromWhereItIsQuickest) {
  orchestrate::OrchestrateOptions options = optionsFor(level);
  options.space.schedule.machine.cores = std::max(2, options.space.schedule.machine.cores);
  std::string text = chainOf("a", {2, 96, 1, 32, true, true}) +
                     chainOf("b", {2, 4, 1, 32, true, true}) + sumsOf(48);
  std::vector<Program> forms{parsed(text)};
  derive::nameOriginals(forms[0]);
  std::vector<derive::ScanChain> chains = derive::findScanChains(forms[0]);
  ASSERT_EQ(chains.size(), 2u);
  std::vector<derive::MergedScans> merged;
  for (const derive::ScanChain &chain : chains) {
    merged.push_back({&chain, 0, 2, chain.steps > 4 ? 8 : 2, nullptr});
    if (options.space.schedule.inBlocks())
      merged.back().wave =
          std::make_shared<const derive::WaveScan>(*derive::waveOf(forms[0], merged.back()));
  }
  forms.push_back(derive::mergeScans(forms[0], merged));
  forms.push_back(madeBy("factor-sums", level, forms[0]));
  auto objectiveOf = [&](const Program &program) {
    Expected<orchestrate::Plan> plan = orchestrate::orchestrate(program, options);
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? plan->objectiveSeconds : 0;
  };
  Expected<orchestrate::ChosenProgram> found =
      orchestrate::chooseAmong({pointersTo(forms), 0, 0}, options);
  ASSERT_TRUE(found.ok()) << found.error().message;
  SCOPED_TRACE(printProgram(found->program));
  double objective = objectiveOf(found->program);
  EXPECT_NEAR(found->objective, objective, 1e-4 * objective);
  for (const Program &form : forms)
    EXPECT_LT(objective, 0.995 * objectiveOf(form));
  EXPECT_TRUE(hasMergedScan(found->program, forms[0]));
  unsigned asTheyAre = llvm::count_if(found->program.nodes, [](const Node &node) {
    const auto *scan = std::get_if<Scan>(&node);
    return scan && scan->trip.constant() == 4;
  });
  EXPECT_EQ(asTheyAre, 2u) << "the layers of the second chain";
}

/// What the compiler makes of such a program gives the results of the program as it is.
TEST(ScanMixtures, RunAsTheProgramDoes) {
  Program program = parsed(chainOf("a", {4, 128, 1, 32, true, true}) +
                           chainOf("b", {2, 4, 2, 8, false, false}) + sumsOf(24));
  Expected<std::vector<Tensor>> feeds = test::randomFeeds(program, 7);
  ASSERT_TRUE(feeds.ok());
  for (const machine::Machine &host : test::hostMachines())
    for (const machine::Machine &machine : {host, test::blocksOn(host.level)}) {
      bool inBlocks = machine.threads > 0;
      SCOPED_TRACE(machine.level + (inBlocks ? " in blocks" : ""));
      CompileOptions options;
      options.machine = machine;
      if (inBlocks)
        options.disabled.add("launch-merging"); // A processor has a function for each kernel.
      else
        options.machine.cores = 4;
      Expected<test::Ran> mixed = test::compileAndRun(program, options, *feeds);
      for (const char *name : {"alternatives", "merge-scans"})
        options.disabled.add(name);
      Expected<test::Ran> plain = test::compileAndRun(program, options, *feeds);
      ASSERT_TRUE(mixed.ok()) << mixed.error().message;
      ASSERT_TRUE(plain.ok()) << plain.error().message;
      EXPECT_EQ(mixed->hasLanes, !inBlocks);
      EXPECT_EQ(mixed->launches < plain->launches / 2, inBlocks) << "waves";
      for (auto [result, right] : llvm::zip_equal(mixed->results, plain->results))
        test::expectAgreement(result, right, 1e-5);
    }
}

/// Barriers are estimated worst of all, so that a little is not enough to merge what the rule
/// leaves.
TEST(ScanMixtures, AreMergedWhereThatSavesMoreThanTheMargin) {
  Program program = parsed(chainOf("a", {2, 32, 1, 32, true, false}));
  Expected<std::vector<Tensor>> feeds = test::randomFeeds(program, 7);
  ASSERT_TRUE(feeds.ok());
  for (bool savesMuch : {false, true}) {
    CompileOptions options;
    options.machine = *machine::Machine::forLevel("x86-64-v3");
    options.machine.cores = 2;
    options.machine.stageSeconds =
        savesMuch ? 5e-7 : 1e-7; // The less, the quicker are steps in turn.
    Expected<test::Ran> mixed = test::compileAndRun(program, options, *feeds);
    options.disabled.add("alternatives");
    Expected<test::Ran> ruled = test::compileAndRun(program, options, *feeds);
    ASSERT_TRUE(mixed.ok() && ruled.ok());
    EXPECT_EQ(mixed->hasLanes, savesMuch);
    EXPECT_FALSE(ruled->hasLanes) << "the rule would have done it";
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ScanMixture, testing::Values("x86-64-v3", "x86-64-v4", "sm_90a"),
                         [](const auto &info) {
                           std::string name = info.param;
                           llvm::replace(name, '-', '_');
                           return name;
                         });

} // namespace
} // namespace kintsugi::pipeline
