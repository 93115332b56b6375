//===- cuda_device.h - Running artifacts on an NVIDIA GPU -------------------===//
//
// Kernels are entries of a module that the driver makes of the artifact's PTX (abi/launch.h);
// memory is the device's own. Each queue has a stream. Runs whose steps are always the same are
// recorded into a graph, which later runs start as a whole.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_CUDA_DEVICE_H
#define KINTSUGI_DEVICES_CUDA_CUDA_DEVICE_H

#include "devices/cuda/driver.h"
#include "runtime/device.h"

#include <vector>

namespace kintsugi::devices {

/// What the driver says of a device.
struct CudaDeviceInfo {
  std::string name;
  int major = 0, minor = 0; ///< Its compute capability.
  int multiprocessors = 0;
  uint64_t memoryBytes = 0;
  uint64_t sharedBytes = 0; ///< That a block may have.
  int driverVersion = 0;    ///< 12040 for CUDA 12.4.
};

class CudaDevice final : public runtime::Device {
public:
  /// A machine error where there is no driver or no such device.
  static Expected<std::shared_ptr<CudaDevice>> open(int number,
                                                    const char *driverLibrary = "libcuda.so.1");
  /// Of all devices; an error where there is no driver.
  static Expected<std::vector<CudaDeviceInfo>> list(const char *driverLibrary = "libcuda.so.1");
  ~CudaDevice() override;

  /// Has code that the driver compiled kept in a folder, which a FileCache shares with others;
  /// without it code is compiled at each load. Ahead of the first load.
  void keepCodeIn(std::string folder) { codeFolder = std::move(folder); }

  std::string_view name() const override { return label; }
  bool runsTarget(std::string_view target) const override { return target == "cuda"; }
  bool supports(std::string_view feature) const override;
  bool sharesHostMemory() const override { return false; }
  bool ownsMemory(const void *memory) const override;
  Expected<void *> allocate(uint64_t bytes) override;
  void release(void *memory, uint64_t bytes) override;
  Expected<void *> allocateForTransfers(uint64_t bytes) override;
  void releaseForTransfers(void *memory, uint64_t bytes) override;
  Expected<std::unique_ptr<runtime::DeviceProgram>>
  load(const runtime::Artifact &artifact, const runtime::DeviceProgram *whole = nullptr) override;
  Expected<std::unique_ptr<runtime::DeviceQueue>>
  createQueue(const runtime::DeviceProgram &program, runtime::QueueOptions options) override;

  const cuda::Driver &driver() const { return *api; }
  const CudaDeviceInfo &info() const { return described; }
  const std::string &folderOfCode() const { return codeFolder; }
  /// Makes this device's context the calling thread's; all else asks for that first.
  Status enter() const;

private:
  explicit CudaDevice(std::shared_ptr<const cuda::Driver> driver) : api(std::move(driver)) {}

  std::shared_ptr<const cuda::Driver> api;
  std::string label, codeFolder;
  CudaDeviceInfo described;
  cuda::DeviceNumber number = 0;
  cuda::Handle context = nullptr;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_CUDA_DEVICE_H
