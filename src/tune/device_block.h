//===- device_block.h - Device memory that goes back in the end -----------------===//
#ifndef KINTSUGI_TUNE_DEVICE_BLOCK_H
#define KINTSUGI_TUNE_DEVICE_BLOCK_H

#include "runtime/device.h"

#include <utility>

namespace kintsugi::tune {

class DeviceBlock {
public:
  static Expected<DeviceBlock> allocate(runtime::Device &device, uint64_t bytes) {
    KINTSUGI_ASSIGN(void *memory, device.allocate(bytes));
    return DeviceBlock(device, memory, bytes);
  }
  DeviceBlock(DeviceBlock &&other)
      : device(other.device), memory(std::exchange(other.memory, nullptr)), bytes(other.bytes) {}
  DeviceBlock &operator=(DeviceBlock &&) = delete;
  ~DeviceBlock() {
    if (memory)
      device->release(memory, bytes);
  }
  void *address() const { return memory; }

private:
  DeviceBlock(runtime::Device &device, void *memory, uint64_t bytes)
      : device(&device), memory(memory), bytes(bytes) {}

  runtime::Device *device;
  void *memory;
  uint64_t bytes;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_DEVICE_BLOCK_H
