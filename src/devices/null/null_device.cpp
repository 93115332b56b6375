//===- null_device.cpp - A device that computes nothing -------------------===//

#include "devices/null/null_device.h"

#include "runtime/artifact.h"
#include "runtime/host_memory.h"

#include <cstring>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::runtime;

namespace {

class NullProgram final : public DeviceProgram {
public:
  explicit NullProgram(const Artifact &artifact) : artifact(artifact) {}
  const void *constants() const override { return artifact.constants().data(); }

private:
  const Artifact &artifact;
};

class NullQueue final : public DeviceQueue {
public:
  explicit NullQueue(NullDevice::Counts &counts) : counts(counts) {}

  Status launch(uint32_t, void *const *) override {
    ++counts.launches;
    return Status::success();
  }
  Status copy(void *to, const void *from, uint64_t bytes) override {
    ++counts.copies;
    return move(to, from, bytes);
  }
  Status upload(void *to, const void *from, uint64_t bytes) override {
    counts.uploadedBytes += bytes;
    return move(to, from, bytes);
  }
  Status download(void *to, const void *from, uint64_t bytes) override {
    counts.downloadedBytes += bytes;
    return move(to, from, bytes);
  }
  Status finish() override { return Status::success(); }

private:
  static Status move(void *to, const void *from, uint64_t bytes) {
    if (bytes != 0)
      std::memmove(to, from, bytes);
    return Status::success();
  }

  NullDevice::Counts &counts;
};

} // namespace

Expected<void *> NullDevice::allocate(uint64_t bytes) {
  KINTSUGI_ASSIGN(HostMemory memory, HostMemory::allocate(bytes));
  total.allocatedBytes += bytes;
  return memory.release();
}

void NullDevice::release(void *memory, uint64_t bytes) {
  total.allocatedBytes -= bytes;
  HostMemory::adopt(memory, bytes);
}

Expected<std::unique_ptr<DeviceProgram>> NullDevice::load(const Artifact &artifact,
                                                          const DeviceProgram *) {
  return std::unique_ptr<DeviceProgram>(std::make_unique<NullProgram>(artifact));
}

Expected<std::unique_ptr<DeviceQueue>> NullDevice::createQueue(const DeviceProgram &,
                                                               QueueOptions) {
  return std::unique_ptr<DeviceQueue>(std::make_unique<NullQueue>(total));
}
