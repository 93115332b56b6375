//===- cuda_device.cpp - Running artifacts on an NVIDIA GPU ---------------===//

#include "devices/cuda/cuda_device.h"

#include "devices/cuda/cuda_program.h"
#include "devices/cuda/cuda_queue.h"

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using namespace kintsugi::runtime;

static Expected<int> countOf(const Driver &driver) {
  int count = 0;
  KINTSUGI_RETURN_IF_ERROR(driver.check(driver.deviceCount(&count), "count the NVIDIA devices"));
  return count;
}

static Expected<CudaDeviceInfo> describe(const Driver &driver, DeviceNumber device) {
  CudaDeviceInfo info;
  char name[256] = {};
  size_t bytes = 0;
  int shared = 0;
  auto asked = [&](Result result) { return driver.check(result, "describe an NVIDIA device"); };
  KINTSUGI_RETURN_IF_ERROR(asked(driver.deviceName(name, sizeof(name) - 1, device)));
  KINTSUGI_RETURN_IF_ERROR(asked(driver.deviceMemory(&bytes, device)));
  KINTSUGI_RETURN_IF_ERROR(asked(driver.driverVersion(&info.driverVersion)));
  for (auto [attribute, value] :
       {std::pair{capabilityMajor, &info.major}, std::pair{capabilityMinor, &info.minor},
        std::pair{multiprocessors, &info.multiprocessors}, std::pair{mostSharedBytes, &shared}})
    KINTSUGI_RETURN_IF_ERROR(asked(driver.deviceAttribute(value, attribute, device)));
  info.name = name;
  info.memoryBytes = bytes;
  info.sharedBytes = static_cast<uint64_t>(shared);
  return info;
}

Expected<std::vector<CudaDeviceInfo>> CudaDevice::list(const char *driverLibrary) {
  KINTSUGI_ASSIGN(std::shared_ptr<const Driver> driver, Driver::load(driverLibrary));
  KINTSUGI_ASSIGN(int count, countOf(*driver));
  std::vector<CudaDeviceInfo> all;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DeviceNumber device = 0;
    KINTSUGI_RETURN_IF_ERROR(
        driver->check(driver->device(&device, ordinal), "find an NVIDIA device"));
    KINTSUGI_ASSIGN(CudaDeviceInfo info, describe(*driver, device));
    all.push_back(std::move(info));
  }
  return all;
}

Expected<std::shared_ptr<CudaDevice>> CudaDevice::open(int number, const char *driverLibrary) {
  KINTSUGI_ASSIGN(std::shared_ptr<const Driver> driver, Driver::load(driverLibrary));
  KINTSUGI_ASSIGN(int count, countOf(*driver));
  if (number < 0 || number >= count)
    return machineError("there is no NVIDIA device " + std::to_string(number) + "; there " +
                        (count == 1 ? "is one, number 0" : "are " + std::to_string(count)));
  std::shared_ptr<CudaDevice> device(new CudaDevice(driver));
  KINTSUGI_RETURN_IF_ERROR(
      driver->check(driver->device(&device->number, number), "find the NVIDIA device"));
  KINTSUGI_ASSIGN(device->described, describe(*driver, device->number));
  KINTSUGI_RETURN_IF_ERROR(driver->check(driver->retainContext(&device->context, device->number),
                                         "use the NVIDIA device " + std::to_string(number)));
  device->label = number == 0 ? "cuda" : "cuda:" + std::to_string(number);
  return device;
}

CudaDevice::~CudaDevice() {
  if (context)
    api->releaseContext(number);
}

Status CudaDevice::enter() const {
  return api->check(api->setContext(context), "work with the device '" + label + "'");
}

/// "sm_80" and its like are what a device of that or a later generation runs; with an "a" it is one
/// generation's own.
bool CudaDevice::supports(std::string_view feature) const {
  int own = described.major * 10 + described.minor;
  if (feature == "sm_80")
    return own >= 80;
  return feature == "sm_90a" && own == 90;
}

bool CudaDevice::ownsMemory(const void *memory) const {
  unsigned type = 0;
  return memory && enter().ok() &&
         api->pointerAttribute(&type, memoryType, reinterpret_cast<Address>(memory)) == 0 &&
         type == deviceMemory;
}

static std::string mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

Expected<void *> CudaDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return nullptr;
  KINTSUGI_RETURN_IF_ERROR(enter());
  Address address = 0;
  Result result = api->allocate(&address, bytes);
  if (result == outOfMemory) {
    size_t free = 0, all = 0;
    api->memoryInfo(&free, &all);
    return machineError("the device '" + label + "' has no room for " + mebibytes(bytes) + ": " +
                        mebibytes(free) + " of " + mebibytes(all) + " are free");
  }
  KINTSUGI_RETURN_IF_ERROR(api->check(result, "allocate " + mebibytes(bytes)));
  return reinterpret_cast<void *>(address);
}

void CudaDevice::release(void *memory, uint64_t) {
  if (memory && enter().ok())
    api->release(reinterpret_cast<Address>(memory));
}

Expected<void *> CudaDevice::allocateForTransfers(uint64_t bytes) {
  if (bytes == 0)
    return nullptr;
  KINTSUGI_RETURN_IF_ERROR(enter());
  void *memory = nullptr;
  KINTSUGI_RETURN_IF_ERROR(api->check(api->allocateHost(&memory, bytes, 0),
                                      "allocate " + std::to_string(bytes) + " bytes of the host"));
  return memory;
}

void CudaDevice::releaseForTransfers(void *memory, uint64_t) {
  if (memory && enter().ok())
    api->releaseHost(memory);
}

Expected<std::unique_ptr<DeviceProgram>> CudaDevice::load(const Artifact &artifact,
                                                          const DeviceProgram *whole) {
  KINTSUGI_ASSIGN(std::unique_ptr<DeviceProgram> program,
                  CudaProgram::load(*this, artifact, static_cast<const CudaProgram *>(whole)));
  return program;
}

Expected<std::unique_ptr<DeviceQueue>> CudaDevice::createQueue(const DeviceProgram &program,
                                                               QueueOptions options) {
  Handle stream = options.joined ? options.joined->native() : nullptr;
  KINTSUGI_ASSIGN(std::unique_ptr<DeviceQueue> queue,
                  CudaQueue::create(*this, static_cast<const CudaProgram &>(program), stream));
  return queue;
}
