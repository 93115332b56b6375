//===- host_memory.cpp - Large zeroed blocks of host memory ---------------===//

#include "runtime/host_memory.h"

#include <sys/mman.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

HostMemory &HostMemory::operator=(HostMemory &&other) {
  std::swap(block, other.block);
  return *this;
}

HostMemory::~HostMemory() {
  if (!block.empty())
    munmap(block.data(), block.size());
}

Expected<HostMemory> HostMemory::allocate(uint64_t bytes) {
  HostMemory memory;
  if (bytes == 0)
    return memory;
  void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return machineError("not enough memory for " + std::to_string(bytes) + " bytes");
  constexpr uint64_t hugePage = uint64_t(2) << 20;
  if (bytes >= hugePage)
    madvise(start, bytes, MADV_HUGEPAGE); // A hint: a kernel without huge pages refuses it.
  memory.block = {static_cast<std::byte *>(start), bytes};
  return memory;
}
