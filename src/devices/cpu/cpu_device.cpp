//===- cpu_device.cpp - Running artifacts on the host's processor ---------===//

#include "devices/cpu/cpu_device.h"

#include "devices/cpu/cpu_queue.h"
#include "devices/cpu/features.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::runtime;

bool CpuDevice::runsTarget(std::string_view target) const {
  return target == "cpu" || target == "reference";
}

bool CpuDevice::supports(std::string_view feature) const { return cpuSupports(feature); }

Expected<void *> CpuDevice::allocate(uint64_t bytes) {
  KINTSUGI_ASSIGN(HostMemory memory, HostMemory::allocate(bytes));
  return memory.release();
}

void CpuDevice::release(void *memory, uint64_t bytes) { HostMemory::adopt(memory, bytes); }

Expected<std::unique_ptr<DeviceProgram>> CpuDevice::load(const Artifact &artifact,
                                                         const DeviceProgram *) {
  KINTSUGI_ASSIGN(std::unique_ptr<DeviceProgram> program, CpuProgram::load(artifact));
  return program;
}

Expected<std::unique_ptr<DeviceQueue>> CpuDevice::createQueue(const DeviceProgram &program,
                                                              QueueOptions options) {
  uint32_t threads = workers.grow(options.threads ? options.threads : usableCores());
  KINTSUGI_ASSIGN(std::unique_ptr<DeviceQueue> queue,
                  CpuQueue::create(static_cast<const CpuProgram &>(program), workers, threads));
  return queue;
}
