#include "runtime/exchange.h"

#include <utility>

using namespace kintsugi;
using namespace kintsugi::runtime;

TransferMemory::TransferMemory(TransferMemory &&other)
    : owner(other.owner), start(std::exchange(other.start, nullptr)),
      size(std::exchange(other.size, 0)) {}

TransferMemory::~TransferMemory() {
  if (start)
    owner->releaseForTransfers(start, size);
}

Status TransferMemory::ensure(Device &device, uint64_t bytes) {
  if (bytes <= size)
    return Status::success();
  if (start)
    owner->releaseForTransfers(std::exchange(start, nullptr), std::exchange(size, 0));
  KINTSUGI_ASSIGN(void *memory, device.allocateForTransfers(bytes));
  owner = &device;
  start = static_cast<std::byte *>(memory);
  size = bytes;
  return Status::success();
}

void Exchange::clear() {
  items.clear();
  bytesReturned = 0;
}

void Exchange::add(Returned item) {
  constexpr uint64_t alignment = 16;
  item.offset = bytesReturned;
  bytesReturned += (item.bytes + alignment - 1) / alignment * alignment;
  items.push_back(item);
}
