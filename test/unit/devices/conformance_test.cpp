//===- conformance_test.cpp - What every device must do -------------------===//
//
// One suite that runs on each device. Add a new one to devicesUnderTest().
//
//===----------------------------------------------------------------------===//

#include "abi/stage.h"
#include "cuda_parts.h"
#include "devices/cpu/cpu_device.h"
#include "devices/cuda/cuda_device.h"
#include "devices/null/null_device.h"
#include "fixture.h"
#include "runtime/context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <thread>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

struct DeviceUnderTest {
  const char *name;
  std::shared_ptr<Device> (*make)();
  bool computes;              ///< Whether kernels really run.
  const char *target = "cpu"; ///< That its artifacts are compiled for.
};

const DeviceUnderTest devicesUnderTest[] = {
    {"cpu", [] { return std::shared_ptr<Device>(std::make_shared<devices::CpuDevice>()); }, true},
    {"null", [] { return std::shared_ptr<Device>(std::make_shared<devices::NullDevice>()); },
     false},
    // Its driver is the tests' own: no GPU takes part.
    {"cuda", [] { return std::shared_ptr<Device>(*devices::CudaDevice::open(0, FAKE_CUDA)); }, true,
     "cuda"},
};

class Conformance : public testing::TestWithParam<DeviceUnderTest> {
protected:
  std::shared_ptr<const Model> load(Parts parts) {
    if (std::string_view(GetParam().target) == "cuda")
      parts = cudaParts(std::move(parts));
    auto artifact = Artifact::fromMemory(parts.bytes(), "test.kin");
    EXPECT_TRUE(artifact.ok());
    auto model = Model::create(std::move(*artifact), device);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return *model;
  }

  std::shared_ptr<Device> device = GetParam().make();
};

/// Device memory that is released.
class Block {
public:
  Block(Device &device, uint64_t bytes) : device(device), size(bytes) {
    auto allocated = device.allocate(bytes);
    EXPECT_TRUE(allocated.ok());
    memory = static_cast<std::byte *>(*allocated);
  }
  ~Block() { device.release(memory, size); }
  std::byte *get() const { return memory; }

private:
  Device &device;
  uint64_t size;
  std::byte *memory;
};

} // namespace

TEST_P(Conformance, HasItsName) {
  EXPECT_EQ(device->name(), GetParam().name);
  EXPECT_TRUE(device->runsTarget(GetParam().target));
}

TEST_P(Conformance, MemoryIsAlignedAndApart) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (uint64_t bytes : {1, 63, 64, 65, 4096, 3 << 20})
    blocks.push_back(std::make_unique<Block>(*device, bytes));
  for (const auto &block : blocks) {
    EXPECT_NE(block->get(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->get()) % KIN_BUFFER_ALIGNMENT, 0u);
  }
  EXPECT_EQ(Block(*device, 0).get(), nullptr);
}

TEST_P(Conformance, TooMuchMemoryIsAnError) {
  auto memory = device->allocate(uint64_t(1) << 60);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().kind, ErrorKind::Machine);
}

TEST_P(Conformance, BytesTravelAndKeepTheirOrder) {
  auto model = load(affineParts());
  auto queue = device->createQueue(model->program(), {});
  ASSERT_TRUE(queue.ok());
  Block a(*device, 5000), b(*device, 5000);
  std::vector<uint8_t> sent(5000), received(5000);
  std::iota(sent.begin(), sent.end(), 1);
  std::vector<uint8_t> expected = sent;
  ASSERT_TRUE((*queue)->upload(a.get(), sent.data(), sent.size()).ok());
  std::fill(sent.begin(), sent.end(), 0); // The host's bytes are free again.
  ASSERT_TRUE((*queue)->copy(b.get(), a.get(), 5000).ok());
  ASSERT_TRUE((*queue)->upload(a.get(), sent.data(), sent.size()).ok()); // After the copy.
  ASSERT_TRUE((*queue)->download(received.data(), b.get(), 5000).ok());
  EXPECT_EQ(received, expected);
  ASSERT_TRUE((*queue)->copy(b.get() + 100, b.get() + 100, 50).ok()); // Onto itself.
  ASSERT_TRUE((*queue)->copy(nullptr, nullptr, 0).ok());
  ASSERT_TRUE((*queue)->download(received.data(), b.get() + 100, 50).ok());
  EXPECT_EQ(received[0], expected[100]);
  EXPECT_TRUE((*queue)->finish().ok());
}

TEST_P(Conformance, ConstantsAreInPlace) {
  Parts parts = affineParts();
  auto model = load(parts);
  auto queue = device->createQueue(model->program(), {});
  ASSERT_TRUE(queue.ok());
  std::vector<std::byte> received(4000);
  ASSERT_TRUE((*queue)->download(received.data(), model->program().constants(), 4000).ok());
  EXPECT_EQ(received, parts.constants[0]);
}

TEST_P(Conformance, RunsModels) {
  auto context = Context::create(load(affineParts()), {2});
  ASSERT_TRUE(context.ok());
  std::vector<float> x = affineInput(), y(1000, 7), best(5, 7);
  std::vector<int64_t> where(5, 7), shape{1000};
  InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
  OutputTensor outputs[] = {
      {"y", y.data(), 4000, {}}, {"best", best.data(), 20, {}}, {"where", where.data(), 40, {}}};
  for (int i = 0; i < 3; ++i) {
    Status status = (*context)->run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  if (GetParam().computes)
    EXPECT_EQ(best[0], affineExpected()[where[0]]);
  else
    EXPECT_EQ(y, std::vector<float>(1000, 0)); // Fresh memory, and nothing wrote to it.
}

/// Inputs x, a; outputs y = tanh(x w - 1), again = a, z = tanh(a), tail = x[256:], v = z, of which
/// z is written before a is read for v.
static Parts partsToOverlap() {
  Parts parts = affineParts();
  Manifest &m = parts.manifest;
  m.stages.pop_back();
  m.outputs.resize(1);
  m.buffers.resize(m.buffers.size() - 2);
  auto add = [&](const char *name, std::vector<int64_t> shape, Home home) {
    m.buffers.push_back({name, ElementType::F32, shape, uint64_t(4 * shape[0]), home});
    return uint32_t(m.buffers.size() - 1);
  };
  uint32_t a = add("a", {1000}, Home::input(1));
  m.inputs.push_back({"a", ElementType::F32, {1000}, a});
  m.outputs.push_back({"again", ElementType::F32, {1000}, a});
  for (const char *name : {"z", "v"}) {
    uint32_t result = add(name, {1000}, Home::output(uint32_t(m.outputs.size())));
    m.outputs.push_back({name, ElementType::F32, {1000}, result});
    m.stages.push_back(m.stages[1]);
    m.stages.back().buffers = {a, result};
  }
  uint32_t tail = add("x_tail", {744}, Home::alias(m.inputs[0].buffer, 1024));
  m.outputs.push_back({"tail", ElementType::F32, {744}, tail});
  m.plan = Plan::sequence({Plan::ofStage(2), Plan::ofStage(0), Plan::ofStage(1), Plan::ofStage(3)});
  return parts;
}

/// Wherever outputs lie among the inputs, whose memory is written when it is read no more.
TEST_P(Conformance, OutputsMayOverlapInputs) {
  auto model = load(partsToOverlap());
  auto context = Context::create(model, {2});
  ASSERT_TRUE(context.ok());
  constexpr int room = 6000;
  Block block(*device, 4 * room);
  std::vector<float> here(room), before(room);
  std::vector<int64_t> shape{1000};
  std::mt19937 random(7);
  auto below = [&](size_t limit) { return random() % limit; };
  for (int times = 0; times < 200; ++times) {
    float *memory = below(2) ? here.data() : reinterpret_cast<float *>(block.get());
    bool isSame = below(3) == 0;
    size_t step = below(2) ? 16 : 1; // On lines or not.
    std::array<size_t, 5> order = {0, 1, 2, 3, 4}, at;
    std::ranges::shuffle(order, random);
    size_t end = 0;
    for (size_t number : order) {
      at[number] = (end + below(230) + step - 1) / step * step;
      end = at[number] + (number == 4 ? 744 : 1000);
    }
    size_t x = isSame ? at[below(4)] : below(room - 1000) / step * step;
    size_t a = isSame ? at[below(4)] : below(room - 1000) / step * step;
    InputTensor inputs[] = {{"x", ElementType::F32, shape, memory + x, 4000},
                            {"a", ElementType::F32, shape, memory + a, 4000}};
    OutputTensor outputs[] = {{"y", memory + at[0], 4000, {}},
                              {"again", memory + at[1], 4000, {}},
                              {"z", memory + at[2], 4000, {}},
                              {"v", memory + at[3], 4000, {}},
                              {"tail", memory + at[4], 2976, {}}};
    for (int run = 0; run < 3; ++run) { // Copied, recorded, and where they are.
      for (int k = 0; k < room; ++k)
        memory[k] = before[k] = float((k * 7 + times) % 101) / 50 - 1;
      ASSERT_TRUE((*context)->run(inputs, outputs).ok());
      for (size_t k = 0; k < 1000 && GetParam().computes; k += 3) {
        float y = std::tanh(before[x + k] * (float(k) / 500) - 1), z = std::tanh(before[a + k]);
        ASSERT_NEAR(memory[at[0] + k], y, 1e-6) << times;
        ASSERT_EQ(memory[at[1] + k], before[a + k]) << times;
        ASSERT_NEAR(memory[at[2] + k], z, 1e-6) << times;
        ASSERT_NEAR(memory[at[3] + k], z, 1e-6) << times;
        if (k < 744)
          ASSERT_EQ(memory[at[4] + k], before[x + 256 + k]) << times;
      }
    }
  }
}

TEST_P(Conformance, LoopsAndBranchesReadTheDevice) {
  auto context = Context::create(load(loopParts()), {2});
  ASSERT_TRUE(context.ok());
  int64_t limit = 8, total = 5, trace[8] = {};
  InputTensor inputs[] = {{"limit", ElementType::I64, {}, &limit, 8}};
  OutputTensor outputs[] = {{"total", &total, 8, {}}, {"trace", trace, 64, {}}};
  Status status = (*context)->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(total, GetParam().computes ? -10 : 0);
}

TEST_P(Conformance, EachLaneRunsOnce) {
  auto context = Context::create(load(lanesParts(7)), {3});
  ASSERT_TRUE(context.ok());
  int64_t limit = 0, traces[7][8] = {}, places[7][3] = {};
  InputTensor inputs[] = {{"limit", ElementType::I64, {}, &limit, 8}};
  std::vector<OutputTensor> outputs;
  for (int lane = 0; lane < 7; ++lane) {
    outputs.push_back({"", traces[lane], 64, {}});
    outputs.push_back({"", places[lane], 24, {}});
  }
  for (int run = 0; run < 3; ++run) { // A device may keep the steps of one run for the next.
    std::memset(traces, 0x55, sizeof(traces));
    Status status = (*context)->run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (const auto &trace : traces) {
      EXPECT_EQ(trace[4], GetParam().computes ? 10 : 0);
      EXPECT_EQ(trace[7], GetParam().computes ? 28 : 0);
    }
  }
}

TEST_P(Conformance, QueuesOfOneProgramRunAtOnce) {
  auto model = load(locateParts(100));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      auto context = Context::create(model, {2});
      std::vector<int64_t> places(100, 1);
      OutputTensor outputs[] = {{"places", places.data(), 800, {}}};
      for (int run = 0; run < 20; ++run) {
        bool ok = (*context)->run({}, outputs).ok();
        right += ok && (!GetParam().computes || std::ranges::count(places, 0) == 0);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 60);
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(devicesUnderTest),
                         [](const auto &info) { return std::string(info.param.name); });
