//===- null_device.h - A device that computes nothing ---------------------===//
//
// The least that a driver must do, to read before writing one, and a way to see what the runtime
// asks of a device: it has memory of its own, moves bytes, and counts launches instead of running
// them. It takes artifacts of any target.
//
// A real driver also: picks a code object and finds every stage in it when it loads, puts the
// constants into its memory once (here they stay in the artifact), keeps the order of its queue,
// and turns every failure of the hardware into a Status. Add it to devicesUnderTest() of
// test/unit/devices/conformance_test.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_NULL_NULL_DEVICE_H
#define KINTSUGI_DEVICES_NULL_NULL_DEVICE_H

#include "runtime/device.h"

#include <atomic>

namespace kintsugi::devices {

class NullDevice final : public runtime::Device {
public:
  /// What was asked of the device so far.
  struct Counts {
    std::atomic<uint64_t> launches{0};
    std::atomic<uint64_t> copies{0};
    std::atomic<uint64_t> uploadedBytes{0};
    std::atomic<uint64_t> downloadedBytes{0};
    std::atomic<uint64_t> allocatedBytes{0}; ///< And not released.
  };

  std::string_view name() const override { return "null"; }
  bool runsTarget(std::string_view) const override { return true; }
  bool sharesHostMemory() const override { return false; }
  Expected<void *> allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  Expected<std::unique_ptr<runtime::DeviceProgram>>
  load(const runtime::Artifact &artifact, const runtime::DeviceProgram *whole = nullptr) override;
  Expected<std::unique_ptr<runtime::DeviceQueue>>
  createQueue(const runtime::DeviceProgram &program, runtime::QueueOptions options) override;

  const Counts &counts() const { return total; }

private:
  Counts total;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_NULL_NULL_DEVICE_H
