//===- target_example_test.cpp - How to add a target ------------------------===//
//
// CONTRIBUTING.md quotes what stands between the marks. The test takes a program through the whole
// way down with a target and a device that nothing else knows of.
//
//===----------------------------------------------------------------------===//

#include "devices/cpu/cpu_device.h"
#include "link/link.h"
#include "orchestrate/orchestrate.h"
#include "runtime/context.h"
#include "simplify/simplify.h"
#include "targets/x86_target.h"
#include "te/parser.h"

#include <gtest/gtest.h>

namespace kintsugi {
namespace {

// example: target
/// Code for processors from before AVX-512, whatever level was asked for.
class PortableTarget final : public targets::X86Target {
public:
  std::string_view name() const override { return "portable"; }

  Expected<targets::CodeObject> compile(const std::vector<const tile::TileProgram *> &programs,
                                        const targets::CompileOptions &options) const override {
    targets::CompileOptions portable = options;
    portable.level = "x86-64-v3";
    return X86Target::compile(programs, portable);
  }
};

/// Runs it: a processor like any other, so the work goes to the CPU's device.
class PortableDevice final : public runtime::Device {
public:
  std::string_view name() const override { return "portable"; }
  bool runsTarget(std::string_view target) const override { return target == "portable"; }
  bool sharesHostMemory() const override { return true; }
  Expected<void *> allocate(uint64_t bytes) override { return cpu.allocate(bytes); }
  void release(void *memory, uint64_t bytes) override { cpu.release(memory, bytes); }
  Expected<std::unique_ptr<runtime::DeviceProgram>>
  load(const runtime::Artifact &artifact, const runtime::DeviceProgram *whole) override {
    return cpu.load(artifact, whole);
  }
  Expected<std::unique_ptr<runtime::DeviceQueue>>
  createQueue(const runtime::DeviceProgram &program, runtime::QueueOptions options) override {
    return cpu.createQueue(program, options);
  }

private:
  devices::CpuDevice cpu;
};
// end of example

constexpr const char *model = R"(program example
input x[i:4, j:8] f32
const w[j:8] f32 = [1, 2, 3, 4, 5, 6, 7, 8]
t[i:4] f32 = sum<f32>[j:8] x[i, j] * w[j]
y[i:4] f32 = max(t[i], 0)
output y
)";

/// The bytes of the model's artifact for the example's target.
Expected<std::vector<std::byte>> compile(runtime::Device &device) {
  KINTSUGI_ASSIGN(te::Program parsed, te::parseProgram(model, "example.te"));
  te::Program program = simplify::simplify(parsed);
  orchestrate::OrchestrateOptions options;
  KINTSUGI_ASSIGN(options.space.schedule.machine, machine::Machine::forLevel("x86-64-v3"));
  KINTSUGI_ASSIGN(orchestrate::Plan plan, orchestrate::orchestrate(program, options));
  PortableTarget target;
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  link::Linker linker(target, device, writer, {});
  KINTSUGI_RETURN_IF_ERROR(linker.add(plan, {"portable", {}}));
  KINTSUGI_RETURN_IF_ERROR(linker.finish(Json::object()).status());
  return bytes;
}

TEST(TargetExample, CompilesAndRuns) {
  auto device = std::make_shared<PortableDevice>();
  auto bytes = compile(*device);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  auto artifact = runtime::Artifact::fromMemory(*bytes, "example.kin");
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  auto loaded = runtime::Model::create(std::move(*artifact), device);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  auto context = runtime::Context::create(*loaded);
  ASSERT_TRUE(context.ok());
  alignas(64) float x[32], y[4] = {};
  for (int i = 0; i < 32; ++i)
    x[i] = i < 8 ? -1 : i / 8;
  const int64_t shape[] = {4, 8};
  runtime::InputTensor inputs[] = {{"x", ElementType::F32, shape, x, sizeof(x)}};
  runtime::OutputTensor outputs[] = {{"y", y, sizeof(y), {}}};
  Status status = (*context)->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{0, 36, 72, 108}));
}

TEST(TargetExample, OtherDevicesRefuseItsArtifacts) {
  auto bytes = compile(*std::make_shared<PortableDevice>());
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  auto artifact = runtime::Artifact::fromMemory(*bytes, "example.kin");
  ASSERT_TRUE(artifact.ok());
  auto model = runtime::Model::create(std::move(*artifact), std::make_shared<devices::CpuDevice>());
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("'portable'"), std::string::npos);
}

} // namespace
} // namespace kintsugi
