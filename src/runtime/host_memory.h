//===- host_memory.h - Large zeroed blocks of host memory -----------------===//
//
// Arenas, scratch and artifacts held in memory: aligned to pages, given back to the system as a
// whole, physical only where touched, and in huge pages where they are large.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_HOST_MEMORY_H
#define KINTSUGI_RUNTIME_HOST_MEMORY_H

#include "base/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace kintsugi::runtime {

class HostMemory {
public:
  HostMemory() = default;
  HostMemory(HostMemory &&other) : block(std::exchange(other.block, {})) {}
  HostMemory &operator=(HostMemory &&other);
  ~HostMemory();

  /// A machine error where there is not that much.
  static Expected<HostMemory> allocate(uint64_t bytes);

  /// Takes over what release() let go of.
  static HostMemory adopt(void *start, uint64_t bytes) {
    HostMemory memory;
    memory.block = {static_cast<std::byte *>(start), bytes};
    return memory;
  }
  void *release() { return std::exchange(block, {}).data(); }

  std::byte *data() const { return block.data(); }
  std::span<std::byte> bytes() const { return block; }

private:
  std::span<std::byte> block;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_HOST_MEMORY_H
