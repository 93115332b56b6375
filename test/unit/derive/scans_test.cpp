// Scans that run side by side compute what they compute one after the other, bit for bit; and only
// scans that feed each other step by step are taken for a chain.

#include "../te/random_program.h"
#include "../te/testing.h"
#include "derive/derive_scans.h"
#include "derive/merge_scans.h"
#include "derive/wave_scans.h"
#include "simplify/simplify.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {
namespace {

using namespace te;

/// How the layers of a stack are written.
struct Form {
  const char *name;
  /// What layer 0 reads its products at, in terms of its step.
  const char *firstStep = "step[]";
  bool hasLengths = false;
  bool hasProducts = true;
};

const Form forms[] = {
    {"plain"},
    {"without_products", "step[]", false, false},
    {"first_reversed", "{10 - step[]}"},
    {"lengths", "step[]", true},
    {"lengths_first_reversed", "{10 - step[]}", true},
};

constexpr int steps = 11;

/// A layer with two states, of which one is given out; its first states are inputs.
std::string layer(const Form &form, int number, const std::string &from) {
  std::string n = std::to_string(number), now = number == 0 ? form.firstStep : "step[]";
  std::string text = "input h" + n + "[b:2, j:3] f32\ninput c" + n + "[b:2, j:3] f32\n" +
                     "input w" + n + "[j:3, k:3] f32\ninput r" + n + "[j:3, k:3] f32\n";
  std::string in = from;
  if (form.hasProducts) {
    text += "p" + n + "[t:11, b:2, j:3] f32 = sum<f32>[k:3] " + from + "[t, b, k] * w" + n +
            "[j, k]\nq" + n + "[t:11, b:2, j:3] f32 = p" + n + "[t, b, j] + w" + n + "[0, j]\n";
    in = "q" + n;
  }
  std::string running = form.hasLengths ? "step[] < len[b]" : "";
  auto kept = [&](const std::string &next, const std::string &old) {
    return form.hasLengths
               ? "cases { " + running + ": " + next + "[b, j]; else: " + old + "[b, j] }"
               : next + "[b, j]";
  };
  text += "(hn" + n + "[2, 3] f32, cn" + n + "[2, 3] f32, y" + n +
          "[11, 2, 3] f32) = scan[11] carry(h" + n + ", c" + n + ") capture(" + in + ", r" + n +
          (form.hasLengths ? ", len" : "") +
          ") {\nprogram cell\ninput step[] i64\ninput h[2, 3] f32\ninput c[2, 3] f32\n"
          "input in[11, 2, 3] f32\ninput r[3, 3] f32\n" +
          (form.hasLengths ? "input len[2] i64\n" : "") +
          "s[b:2, j:3] f32 = sum<f32>[k:3] h[b, k] * r[j, k]\n"
          "g[b:2, j:3] f32 = tanh(s[b, j] + in[" +
          now +
          ", b, j])\n"
          "cm[b:2, j:3] f32 = c[b, j] * 0.5 + g[b, j]\n"
          "hm[b:2, j:3] f32 = cm[b, j] * g[b, j]\n"
          "cx[b:2, j:3] f32 = " +
          kept("cm", "c") + "\nhx[b:2, j:3] f32 = " + kept("hm", "h") +
          "\noutput hx\noutput cx\noutput " + (form.hasLengths ? "hm" : "hx") + " as y\n}\n";
  return text;
}

/// `all`: each layer's results go out, or what the last one gives out alone.
std::string stack(const Form &form, int layers, bool all = true) {
  std::string text = "input x[t:11, b:2, k:3] f32\n", outputs;
  if (form.hasLengths)
    text += "input len[b:2] i64\n";
  for (int number = 0; number < layers; ++number) {
    std::string n = std::to_string(number);
    text += layer(form, number, number == 0 ? "x" : "y" + std::to_string(number - 1));
    if (all)
      outputs += "output hn" + n + "\noutput cn" + n + "\n";
    if (all || number == layers - 1)
      outputs += "output y" + n + "\n";
  }
  return text + outputs;
}

std::vector<ExactTensor> randomInputs(const Program &program, Chance &chance) {
  std::vector<ExactTensor> inputs;
  for (ValueId id : program.inputs) {
    ExactTensor tensor;
    tensor.type = program.value(id).type;
    int64_t count = 1;
    for (Extent extent : program.shape(id)) {
      tensor.shape.push_back(extent.constant());
      count *= extent.constant();
    }
    for (int64_t k = 0; k < count; ++k)
      if (tensor.type == ElementType::I64)
        tensor.integers.push_back(chance.between(1, steps));
      else
        tensor.floats.push_back(chance.oneIn(60) ? (chance.oneIn(2) ? NAN : INFINITY)
                                                 : double(chance.between(-64, 64)) / 64);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

class ScanForms : public testing::TestWithParam<Form> {};

TEST_P(ScanForms, SideBySideTheyComputeTheSameBits) {
  Chance chance(5);
  Program program = simplify::simplify(parsed(stack(GetParam(), 3)));
  std::vector<ScanChain> chains = findScanChains(program);
  ASSERT_EQ(chains.size(), 1u) << printProgram(program);
  ASSERT_EQ(chains[0].scans.size(), 3u);
  for (unsigned first : {0u, 1u})
    for (unsigned count = 2; first + count <= 3; ++count)
      for (int64_t block = 1; block * count <= steps; ++block) {
        SCOPED_TRACE(std::to_string(first) + " + " + std::to_string(count) + " in blocks of " +
                     std::to_string(block));
        Program merged =
            mergeScans(program, {MergedScans{&chains[0], first, count, block, nullptr}});
        Status status = merged.verify();
        ASSERT_TRUE(status.ok()) << status.error().message << printProgram(merged);
        std::vector<ExactTensor> inputs = randomInputs(program, chance);
        expectSame(evaluated(merged, inputs), evaluated(program, inputs));
      }
}

void expectWaves(const Program &program, const MergedScans &merged, Chance &chance) {
  Program waves = mergeScans(program, {merged});
  Status status = waves.verify();
  ASSERT_TRUE(status.ok()) << status.error().message << printProgram(waves);
  EXPECT_EQ(merged.chain->scans.size() - merged.count + 1,
            llvm::count_if(waves.nodes,
                           [](const Node &node) { return std::holds_alternative<Scan>(node); }));
  for (int run = 0; run < 3; ++run) {
    std::vector<ExactTensor> inputs = randomInputs(program, chance);
    expectSame(evaluated(waves, inputs), evaluated(program, inputs));
  }
}

TEST_P(ScanForms, AsWavesTheyComputeTheSameBits) {
  Chance chance(9);
  for (bool all : {true, false}) {
    Program program = simplify::simplify(parsed(stack(GetParam(), 4, all)));
    std::vector<ScanChain> chains = findScanChains(program);
    ASSERT_EQ(chains.size(), 1u) << printProgram(program);
    for (unsigned first : {0u, 1u, 2u})
      for (unsigned count = 2; first + count <= 4; ++count)
        for (double mostStackBytes : {0.0, 1e9}) {
          SCOPED_TRACE(std::to_string(first) + " + " + std::to_string(count));
          MergedScans merged{&chains[0], first, count, 0, nullptr};
          std::optional<WaveScan> wave = waveOf(program, merged, mostStackBytes);
          bool isFirstOther = first == 0 && std::string(GetParam().firstStep) != "step[]";
          ASSERT_EQ(!wave, isFirstOther);
          if (!wave)
            continue;
          merged.wave = std::make_shared<const WaveScan>(std::move(*wave));
          expectWaves(program, merged, chance);
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ScanForms, testing::ValuesIn(forms),
                         [](const auto &info) { return std::string(info.param.name); });

/// The loops of a program by their numbers of steps, those inside of others in parentheses.
std::string loopsOf(const Program &program) {
  std::string text;
  for (const Node &node : program.nodes)
    if (const auto *scan = std::get_if<Scan>(&node)) {
      std::string inner = loopsOf(*scan->body);
      text += (text.empty() ? "" : " ") + std::to_string(scan->trip.constant()) +
              (inner.empty() ? "" : "(" + inner + ")");
    }
  return text;
}

TEST(Scans, TheLoopHoldsAllScansAndTheEndsTheRest) {
  Program program = parsed(stack(forms[0], 3));
  std::vector<ScanChain> chains = findScanChains(program);
  auto loops = [&](unsigned first, unsigned count, int64_t block) {
    return loopsOf(mergeScans(program, {MergedScans{&chains[0], first, count, block, nullptr}}));
  };
  EXPECT_EQ(loopsOf(program), "11 11 11");
  EXPECT_EQ(loops(0, 2, 2), "2 4(2 2) 1 3 11"); // 11 = 2 + 4 * 2 + 1 = 4 * 2 + 3.
  EXPECT_EQ(loops(1, 2, 5), "11 5 1(5 5) 1 6");
  EXPECT_EQ(loops(0, 3, 1), "2 1 9(1 1 1) 1 2");
}

TEST(Scans, SeveralGroupsOfAChainAreMergedAtOnce) {
  Chance chance(7);
  Program program = parsed(stack(forms[3], 5));
  std::vector<ScanChain> chains = findScanChains(program);
  ASSERT_EQ(chains[0].scans.size(), 5u);
  Program merged = mergeScans(program, {MergedScans{&chains[0], 3, 2, 2, nullptr}, //
                                        MergedScans{&chains[0], 0, 2, 3, nullptr}});
  EXPECT_EQ(loopsOf(merged), "3 2(3 3) 2 5 11 2 4(2 2) 1 3");
  std::vector<ExactTensor> inputs = randomInputs(program, chance);
  expectSame(evaluated(merged, inputs), evaluated(program, inputs));
}

/// No chain of more than `most` scans, once `from` is `to`.
void expectCut(std::string text, const std::string &from, const std::string &to, size_t most = 1) {
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in " << text;
  text.replace(at, from.size(), to);
  for (const ScanChain &chain : findScanChains(parsed(text)))
    EXPECT_LE(chain.scans.size(), most) << text;
}

TEST(Scans, OnlyWhatComesStepByStepIsAChain) {
  std::string text = stack(forms[0], 2);
  // Backwards, a step too late, of one step for all, of the last step.
  expectCut(text, "* w1[j, k]", "* w1[j, k] * y0[10 - t, b, k]");
  expectCut(text, "y0[t, b, k]", "y0[10 - t, b, k]");
  expectCut(text, "y0[t, b, k]", "(y0[t-1, b, k] | 0)");
  expectCut(text, "y0[t, b, k]", "y0[0, b, k]");
  expectCut(text, "y0[t, b, k] ", "y0[t, b, k] * hn0[b, k] ");
  // The products differ from step to step.
  expectCut(text, "+ w1[0, j]", "+ x[t, b, j]");
  expectCut(text, "+ w1[0, j]", "+ f32(t)");
  // The scan starts where the other one ended.
  expectCut(text, "carry(h1, c1)", "carry(hn0, c1)");
  // The second one reads its input backwards, or twice.
  size_t second = text.find("= scan", text.find("= scan") + 1);
  std::string tail = text.substr(second);
  std::string head = text.substr(0, second);
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string changed = tail;
    changed.replace(changed.find(from), from.size(), to);
    return head + changed;
  };
  EXPECT_EQ(findScanChains(parsed(text)).size(), 1u);
  EXPECT_EQ(findScanChains(parsed(replaced("in[step[]", "in[{10 - step[]}"))).size(), 0u);
  EXPECT_EQ(
      findScanChains(parsed(replaced("in[step[], b, j]", "in[step[], b, j] + in[0, b, j]"))).size(),
      0u);
}

/// A recurrence of one definition over 11 steps that reads `in` and starts at `from`.
static std::string recurrence(const std::string &name, const std::string &in,
                              const std::string &from, const std::string &more = "") {
  std::string results = "(h" + name + "[2, 3] f32, y" + name + "[11, 2, 3] f32";
  if (!more.empty())
    results += ", k" + name + "[11] i64";
  return results + ") = scan[11] carry(" + from + ") capture(" + in +
         ") {\nprogram cell\ninput step[] i64\ninput h[2, 3] f32\ninput in[11, 2, 3] f32\n"
         "g[b:2, j:3] f32 = tanh(h[b, j] * 0.5 + in[step[], b, j])\n"
         "output g\noutput g as y\n" +
         more + "}\n";
}

TEST(Scans, OneThatGivesOutItsStepIsInNoChain) {
  std::string inputs = "input x[11, 2, 3] f32\ninput z[2, 3] f32\n";
  std::string last = recurrence("1", "y0", "z") + "output y1\n";
  EXPECT_EQ(findScanChains(parsed(inputs + recurrence("0", "x", "z") + last)).size(), 1u);
  Program program =
      parsed(inputs + recurrence("0", "x", "z", "output step as k\n") + last + "output k0\n");
  EXPECT_TRUE(findScanChains(program).empty());
}

TEST(Scans, OneWhoseNextStateIsAConstantIsInNoChain) {
  std::string text = "input x[11, 2, 3] f32\ninput z[2, 3] f32\n" + recurrence("0", "x", "z") +
                     recurrence("1", "y0", "z") + "output y1\n";
  for (size_t at = 0; (at = text.find("output g\n", at)) != std::string::npos;)
    text.replace(at, 9, "const c[2, 3] f32 = [1, 2, 3, 4, 5, 6]\noutput c\n");
  EXPECT_TRUE(findScanChains(parsed(text)).empty());
}

TEST(Scans, ChainsThatWaitForEachOtherAreNotBothMerged) {
  Program program =
      parsed("input x[11, 2, 3] f32\ninput w[11, 2, 3] f32\ninput z[2, 3] f32\n" +
             recurrence("0", "x", "z") + recurrence("5", "w", "z") + recurrence("1", "y0", "h5") +
             recurrence("6", "y5", "h0") + "output y1\noutput y6\n");
  std::vector<ScanChain> chains = findScanChains(program);
  ASSERT_EQ(chains.size(), 2u);
  MergedScans first{&chains[0], 0, 2, 3, nullptr}, second{&chains[1], 0, 2, 3, nullptr};
  EXPECT_TRUE(canMergeAll(program, {first}));
  EXPECT_TRUE(canMergeAll(program, {second}));
  EXPECT_FALSE(canMergeAll(program, {first, second}));
}

TEST(Scans, BothDirectionsOfALayerAreNoChain) {
  std::string text = "input x[t:11, b:2, k:3] f32\n";
  Form reversed{"", "{10 - step[]}"};
  text += layer(forms[0], 0, "x");
  std::string other = layer(reversed, 0, "x");
  for (size_t at = 0; (at = other.find("0", at)) != std::string::npos; ++at) {
    bool isName = at > 0 && std::isalpha(other[at - 1]);
    if (isName)
      other[at] = '9';
  }
  text += other;
  text += "z[t:11, b:2, k:3] f32 = y0[t, b, k] + y9[10 - t, b, k]\n" + layer(forms[0], 1, "z") +
          "output y1\n";
  EXPECT_EQ(findScanChains(parsed(text)).size(), 0u) << text;
}

TEST(Scans, WhatReadsOfAnEarlierScanIsNotMergedWithIt) {
  Chance chance(9);
  std::string text = stack(forms[0], 3);
  std::string from = "q2[t:11, b:2, j:3] f32 = p2[t, b, j]";
  text.replace(text.find(from), from.size(), from + " + hn0[b, j]");
  Program program = parsed(text);
  std::vector<ScanChain> chains = findScanChains(program);
  ASSERT_EQ(chains.size(), 1u);
  ASSERT_EQ(chains[0].scans.size(), 3u);
  EXPECT_EQ(chains[0].scans[1].earliest, 0u);
  EXPECT_EQ(chains[0].scans[2].earliest, 1u);
  Program merged = mergeScans(program, {MergedScans{&chains[0], 1, 2, 3, nullptr}});
  std::vector<ExactTensor> inputs = randomInputs(program, chance);
  expectSame(evaluated(merged, inputs), evaluated(program, inputs));
}

//===----------------------------------------------------------------------===//
// What pays
//===----------------------------------------------------------------------===//

/// Layers of a plain recurrence of so many hidden units.
std::string wide(int layers, int units, int count) {
  std::string n = std::to_string(units), t = std::to_string(count);
  std::string text = "input x[t:" + t + ", k:" + n + "] f32\nz[k:" + n + "] f32 = 0\n", from = "x";
  for (int number = 0; number < layers; ++number) {
    std::string l = std::to_string(number);
    text += "const w" + l + "[" + n + ", " + n + "] f32 = weights(\"w" + l + "\")\nconst r" + l +
            "[" + n + ", " + n + "] f32 = weights(\"r" + l + "\")\np" + l + "[t:" + t + ", j:" + n +
            "] f32 = sum<f32>[k:" + n + "] " + from + "[t, k] * w" + l + "[j, k]\n(h" + l + "[" +
            n + "] f32, y" + l + "[" + t + ", " + n + "] f32) = scan[" + t +
            "] carry(z) capture(p" + l + ", r" + l +
            ") {\nprogram cell\ninput step[] i64\ninput h[" + n + "] f32\ninput in[" + t + ", " +
            n + "] f32\ninput r[" + n + ", " + n + "] f32\ns[j:" + n + "] f32 = sum<f32>[k:" + n +
            "] h[k] * r[j, k]\ng[j:" + n +
            "] f32 = tanh(s[j] + in[step[], j])\noutput g\noutput g as y\n}\n";
    from = "y" + l;
  }
  return text + "output " + from + " as y\n";
}

struct Derived {
  std::string loops, log;
};

Derived derived(const std::string &text, int cores, const char *level = "x86-64-v3",
                double margin = ScanOptions().margin) {
  ScanOptions options;
  options.margin = margin;
  Expected<machine::Machine> machine = machine::Machine::forLevel(level);
  EXPECT_TRUE(machine.ok());
  options.space.schedule.machine = *machine;
  options.space.schedule.machine.cores = cores;
  explain::Log log;
  options.log = &log;
  Program program = deriveScans(parsed(text), options);
  EXPECT_TRUE(program.verify().ok());
  std::string said;
  for (const explain::Record &record : log.records())
    said += record.subject + " " + record.decision + "; ";
  return {loopsOf(program), said};
}

TEST(Scans, SmallStepsPayAndTheLogSaysSo) {
  Derived two = derived(wide(2, 192, 64), 2);
  EXPECT_NE(two.loops.find('('), std::string::npos) << two.loops;
  EXPECT_NE(two.log.find("run side by side"), std::string::npos) << two.log;
}

TEST(Scans, AChainIsCutIntoGroupsOfAsManyAsThereAreWorkers) {
  std::string loops = derived(wide(4, 192, 64), 2).loops;
  EXPECT_EQ(llvm::count(loops, '('), 2) << loops;
}

TEST(Scans, OneWorkerOrTinyStepsStayAsTheyAre) {
  EXPECT_EQ(derived(wide(2, 192, 64), 1).loops, "64 64");
  Derived tiny = derived(wide(2, 4, 64), 2);
  EXPECT_EQ(tiny.loops, "64 64");
  EXPECT_NE(tiny.log.find("run one after the other"), std::string::npos) << tiny.log;
}

TEST(Scans, EqualCellsRunAsWavesWhereStepsAreLaunched) {
  Derived three = derived(wide(3, 128, 64), 132, "sm_90a");
  EXPECT_EQ(three.loops, "66");
  EXPECT_NE(three.log.find("run side by side"), std::string::npos) << three.log;
  std::string text = wide(4, 128, 64); // The third layer is another.
  text.replace(text.find("tanh", text.find("y2[")), 4, "sqrt");
  EXPECT_EQ(derived(text, 132, "sm_90a").loops, "65 64 64");
}

TEST(Scans, WhateverItCostsOneThatIsLikeNoOtherIsNoWave) {
  std::string text = wide(3, 128, 64); // The last layer is another.
  text.replace(text.find("tanh", text.find("y2[")), 4, "sqrt");
  double any = cost::Margins::none().sideBySideScans;
  EXPECT_EQ(derived(text, 132, "sm_90a", any).loops, "65 64");
}

TEST(Scans, WeightsThatWantAllCachesStayWithAllWorkers) {
  EXPECT_EQ(derived(wide(2, 1024, 64), 2).loops, "64 64");
}

} // namespace
} // namespace kintsugi::derive
