//===- null_device_test.cpp - What the runtime asks of a device -----------===//

#include "devices/null/null_device.h"

#include "fixture.h"
#include "runtime/context.h"

#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

TEST(NullDevice, CountsWhatIsAsked) {
  auto device = std::make_shared<devices::NullDevice>();
  const auto &counts = device->counts();
  {
    auto artifact = Artifact::fromMemory(affineParts().bytes(), "test.kin");
    auto model = Model::create(std::move(*artifact), device);
    ASSERT_TRUE(model.ok());
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    EXPECT_EQ(counts.allocatedBytes, 4032u + 4000 + 4000 + 20 + 40); // Arena, input, outputs.
    std::vector<float> x(1000), y(1000), best(5);
    std::vector<int64_t> where(5), shape{1000};
    InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
    OutputTensor outputs[] = {
        {"y", y.data(), 4000, {}}, {"best", best.data(), 20, {}}, {"where", where.data(), 40, {}}};
    for (uint64_t run = 1; run <= 3; ++run) {
      ASSERT_TRUE((*context)->run(inputs, outputs).ok());
      EXPECT_EQ(counts.launches, 3 * run);
      EXPECT_EQ(counts.uploadedBytes, 4000 * run);
      EXPECT_EQ(counts.downloadedBytes, 4060 * run);
    }
    EXPECT_EQ(counts.copies, 0u);
  }
  EXPECT_EQ(counts.allocatedBytes, 0u);
}
