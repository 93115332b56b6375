#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

namespace kintsugi::emulator {

constexpr uint64_t alignment = 512;

Memory::~Memory() {
  for (auto [address, bytes] : ranges)
    std::free(reinterpret_cast<void *>(address));
}

uint64_t Memory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes > total - used)
    return 0;
  uint64_t whole = (bytes + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, whole);
  if (!memory)
    return 0;
  std::memset(memory, 0xFF, whole);
  auto address = reinterpret_cast<uint64_t>(memory);
  ranges[address] = bytes;
  used += bytes;
  return address;
}

bool Memory::release(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = ranges.find(address);
  if (found == ranges.end())
    return false;
  used -= found->second;
  ranges.erase(found);
  std::free(reinterpret_cast<void *>(address));
  return true;
}

Range Memory::find(uint64_t address) const {
  std::lock_guard lock(mutex);
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin())
    return {};
  auto [begin, bytes] = *std::prev(after);
  return address - begin < bytes ? Range{begin, begin + bytes} : Range{};
}

std::string Memory::describe(uint64_t address) const {
  std::lock_guard lock(mutex);
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin())
    return "is ahead of all memory that was allocated";
  auto [begin, bytes] = *std::prev(after);
  if (address - begin < bytes)
    return "reaches past the end of " + std::to_string(bytes) + " bytes that were allocated";
  return "is " + std::to_string(address - begin - bytes) + " bytes behind the end of " +
         std::to_string(bytes) + " that were allocated";
}

uint64_t Memory::free() const {
  std::lock_guard lock(mutex);
  return total - used;
}

} // namespace kintsugi::emulator
