//===- cuda_fixture.h - Models on the GPU's device without a GPU ------------===//
#ifndef KINTSUGI_TEST_DEVICES_CUDA_FIXTURE_H
#define KINTSUGI_TEST_DEVICES_CUDA_FIXTURE_H

#include "cuda_parts.h"
#include "devices/cuda/cuda_device.h"
#include "fake_driver.h"
#include "runtime/context.h"

namespace kintsugi::runtime {

/// A driver that isn't one, and models on its device.
class CudaTest : public FakeDriverTest {
protected:
  void TearDown() override {
    contexts.clear();
    FakeDriverTest::TearDown();
  }

  std::shared_ptr<Device> open() {
    auto device = devices::CudaDevice::open(0, FAKE_CUDA);
    EXPECT_TRUE(device.ok()) << device.error().message;
    return *device;
  }

  Expected<std::shared_ptr<const Model>> load(const Parts &parts) {
    ReadOptions options;
    auto artifact = Artifact::fromMemory(parts.bytes(), "test.kin", options);
    EXPECT_TRUE(artifact.ok()) << artifact.error().message;
    return Model::create(std::move(*artifact), open());
  }

  /// Runs the affine model so many times; the last outcome.
  Status run(Context &context, int times, const RunOptions &options = {}) {
    Status status;
    for (int i = 0; i < times && status.ok(); ++i) {
      std::ranges::fill(y, 7);
      InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
      OutputTensor outputs[] = {{"y", y.data(), 4000, {}},
                                {"best", best.data(), 20, {}},
                                {"where", where.data(), 40, {}}};
      status = context.run(inputs, outputs, options);
    }
    return status;
  }

  /// Runs the affine model without its call.
  Status runWithoutCall(Context &context, const RunOptions &options = {}) {
    InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
    OutputTensor outputs[] = {{"y", y.data(), 4000, {}}};
    return context.run(inputs, outputs, options);
  }

  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<float> x = affineInput(), y = std::vector<float>(1000), best = std::vector<float>(5);
  std::vector<int64_t> where = std::vector<int64_t>(5), shape = {1000};
};

inline std::string messageOf(const auto &result) {
  return result.ok() ? "success" : result.error().message;
}

} // namespace kintsugi::runtime

#endif // KINTSUGI_TEST_DEVICES_CUDA_FIXTURE_H
