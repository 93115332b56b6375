//===- memory_api.cpp - Memory of a device, through the C interface ---------===//

#include "api/runtime/runtime_api.h"
#include "runtime/device.h"

using namespace kintsugi;
using namespace kintsugi::runtime;

struct KinMemory {
  KinMemory(std::shared_ptr<Device> device, void *data, uint64_t bytes)
      : device(std::move(device)), data(data), bytes(bytes) {}
  KinMemory(const KinMemory &) = delete;
  KinMemory &operator=(const KinMemory &) = delete;
  ~KinMemory() { device->release(data, bytes); }

  std::shared_ptr<Device> device;
  void *data;
  uint64_t bytes;
};

static Status makeMemory(const char *name, uint64_t bytes, KinMemory **result) {
  if (!result)
    return usageError("there is nowhere to put the memory");
  *result = nullptr;
  KINTSUGI_ASSIGN(std::shared_ptr<Device> device, api::findDevice(name ? name : "cpu"));
  KINTSUGI_ASSIGN(void *data, device->allocate(bytes));
  *result = new KinMemory(std::move(device), data, bytes);
  return Status::success();
}

static Status checkCopy(const KinMemory *memory, const void *host, uint64_t bytes) {
  if (!memory || (!host && bytes > 0))
    return usageError("there is no memory to copy from or to");
  if (bytes > memory->bytes)
    return usageError("the memory has " + std::to_string(memory->bytes) +
                      " bytes, fewer than the " + std::to_string(bytes) + " to copy");
  return Status::success();
}

KinStatus kin_memory_create(const char *device, uint64_t bytes, KinMemory **memory,
                            KinError **error) {
  return api::guarded(error, [&] { return makeMemory(device, bytes, memory); });
}

void *kin_memory_data(const KinMemory *memory) { return memory ? memory->data : nullptr; }

KinStatus kin_memory_write(KinMemory *memory, const void *from, uint64_t bytes, KinError **error) {
  return api::guarded(error, [&]() -> Status {
    KINTSUGI_RETURN_IF_ERROR(checkCopy(memory, from, bytes));
    return memory->device->write(memory->data, from, bytes);
  });
}

KinStatus kin_memory_read(const KinMemory *memory, void *to, uint64_t bytes, KinError **error) {
  return api::guarded(error, [&]() -> Status {
    KINTSUGI_RETURN_IF_ERROR(checkCopy(memory, to, bytes));
    return memory->device->read(to, memory->data, bytes);
  });
}

void kin_memory_free(KinMemory *memory) { delete memory; }
