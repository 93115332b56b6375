// Long sums of few results become sums of sums where a machine's cores would be idle; what is
// computed stays the same but for rounding.

#include "derive/split_sums.h"

#include "on_gpu.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

SplitSumsOptions onGpu() {
  SplitSumsOptions options;
  options.schedule = onHopper();
  return options;
}

Program split(const std::string &text) {
  Program after = splitSums(parsed(text), onGpu());
  Status status = after.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(after);
  return after;
}

size_t nodesOf(const std::string &text) { return split(text).nodes.size(); }

/// The same values before and after, from small whole numbers, whose sums are exact.
void expectSplitAndEqual(const std::string &text) {
  Program before = parsed(text), after = split(text);
  ASSERT_EQ(after.nodes.size(), 2u) << printProgram(after);
  expectSameOfWholeNumbers(after, before, 8, 7);
}

} // namespace

TEST(SplitSums, TellWhatFuelWasNotThereFor) {
  std::string text = "input x[65536, 8] f32\ninput z[70000, 4] f32\n"
                     "y[j:8] f32 = sum[i:65536] x[i, j]\nw[j:4] f32 = sum[i:70000] z[i, j]\n"
                     "output y\noutput w\n";
  for (unsigned fuel : {0u, 1u, 2u}) {
    explain::Log log;
    SplitSumsOptions options = onGpu();
    options.fuel = fuel;
    options.log = &log;
    size_t made = splitSums(parsed(text), options).nodes.size() - 2;
    EXPECT_EQ(made, fuel);
    double missed = 0;
    for (const explain::Record &record : log.records())
      if (llvm::StringRef(record.decision).contains("ran out of fuel"))
        missed += record.numbers[0].value;
    EXPECT_EQ(missed, 2.0 - fuel);
  }
}

TEST(SplitSums, ComputeColumnsInRuns) {
  expectSplitAndEqual("input x[65536, 8] f32\ny[j:8] f32 = sum[i:65536] x[i, j]\noutput y\n");
}

TEST(SplitSums, TakeOneOfSeveralIterators) {
  expectSplitAndEqual("input x[4, 512, 512] f32\n"
                      "y[c:4] f32 = max[h:512, w:512] x[c, h, w] * 2\noutput y\n");
  expectSplitAndEqual("input x[600, 1000] f32\ny[] f32 = sum[i:600, j:1000] x[i, j]\noutput y\n");
}

TEST(SplitSums, KeepTheTypeOfTheRunningValue) {
  Program after = split("input x[131072, 16] f16\n"
                        "y[j:16] f16 = sum<f32>[i:131072] f32(x[i, j])\noutput y\n");
  ASSERT_EQ(after.nodes.size(), 2u);
  EXPECT_EQ(after.value(after.resultsOf(0)[0]).type, ElementType::F32);
  EXPECT_EQ(after.value(after.resultsOf(1)[0]).type, ElementType::F16);
}

TEST(SplitSums, LeaveWhatKeepsCoresBusy) {
  EXPECT_EQ(nodesOf("input x[65536, 1024] f32\ny[i:65536] f32 = sum[j:1024] x[i, j]\noutput y\n"),
            1u);
  EXPECT_EQ(nodesOf("input x[64, 2048] f32\ny[i:64] f32 = sum[j:2048] x[i, j]\noutput y\n"), 1u);
  // The first of several greatest stands where terms are in order.
  EXPECT_EQ(nodesOf("input x[262144] f32\ny[] i64 = argmax<f32>[i:262144] (x[i], i)\noutput y\n"),
            1u);
}

} // namespace kintsugi::derive
