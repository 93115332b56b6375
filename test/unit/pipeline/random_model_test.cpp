//===- random_model_test.cpp - Compiled programs against the interpreter ----===//
//
// Random programs go through the whole pipeline, on each target and with each way of planning, and
// must give what te::interpret gives: the differential and the metamorphic test of all layers.
//
//===----------------------------------------------------------------------===//

#include "devices/cpu/cpu_device.h"
#include "pipeline/pipeline.h"
#include "runtime/context.h"
#include "runtime/model.h"
#include "te/constant.h"
#include "te/interpreter.h"
#include "te/parser.h"
#include "te/printer.h"
#include "unit/te/random_program.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

Expected<std::vector<Tensor>> compileAndRun(const Program &program,
                                            const pipeline::CompileOptions &options,
                                            llvm::ArrayRef<Tensor> feeds, unsigned &launches) {
  auto device = std::make_shared<devices::CpuDevice>();
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  KINTSUGI_ASSIGN(pipeline::CompileReport report,
                  pipeline::compile(program, options, *device, writer));
  launches = report.launches;
  KINTSUGI_ASSIGN(runtime::Artifact artifact, runtime::Artifact::fromMemory(bytes, "model.kin"));
  KINTSUGI_ASSIGN(auto model, runtime::Model::create(std::move(artifact), device));
  KINTSUGI_ASSIGN(auto context, runtime::Context::create(model, {2}));
  std::vector<runtime::InputTensor> inputs;
  for (const Tensor &feed : feeds)
    inputs.push_back({"", feed.type(), feed.shape(), feed.bytes().data(), feed.bytes().size()});
  std::vector<Tensor> results;
  std::vector<runtime::OutputTensor> outputs;
  for (const runtime::Port &port : model->manifest().outputs) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(port.type, port.shape));
    results.push_back(std::move(tensor));
  }
  for (Tensor &result : results)
    outputs.push_back({"", result.bytes().data(), result.bytes().size(), {}});
  KINTSUGI_RETURN_IF_ERROR(context->run(inputs, outputs));
  return results;
}

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
    Program program = randomProgram(seed, random);
    if (!program.outputs.empty())
      checkProgram(std::move(program), seed);
  }

  void checkProgram(Program program, uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + printProgram(program));
    std::vector<Tensor> feeds;
    std::vector<TensorView> views;
    for (const ExactTensor &input : randomInputs(program, seed)) {
      Expected<Tensor> rounded = input.rounded();
      ASSERT_TRUE(rounded.ok());
      feeds.push_back(std::move(*rounded));
    }
    for (const Tensor &feed : feeds)
      views.push_back(feed.view());
    Expected<std::vector<Tensor>> expected = interpret(program, views);
    if (!expected.ok())
      return; // A gather left its tensor: no result to compare with.
    ++compared;
    pipeline::CompileOptions options;
    options.machine = machine::Machine::detect();
    if (seed % 3 == 0) // Every machine that runs this has at least that.
      options.machine = *machine::Machine::forLevel("x86-64-v3");
    if (GetParam().freeStages)
      options.machine.stageSeconds = 0;
    if (GetParam().blocks) {
      std::string level = options.machine.level;
      options.machine = *machine::Machine::forLevel("sm_90a");
      options.machine.level = level;
      options.abilities.joins = false; // A processor's code has a function for each kernel.
    }
    options.target = GetParam().target;
    options.plan = GetParam().plan;
    for (bool weights : {false, true}) {
      if (weights)
        makeConstant(program, feeds);
      Expected<std::vector<Tensor>> results = compileAndRun(program, options, feeds, launches);
      ASSERT_TRUE(results.ok()) << results.error().message;
      for (auto [result, right] : llvm::zip(*results, *expected))
        compare(result, right);
    }
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

  static double toleranceOf(ElementType type) {
    return type == ElementType::BF16 ? 2e-2 : type == ElementType::F16 ? 3e-3 : 2e-4;
  }

  static void compare(const Tensor &result, const Tensor &right) {
    ASSERT_EQ(result.shape(), right.shape());
    double largest = 0;
    for (int64_t k = 0; k < right.count(); ++k)
      if (double x = std::abs(loadDouble(right.view(), k)); std::isfinite(x))
        largest = std::max(largest, x);
    for (int64_t k = 0; k < right.count(); ++k) {
      double a = loadDouble(result.view(), k), b = loadDouble(right.view(), k);
      if (!isFloat(right.type()))
        ASSERT_EQ(loadInteger(result.view(), k), loadInteger(right.view(), k)) << "at " << k;
      else if (std::isfinite(b) && largest < 1e30)
        ASSERT_NEAR(a, b, toleranceOf(right.type()) * std::max(1.0, largest)) << "at " << k;
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
