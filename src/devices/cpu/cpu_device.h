//===- cpu_device.h - Running artifacts on the host's processor -----------===//
//
// Kernels are functions of a shared object, called by the persistent workers; memory is the
// host's; calls of host functions run in place.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CPU_CPU_DEVICE_H
#define KINTSUGI_DEVICES_CPU_CPU_DEVICE_H

#include "runtime/device.h"
#include "runtime/workers.h"

namespace kintsugi::devices {

/// The workers are shared by all queues of one device.
class CpuDevice final : public runtime::Device {
public:
  std::string_view name() const override { return "cpu"; }
  bool runsTarget(std::string_view target) const override;
  bool supports(std::string_view feature) const override;
  bool sharesHostMemory() const override { return true; }
  Expected<void *> allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  Expected<std::unique_ptr<runtime::DeviceProgram>>
  load(const runtime::Artifact &artifact, const runtime::DeviceProgram *whole = nullptr) override;
  Expected<std::unique_ptr<runtime::DeviceQueue>>
  createQueue(const runtime::DeviceProgram &program, runtime::QueueOptions options) override;

private:
  runtime::Workers workers;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CPU_CPU_DEVICE_H
