// What stays f32 where fewer bits would move the outputs too far.

#include "pipeline/kept_nodes.h"

#include "devices/cpu/cpu_device.h"
#include "import/random_weights.h"
#include "pipeline/host_trial.h"
#include "simplify/rounding_switches.h"
#include "te/constant.h"
#include "te/parser.h"
#include "unit/te/random_program.h"
#include "verify/compare.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

/// y amplifies what is rounded of x, w and near, to which only `strength` makes a difference; z
/// does not.
Program amplifier(const std::string &strength) {
  std::string text = "input x[32, 64] f32\n"
                     "const w[64, 64] f32 = weights(\"w\")\n"
                     "const v[64, 64] f32 = weights(\"v\")\n"
                     "near[i:64, j:64] f32 = w[i, j] + v[i, j] * " +
                     strength +
                     "\n"
                     "a[i:32, j:64] f32 = sum<f32>[k:64] x[i, k] * w[j, k]\n"
                     "b[i:32, j:64] f32 = sum<f32>[k:64] x[i, k] * near[j, k]\n"
                     "y[i:32, j:64] f32 = b[i, j] - a[i, j]\n"
                     "z[i:32, j:64] f32 = sum<f32>[k:64] x[i, k] * v[j, k]\n"
                     "output y\noutput z\n";
  Expected<Program> program =
      parseProgram(text, "amplifier",
                   [](const std::string &name, ElementType type, llvm::ArrayRef<Extent> shape) {
                     return import::randomWeight(name, type, plainShape(shape));
                   });
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(*program);
}

struct Chosen {
  std::vector<std::string> kept;
  std::vector<std::string> notes;
};

std::vector<Tensor> feedsOf(const Program &program) {
  std::vector<Tensor> feeds;
  for (const ExactTensor &input : randomInputs(program, 3)) {
    Expected<Tensor> feed = input.rounded();
    EXPECT_TRUE(feed.ok());
    feeds.push_back(std::move(*feed));
  }
  return feeds;
}

std::vector<Tensor> ran(const Program &program, const std::vector<Tensor> &feeds) {
  devices::CpuDevice host;
  Expected<pipeline::HostTrial> trial = pipeline::HostTrial::compile(program, {}, host);
  EXPECT_TRUE(trial.ok()) << trial.error().message;
  Expected<std::vector<Tensor>> outputs = trial->run(feeds);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return std::move(*outputs);
}

Chosen choose(const Program &program, ElementType narrow, double maxError) {
  devices::CpuDevice host;
  pipeline::CompileOptions options;
  options.maxError = maxError;
  std::vector<Tensor> feeds = feedsOf(program);
  pipeline::CompileReport report;
  Expected<std::vector<bool>> kept =
      pipeline::keptNodes(program, narrow, {}, std::move(feeds), options, host, report);
  EXPECT_TRUE(kept.ok()) << kept.error().message;
  Chosen chosen{{}, report.notes};
  for (auto [node, isKept] : llvm::enumerate(*kept))
    if (isKept)
      chosen.kept.push_back(program.value(program.resultsOf(node)[0]).name);
  return chosen;
}

TEST(KeptNodes, AreThoseThatMoveTheOutputs) {
  for (ElementType narrow : {ElementType::F16, ElementType::BF16}) {
    Chosen chosen = choose(amplifier("0.0003"), narrow, 0.05);
    EXPECT_EQ(chosen.kept, (std::vector<std::string>{"near", "a", "b"}));
    ASSERT_EQ(chosen.notes.size(), 1u);
    EXPECT_TRUE(llvm::StringRef(chosen.notes[0]).contains("2 of 4 definitions stay f32"))
        << chosen.notes[0];
    EXPECT_TRUE(llvm::StringRef(chosen.notes[0]).contains("everywhere moved output 'y' by"));
  }
}

TEST(KeptNodes, AreNoneWhereOutputsAreCalm) {
  Chosen calm = choose(amplifier("1"), ElementType::F16, 0.05);
  EXPECT_TRUE(calm.kept.empty());
  EXPECT_TRUE(calm.notes.empty());
}

TEST(KeptNodes, AreAllThatRoundWhereNothingMayMove) {
  EXPECT_EQ(choose(amplifier("1"), ElementType::F16, 1e-7).kept,
            (std::vector<std::string>{"near", "a", "b", "z"}));
}

TEST(KeptNodes, AreNoneWhereNoOutputIsOfFloats) {
  Expected<Program> program = parseProgram(
      "input x[32, 64] f32\ni[r:32] i64 = argmax<f32>[k:64] (x[r, k], k)\noutput i\n", "indices");
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(choose(*program, ElementType::F16, 0.01).kept.empty());
}

/// What the program whose roundings are inputs computes with all of them, and what is stored so.
TEST(KeptNodes, SwitchesRoundWhatIsStored) {
  Program program = amplifier("0.5");
  for (ElementType narrow : {ElementType::F16, ElementType::BF16})
    for (double greatest : {0.0, 1e6}) {
      if (narrow == ElementType::BF16 && greatest > 0)
        continue; // It has f32's range.
      simplify::Tried tried{std::vector<double>(program.numValues(), greatest), {}};
      std::vector<unsigned> parts(program.nodes.size(), 0);
      Program switched = simplify::withRoundingSwitches(program, narrow, tried, parts, 1);
      Program stored = simplify::storeNarrow(program, narrow, tried);
      std::vector<Tensor> feeds = feedsOf(program);
      std::vector<Tensor> right = ran(stored, feeds);
      Expected<Tensor> flags = Tensor::create(ElementType::Bool, {1});
      ASSERT_TRUE(flags.ok());
      storeBits(ElementType::Bool, flags->bytes(), 0, 1);
      feeds.push_back(std::move(*flags));
      std::vector<Tensor> found = ran(switched, feeds);
      ASSERT_EQ(found.size(), right.size());
      for (auto [result, expected] : llvm::zip_equal(found, right))
        EXPECT_LT(verify::difference(result.view(), expected.view()).relative, 1e-6);
    }
}

} // namespace
