// What calls become where the target has code for them: launches of the manifest, with memory of
// the plan between them, and reports that are looked at when all is done.

#include "link/device_calls.h"

#include "explain/log.h"
#include "gpu_plan.h"
#include "link/manifest.h"
#include "targets/nvidia/nvidia.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::link {
namespace {

using orchestrate::Plan;

const char *const text = R"(
input x[i:3, j:9000] f32
input d[i:8, j:4] f32
input p[i:2, j:1] i64
input u[i:2, j:4] f32
input q[i:5000000000] u8
(v[3, 20] f32, w[3, 20] i64) = call TopK(x) {"k":20}  @"top"
y[i:3, j:9000] f32 = x[i, j] * 2
(a[3, 20] f32, b[3, 20] i64) = call TopK(y) {"k":20}
(e[2] u8, f[2] i64) = call TopK(q) {"k":2}  @"long"
s[8, 4] f32 = call ScatterND(d, p, u) {"reduction":"add"}  @"scatter"
(last[8, 4] f32) = scan[4] carry(d) capture(p, u) {
  input step[] i64
  input h[8, 4] f32
  input p[2, 1] i64
  input u[2, 4] f32
  next[8, 4] f32 = call ScatterND(h, p, u) {"reduction":"add"}  @"inner"
  output next
}
output v
output w
output a
output b
output e
output f
output s
output last
)";

class DeviceCalls : public test::GpuPlan {
protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(parse(text));
    plan = planned(orchestrate::OrchestrateOptions().mode);
    placeCalls(plan, *targets::createNvidiaTarget(), machine, &log);
  }

  const orchestrate::Stage &stageOf(const std::string &node) const {
    return *llvm::find_if(
        plan.stages, [&](const auto &stage) { return llvm::is_contained(stage.origins, node); });
  }

  Plan plan;
  explain::Log log;
};

TEST_F(DeviceCalls, EqualOnesShareTheirCode) {
  EXPECT_EQ(plan.sites.size(), 2u); // Of both TopK of f32, and of a scatter.
  EXPECT_EQ(plan.checks.size(), 1u);
}

TEST_F(DeviceCalls, HaveMemoryOfTheirOwnWhileTheyRun) {
  const orchestrate::Stage &top = stageOf("top");
  ASSERT_TRUE(top.device);
  ASSERT_EQ(top.memory.size(), 1u);
  auto range = [&](unsigned buffer) {
    uint64_t begin = plan.buffers[buffer].arenaOffset;
    return std::pair(begin, begin + plan.buffers[buffer].bytes);
  };
  auto [begin, end] = range(top.memory[0]);
  EXPECT_EQ(end - begin, 3u * 3 * 20 * 8); // Of three parts of each row the best 20.
  for (unsigned result : llvm::ArrayRef(top.operands).take_back(2)) {
    auto [first, last] = range(result);
    EXPECT_TRUE(last <= begin || end <= first);
  }
  EXPECT_LE(end, plan.arenaBytes);
}

TEST_F(DeviceCalls, AreStagesOfTheManifest) {
  runtime::Manifest manifest = manifestOf(plan, {});
  manifest.target = "cuda";
  Status valid = manifest.validate(0);
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  std::vector<std::string> symbols;
  for (const runtime::Stage &stage : manifest.stages)
    if (!stage.call.empty()) {
      EXPECT_EQ(stage.kind, runtime::Stage::Kind::Kernel);
      EXPECT_GT(stage.threads, 0u);
      symbols.push_back(stage.symbol);
    }
  EXPECT_EQ(llvm::count(symbols, "c0_0"), 2);
  EXPECT_EQ(llvm::count(symbols, "c0_1"), 2);
  EXPECT_EQ(llvm::count(symbols, "c1_1"), 1);
  ASSERT_EQ(manifest.checks.size(), 1u);
  EXPECT_EQ(manifest.checks[0].node, "scatter");
  EXPECT_EQ(manifest.checks[0].text, "ScatterND: index {} is outside dimension {} of extent {}");
  EXPECT_EQ(manifest.buffers[manifest.checks[0].buffer].bytes, 32u);
}

TEST_F(DeviceCalls, AreOnTheHostForAReason) {
  EXPECT_FALSE(stageOf("inner").device);
  EXPECT_FALSE(stageOf("long").device);
  auto said = [&](const std::string &decision, const std::string &reason) {
    return llvm::any_of(log.records(), [&](const explain::Record &record) {
      return record.phase == "calls" && record.decision == decision &&
             llvm::is_contained(record.reasons, reason);
    });
  };
  EXPECT_TRUE(said("call TopK runs on the device", "serves top"));
  EXPECT_TRUE(said("call TopK runs on the host, between copies", "its rows are too long"));
  EXPECT_TRUE(said("call ScatterND runs on the host, between copies",
                   "its indices may be wrong, and a loop or branch has no place to say so"));
}

} // namespace
} // namespace kintsugi::link
