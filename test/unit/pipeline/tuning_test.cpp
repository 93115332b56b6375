//===- tuning_test.cpp - Tuning for a device of its own, without one --------===//
//
// The device computes nothing, or what a rule says, and its clock says what a rule says of stages;
// all else, down to the text of kernels, is as for a GPU.
//
//===----------------------------------------------------------------------===//

#include "devices/cpu/cpu_device.h"
#include "devices/null/null_device.h"
#include "pipeline/pipeline.h"
#include "runtime/artifact.h"
#include "te/parser.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace kintsugi::pipeline {
namespace {

using runtime::Artifact;
using runtime::DeviceProgram;
using runtime::DeviceQueue;
using runtime::Stage;

/// Seconds of a stage, in the model or alone.
using Rule = std::function<double(const Stage &stage, bool isAlone)>;
/// The byte that a stage's last result is full of; none: it stores nothing.
using Stored = std::function<int(const Stage &stage)>;

class ClockedProgram final : public DeviceProgram {
public:
  ClockedProgram(std::unique_ptr<DeviceProgram> none, const Artifact &artifact)
      : none(std::move(none)), artifact(artifact) {}
  const void *constants() const override { return none->constants(); }

  std::unique_ptr<DeviceProgram> none;
  const Artifact &artifact;
};

/// Keeps the second run, as a queue with graphs does.
class ClockedQueue final : public DeviceQueue {
public:
  ClockedQueue(std::unique_ptr<DeviceQueue> none, const ClockedProgram &program, const Rule &rule,
               const Stored &stored)
      : none(std::move(none)), program(program), rule(rule), stored(stored) {}

  Expected<bool> beginSteps(std::span<const runtime::MemoryRange>,
                            std::span<std::byte *const>) override {
    bool isKept = runs++ >= 2 && !isTiming;
    if (!isKept)
      seconds = 0, spans.clear();
    return isKept;
  }
  std::optional<double> secondsOfSteps() override { return seconds; }
  bool timeStages(bool wanted) override {
    isTiming = wanted;
    return true;
  }
  Expected<std::vector<runtime::StageSpan>> stageSpans() override { return spans; }
  Status launch(uint32_t number, void *const *buffers) override {
    const runtime::Manifest &manifest = program.artifact.manifest();
    double own = rule(manifest.stages[number], manifest.plan.children.empty());
    spans.push_back({number, 0, int64_t(seconds * 1e9), int64_t(own * 1e9)});
    seconds += own;
    const Stage &stage = manifest.stages[number];
    if (stored)
      std::memset(buffers[stage.buffers.size() - 1], stored(stage),
                  manifest.buffers[stage.buffers.back()].bytes);
    return none->launch(number, buffers);
  }
  Status copy(void *to, const void *from, uint64_t bytes) override {
    return none->copy(to, from, bytes);
  }
  Status upload(void *to, const void *from, uint64_t bytes) override {
    return none->upload(to, from, bytes);
  }
  Status download(void *to, const void *from, uint64_t bytes) override {
    return none->download(to, from, bytes);
  }
  Status finish() override { return Status::success(); }

private:
  std::unique_ptr<DeviceQueue> none;
  const ClockedProgram &program;
  const Rule &rule;
  const Stored &stored;
  std::vector<runtime::StageSpan> spans;
  double seconds = 0;
  size_t runs = 0;
  bool isTiming = false;
};

class ClockedDevice final : public runtime::Device {
public:
  explicit ClockedDevice(Rule rule, Stored stored)
      : rule(std::move(rule)), stored(std::move(stored)) {}

  std::string_view name() const override { return "clocked"; }
  bool runsTarget(std::string_view target) const override { return target == "cuda"; }
  bool supports(std::string_view feature) const override { return feature == "sm_80"; }
  bool sharesHostMemory() const override { return false; }
  Expected<void *> allocate(uint64_t bytes) override { return none.allocate(bytes); }
  void release(void *memory, uint64_t bytes) override { none.release(memory, bytes); }
  Expected<std::unique_ptr<DeviceProgram>> load(const Artifact &artifact,
                                                const DeviceProgram *) override {
    KINTSUGI_ASSIGN(std::unique_ptr<DeviceProgram> nothing, none.load(artifact));
    std::string_view code(
        reinterpret_cast<const char *>(artifact.code(artifact.manifest().code[0].section).data()));
    isForOther |= code.find(".target sm_80") == std::string_view::npos;
    return std::unique_ptr<DeviceProgram>(
        std::make_unique<ClockedProgram>(std::move(nothing), artifact));
  }
  Expected<std::unique_ptr<DeviceQueue>> createQueue(const DeviceProgram &program,
                                                     runtime::QueueOptions options) override {
    const auto &own = static_cast<const ClockedProgram &>(program);
    KINTSUGI_ASSIGN(std::unique_ptr<DeviceQueue> queue, none.createQueue(*own.none, options));
    return std::unique_ptr<DeviceQueue>(
        std::make_unique<ClockedQueue>(std::move(queue), own, rule, stored));
  }

private:
  devices::NullDevice none;
  Rule rule;
  Stored stored;

public:
  bool isForOther = false; ///< It was given code that it does not run.
};

const char *const model = "program product\n"
                          "input x[m:256, k:512] f16\n"
                          "input w[k:512, n:384] f16\n"
                          "y[m:256, n:384] f32 = sum<f32>[k:512] f32(x[m, k]) * f32(w[k, n])\n"
                          "output y\n";

/// One kernel of four buffers, or two of three each.
const char *const sumModel = "program added\n"
                             "input x[m:256, k:512] f16\n"
                             "input w[k:512, n:384] f16\n"
                             "input r[m:256, n:384] f32\n"
                             "t[m:256, n:384] f32 = sum<f32>[k:512] f32(x[m, k]) * f32(w[k, n])\n"
                             "y[m:256, n:384] f32 = t[m, n] + r[m, n]\n"
                             "output y\n";

struct Compiled {
  Expected<CompileReport> report = CompileReport();
  std::vector<std::byte> bytes;
};

Compiled compileWith(tune::Records &records, std::shared_ptr<runtime::Device> device,
                     double seconds, const char *text = model) {
  auto program = te::parseProgram(text, "product.te");
  EXPECT_TRUE(program.ok());
  CompileOptions options;
  options.target = "cuda";
  options.machine = *machine::Machine::forLevel("sm_90a");
  options.threads = 2;
  options.records = &records;
  options.recordsLevel = "sm_90a";
  options.tuneSeconds = seconds;
  options.tuneDevice = std::move(device);
  devices::CpuDevice host;
  Compiled result;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(result.bytes);
  result.report = compile(*program, options, host, writer);
  EXPECT_TRUE(result.report.ok()) << (result.report.ok() ? "" : result.report.error().message);
  return result;
}

tune::Records noRecords() { return *tune::Records::read(nullptr, "", ""); }

std::shared_ptr<ClockedDevice> deviceWith(Rule rule, Stored stored = nullptr) {
  return std::make_shared<ClockedDevice>(std::move(rule), std::move(stored));
}

TEST(TuningForADevice, KeepsWhatIsQuickerThereAndUsesItFromThenOn) {
  tune::Records records = noRecords();
  const Compiled plain = compileWith(records, nullptr, 0);
  uint64_t usual = 0;
  auto device = deviceWith([&](const Stage &stage, bool) {
    usual = usual ? usual : stage.tiles; // The default is the first that runs.
    return stage.tiles == usual ? 2e-6 : 1e-6;
  });
  const Compiled tuned = compileWith(records, device, 3);
  EXPECT_EQ(tuned.report->tunedKernels, 1u);
  const Json &report = tuned.report->tuning;
  EXPECT_FALSE(report.contains("problem")) << report.dump();
  EXPECT_GT(report["measured_schedules"].get<int>(), 8);
  EXPECT_DOUBLE_EQ(report["default_ms"].get<double>(), 2e-3);
  EXPECT_DOUBLE_EQ(report["tuned_ms"].get<double>(), 1e-3);
  EXPECT_FALSE(device->isForOther) << "measured is what the device runs";
  EXPECT_NE(tuned.bytes, plain.bytes);
  const Compiled again = compileWith(records, nullptr, 0);
  EXPECT_EQ(again.bytes, tuned.bytes) << "the same model, options and records";
}

TEST(TuningForADevice, WhatComputesSomethingElseDoesNotShip) {
  for (bool isRight : {false, true}) {
    tune::Records records = noRecords();
    uint64_t usual = 0;
    auto device = deviceWith(
        [&](const Stage &stage, bool) {
          usual = usual ? usual : stage.tiles;
          return stage.tiles == usual ? 2e-6 : 1e-6;
        },
        [&](const Stage &stage) { return isRight || stage.tiles == usual ? 0x3f : 0x40; });
    const Compiled tuned = compileWith(records, device, 3);
    EXPECT_EQ(tuned.report->tunedKernels, isRight ? 1u : 0u);
  }
}

TEST(TuningForADevice, WhatIsSlowerInTheModelDoesNotShip) {
  tune::Records records = noRecords();
  const Compiled plain = compileWith(records, nullptr, 0);
  uint64_t usual = 0;
  auto device = deviceWith([&](const Stage &stage, bool isAlone) {
    usual = usual ? usual : stage.tiles;
    return (stage.tiles == usual) == isAlone ? 2e-6 : 1e-6;
  });
  const Compiled tuned = compileWith(records, device, 3);
  EXPECT_EQ(tuned.report->tunedKernels, 0u);
  // It is the plan of predictions at what its kernel was measured to take.
  EXPECT_NE(tuned.report->objectiveSeconds, plain.report->objectiveSeconds);
  EXPECT_EQ(tuned.report->distinctKernels, plain.report->distinctKernels);
  EXPECT_EQ(compileWith(records, nullptr, 0).bytes, tuned.bytes);
}

TEST(TuningForADevice, SearchesTheKernelsOfThePlanThatItLeadsTo) {
  tune::Records records = noRecords();
  auto device =
      deviceWith([](const Stage &stage, bool) { return stage.buffers.size() == 4 ? 1e-3 : 1e-6; });
  const Compiled first = compileWith(records, device, 30, sumModel);
  EXPECT_EQ(first.report->distinctKernels, 2u) << "the one kernel is slow";
  EXPECT_EQ(first.report->tuning["kernels"], 2);
  EXPECT_EQ(first.report->tuning["searched_kernels"], 3);
  EXPECT_EQ(first.report->tuning["complete"], true);
  const Compiled second = compileWith(records, device, 30, sumModel);
  EXPECT_EQ(second.report->tuning["measured_schedules"], 0);
  EXPECT_EQ(second.report->tuning["complete"], true);
  EXPECT_EQ(second.bytes, first.bytes);
}

TEST(TuningForADevice, SaysWhyItCouldNot) {
  class Broken final : public runtime::Device {
  public:
    std::string_view name() const override { return "broken"; }
    bool runsTarget(std::string_view) const override { return true; }
    bool sharesHostMemory() const override { return false; }
    Expected<void *> allocate(uint64_t) override { return machineError("no memory is left"); }
    void release(void *, uint64_t) override {}
    Expected<std::unique_ptr<DeviceProgram>> load(const Artifact &,
                                                  const DeviceProgram *) override {
      return machineError("the driver takes no code");
    }
    Expected<std::unique_ptr<DeviceQueue>> createQueue(const DeviceProgram &,
                                                       runtime::QueueOptions) override {
      return machineError("no stream is left");
    }
  };
  tune::Records records = noRecords();
  const Compiled plain = compileWith(records, nullptr, 0);
  const Compiled tuned = compileWith(records, std::make_shared<Broken>(), 2);
  EXPECT_EQ(tuned.report->tuning["problem"], "the driver takes no code");
  EXPECT_EQ(tuned.report->tuning["complete"], false);
  EXPECT_EQ(tuned.bytes, plain.bytes);
  EXPECT_TRUE(records.empty());
}

} // namespace
} // namespace kintsugi::pipeline
