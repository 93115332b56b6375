#include "runtime/device.h"

#include "runtime/host_memory.h"

using namespace kintsugi;
using namespace kintsugi::runtime;

Expected<void *> Device::allocateForTransfers(uint64_t bytes) {
  KINTSUGI_ASSIGN(HostMemory memory, HostMemory::allocate(bytes));
  return memory.release();
}

void Device::releaseForTransfers(void *memory, uint64_t bytes) { HostMemory::adopt(memory, bytes); }
