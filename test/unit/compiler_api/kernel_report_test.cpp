//===- kernel_report_test.cpp - Each kernel against the reference -----------===//

#include "api/compiler/kernel_report.h"

#include "api/compiler/session.h"
#include "base/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace kintsugi::api {
namespace {

namespace fs = std::filesystem;

/// Spoils what one stage stores before anyone sees it.
class Spoiler : public KernelRecorder {
public:
  Spoiler(const runtime::Manifest &manifest, std::list<KernelLevel> &levels, uint32_t victim)
      : KernelRecorder(manifest, levels), victim(victim) {}

  Status launched(uint32_t stage, std::span<void *const> buffers,
                  runtime::DeviceQueue &queue) override {
    if (stage == victim)
      *static_cast<float *>(buffers.back()) += 0.5f;
    return KernelRecorder::launched(stage, buffers, queue);
  }

private:
  uint32_t victim;
};

class KernelReport : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("kernel_report_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    ::setenv("KINTSUGI_CACHE", (folder / "cache").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// The entries for a model of which the kernel that stores `victim` is spoilt; empty: none is.
  Json judge(std::string_view text, const char *options, const std::string &victim = "") {
    std::string model = (folder / "model.te").string();
    EXPECT_TRUE(writeFileAtomic(model, text).ok());
    KinCompilerOptions given{sizeof(KinCompilerOptions), options, nullptr, nullptr};
    auto settings = readSettings(&given);
    EXPECT_TRUE(settings.ok());
    auto session = Session::open(model, "", *settings);
    EXPECT_TRUE(session.ok()) << session.error().message;
    Diagnostics diagnostics;
    auto program = pipeline::kernelProgram(model, settings->compile, *hostDevice(), diagnostics);
    EXPECT_TRUE(program.ok());
    auto levels = kernelLevels(*program, session->manifest());
    EXPECT_TRUE(levels.ok());
    uint32_t stage = stageThatStores(session->manifest(), victim);
    Spoiler spoiler(session->manifest(), *levels, stage);
    EXPECT_TRUE(session->run({.observer = &spoiler}).ok());
    auto kernels = judgeKernels(*levels, session->manifest(), *settings);
    EXPECT_TRUE(kernels.ok()) << kernels.error().message;
    return kernels.ok() ? *kernels : Json::array();
  }

  static uint32_t stageThatStores(const runtime::Manifest &manifest, const std::string &name) {
    auto stores = [&](const runtime::Stage &stage) {
      return manifest.buffers[stage.buffers.back()].name == name;
    };
    return std::ranges::find_if(manifest.stages, stores) - manifest.stages.begin();
  }

  /// What the kernels store that are not within the policy.
  static std::vector<std::string> outside(const Json &kernels) {
    std::vector<std::string> names;
    for (const Json &kernel : kernels)
      if (!kernel["within"].get<bool>())
        names.push_back(kernel["outputs"][0]["name"]);
    return names;
  }

  fs::path folder;
};

constexpr const char *chain = "input x[16, 24] f32\n"
                              "const w[24, 32] f32 = weights(\"w\")\n"
                              "a[i:16, j:32] f32 = sum[k:24] x[i, k] * w[k, j]\n"
                              "b[i:16, j:32] f32 = max(a[i, j], 0)\n"
                              "c[i:16] f32 = sum[j:32] b[i, j]\n"
                              "d[i:16] f32 = c[i] * c[i]\n"
                              "output d\n";
constexpr const char *alone = R"({"disable": "fusion", "random_weights": true})";

TEST_F(KernelReport, AllKernelsAgree) {
  Json kernels = judge(chain, alone);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(outside(kernels), std::vector<std::string>{});
  EXPECT_EQ(kernels[0]["depth"], 24) << "the kernel's own terms, not all on the way to it";
  EXPECT_EQ(kernels[3]["depth"], 1);
}

TEST_F(KernelReport, TheKernelThatErrsIsNamedAndNoOtherOne) {
  for (const char *victim : {"a", "b", "c", "d"})
    EXPECT_EQ(outside(judge(chain, alone, victim)), std::vector<std::string>{victim});
}

TEST_F(KernelReport, FusedKernelsAreCheckedAsOne) {
  Json kernels = judge(chain, R"({"random_weights": true})");
  ASSERT_LT(kernels.size(), 4u);
  EXPECT_EQ(outside(kernels), std::vector<std::string>{});
  EXPECT_EQ(outside(judge(chain, R"({"random_weights": true})", "d")),
            std::vector<std::string>{"d"});
}

constexpr const char *loop =
    "input x[8, 16] f32\n"
    "const zero[16] f32 = weights(\"zero\")\n"
    "const w[16, 16] f32 = weights(\"w\")\n"
    "(last[16] f32, all[8, 16] f32) = scan[8] carry(zero) capture(x, w) {\n"
    "  input step[] i64\n"
    "  input h[16] f32\n"
    "  input xs[8, 16] f32\n"
    "  input weight[16, 16] f32\n"
    "  p[j:16] f32 = sum[k:16] h[k] * weight[k, j]\n"
    "  next[j:16] f32 = tanh(p[j] + xs[step[], j])\n"
    "  output next\n"
    "  output next as shown\n"
    "}\n"
    "y[i:8, j:16] f32 = all[i, j] * 2 + last[j]\n"
    "output y\n";

TEST_F(KernelReport, KernelsOfALoop) {
  EXPECT_EQ(outside(judge(loop, alone)), std::vector<std::string>{});
  EXPECT_EQ(outside(judge(loop, alone, "p")), std::vector<std::string>{"p"});
  EXPECT_EQ(outside(judge(loop, alone, "y")), std::vector<std::string>{"y"});
}

TEST_F(KernelReport, AnArtifactIsRefused) {
  std::string path = (folder / "some.kin").string();
  std::string model = (folder / "model.te").string();
  ASSERT_TRUE(writeFileAtomic(model, std::string_view(chain)).ok());
  KinCompilerOptions given{sizeof(KinCompilerOptions), alone, nullptr, nullptr};
  auto read = readSettings(&given);
  ASSERT_TRUE(read.ok());
  ASSERT_TRUE(compileTo(path, model, *read).ok());
  auto found = compareKernels(path, "", *read);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::Usage);
}

} // namespace
} // namespace kintsugi::api
