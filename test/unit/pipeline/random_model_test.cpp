//===- random_model_test.cpp - Compiled programs against the interpreter ----===//
//
// Random programs go through the whole pipeline, on each target and with each way of planning, and
// must give what te::interpret gives: the differential and the metamorphic test of all layers.
//
//===----------------------------------------------------------------------===//

#include "compile_and_run.h"

#include "te/constant.h"
#include "te/interpreter.h"
#include "te/parser.h"
#include "te/printer.h"
#include "unit/te/random_program.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

struct Way {
  const char *name;
  const char *target;
  orchestrate::PlanMode plan;
  /// Kernels start for free, so that other formats pay for values as small as these.
  bool freeStages = false;
  /// A tile is the work of a block of threads, as on a GPU, whose work a processor does here.
  bool blocks = false;
};

const Way ways[] = {
    {"search", "cpu", orchestrate::PlanMode::Search},
    {"greedy", "cpu", orchestrate::PlanMode::Greedy},
    {"formats", "cpu", orchestrate::PlanMode::Greedy, /*freeStages=*/true},
    {"separate", "cpu", orchestrate::PlanMode::Separate},
    {"reference", "reference", orchestrate::PlanMode::Separate},
    {"blocks", "cpu", orchestrate::PlanMode::Search, /*freeStages=*/false, /*blocks=*/true},
    {"separateBlocks", "cpu", orchestrate::PlanMode::Separate, /*freeStages=*/false,
     /*blocks=*/true},
};

class RandomModel : public testing::TestWithParam<Way> {
protected:
  void check(uint64_t seed) {
    RandomOptions random;
    random.jumps = false;
    random.maxExtent = seed % 4 == 0 ? 21 : 5;
    if (seed % 5 == 0) // Right to f64's precision.
      random.types = {ElementType::F64, ElementType::I64, ElementType::Bool};
    Program program = randomProgram(seed, random);
    if (!program.outputs.empty())
      checkProgram(std::move(program), seed);
  }

  void checkProgram(Program program, uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + printProgram(program));
    std::vector<TensorView> views;
    Expected<std::vector<Tensor>> made = test::randomFeeds(program, seed);
    ASSERT_TRUE(made.ok());
    std::vector<Tensor> &feeds = *made;
    for (const Tensor &feed : feeds)
      views.push_back(feed.view());
    Expected<std::vector<Tensor>> expected = interpret(program, views);
    if (!expected.ok())
      return; // A gather left its tensor: no result to compare with.
    ++compared;
    double tolerance = test::toleranceOf(test::coarsestOf(program));
    for (bool weights : {false, true}) {
      if (weights)
        makeConstant(program, feeds);
      for (const machine::Machine &machine : machinesFor(GetParam())) {
        SCOPED_TRACE(machine.level);
        Expected<test::Ran> ran = test::compileAndRun(program, optionsFor(machine), feeds);
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        launches = ran->launches;
        for (auto [result, right] : llvm::zip_equal(ran->results, *expected))
          test::expectAgreement(result, right, tolerance);
        if (HasFatalFailure())
          return;
      }
    }
  }

  /// The reference's code is the same at each level: scalars in f64.
  static std::vector<machine::Machine> machinesFor(const Way &way) {
    std::vector<machine::Machine> machines = test::hostMachines();
    if (std::string_view(way.target) == "reference")
      machines.resize(std::min<size_t>(machines.size(), 1));
    return machines;
  }

  static pipeline::CompileOptions optionsFor(const machine::Machine &machine) {
    pipeline::CompileOptions options;
    options.machine = GetParam().blocks ? test::blocksOn(machine.level) : machine;
    if (GetParam().blocks)
      options.disabled.add("launch-merging"); // A processor has a function for each kernel.
    if (GetParam().freeStages)
      options.machine.stageSeconds = 0;
    options.target = GetParam().target;
    options.plan = GetParam().plan;
    return options;
  }

  /// All inputs but the first become weights with the values that were fed.
  static void makeConstant(Program &program, std::vector<Tensor> &feeds) {
    while (program.inputs.size() > 1) {
      Value &value = program.value(program.inputs.back());
      value.kind = ValueKind::Constant;
      value.constant = std::make_shared<TensorConstant>(std::move(feeds.back()));
      program.inputs.pop_back();
      feeds.pop_back();
    }
  }

  unsigned compared = 0, launches = 0;
};

TEST_P(RandomModel, AgreesWithTheInterpreter) {
  for (uint64_t seed = 1; seed <= 60 && !HasFatalFailure(); ++seed)
    check(seed);
  EXPECT_GE(compared, 40u);
}

/// A sum is held in a wider type than its halves are stored in, and its weights are packed with a
/// rest.
TEST_P(RandomModel, EveryFloatWithWhatIsFusedAroundIt) {
  for (std::string type : {"f16", "bf16", "f32", "f64"}) {
    std::string held = type == "f64" ? "f64" : "f32";
    std::string text = "input x[i:17, k:31] " + type + "\ninput w[k:31, j:100] " + type +
                       "\nt[i:17, j:100] " + type + " = sum<" + held + ">[k:31] " + held +
                       "(x[i, k]) * " + held + "(w[k, j])\ny[j:100, i:17] " + type +
                       " = max(t[i, j], 0.0)\noutput y\n";
    SCOPED_TRACE(text);
    Expected<Program> program = parseProgram(text, "floats");
    ASSERT_TRUE(program.ok()) << program.error().message;
    checkProgram(std::move(*program), 1);
  }
  EXPECT_EQ(compared, 4u);
}

/// Layers of an LSTM of 8 units over 12 steps; x[12, 2, 8] -> y, the last states of the last layer.
std::string lstm(int layers) {
  std::string text = "input x[t:12, b:2, k:8] f32\n", from = "x";
  for (int layer = 0; layer < layers; ++layer) {
    std::string n = std::to_string(layer);
    text += "input w" + n + "[j:32, k:8] f32\ninput r" + n + "[j:32, k:8] f32\ninput h" + n +
            "[b:2, j:8] f32\np" + n + "[t:12, b:2, j:32] f32 = sum<f32>[k:8] " + from +
            "[t, b, k] * w" + n + "[j, k]\nq" + n + "[t:12, b:2, j:32] f32 = p" + n +
            "[t, b, j] + w" + n + "[j, 0]\n(hn" + n + "[2, 8] f32, cn" + n + "[2, 8] f32, y" + n +
            "[12, 2, 8] f32) = scan[12] carry(h" + n + ", h" + n + ") capture(q" + n + ", r" + n +
            ") {\nprogram cell\ninput step[] i64\ninput h[2, 8] f32\ninput c[2, 8] f32\n"
            "input in[12, 2, 32] f32\ninput r[32, 8] f32\n"
            "s[b:2, j:32] f32 = sum<f32>[k:8] h[b, k] * r[j, k]\n";
    for (auto [gate, at] : {std::pair("i", "j"), {"o", "j+8"}, {"f", "j+16"}})
      text += std::string(gate) + "[b:2, j:8] f32 = 1 / (1 + exp(-(in[step[], b, " + at +
              "] + s[b, " + at + "])))\n";
    text += "g[b:2, j:8] f32 = tanh(in[step[], b, j+24] + s[b, j+24])\n"
            "cx[b:2, j:8] f32 = f[b, j] * c[b, j] + i[b, j] * g[b, j]\n"
            "hx[b:2, j:8] f32 = o[b, j] * tanh(cx[b, j])\n"
            "output hx\noutput cx\noutput hx as y\n}\n";
    from = "y" + n;
  }
  return text + "output " + from + " as y\noutput hn" + std::to_string(layers - 1) + "\n";
}

TEST_P(RandomModel, LayersOfARecurrentNetwork) {
  Expected<Program> program = parseProgram(lstm(3), "lstm");
  ASSERT_TRUE(program.ok()) << program.error().message;
  checkProgram(std::move(*program), 2);
  EXPECT_EQ(compared, 1u);
  if (GetParam().blocks && GetParam().plan == orchestrate::PlanMode::Search)
    EXPECT_LE(launches, 14 + 4u); // A kernel a wave, and a few around them.
}

INSTANTIATE_TEST_SUITE_P(Ways, RandomModel, testing::ValuesIn(ways),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
