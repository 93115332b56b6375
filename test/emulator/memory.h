//===- memory.h - The device's memory, of which every access is checked ----===//
#ifndef KINTSUGI_TEST_EMULATOR_MEMORY_H
#define KINTSUGI_TEST_EMULATOR_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace kintsugi::emulator {

/// Generic addresses of these windows are of shared and of local memory; a block of a cluster has
/// 2^24 of shared memory's.
inline constexpr uint64_t sharedWindow = uint64_t(0xA) << 60, localWindow = uint64_t(0xB) << 60;
inline constexpr uint64_t windowMask = uint64_t(0xF) << 60;
inline constexpr unsigned rankShift = 24;

struct Range {
  uint64_t begin = 0, end = 0;

  bool holds(uint64_t address, uint64_t bytes) const {
    return address >= begin && address < end && bytes <= end - address;
  }
};

/// Addresses are the host's. Memory that is new holds NaN.
class Memory {
public:
  explicit Memory(uint64_t bytes) : total(bytes) {}
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  uint64_t allocate(uint64_t bytes); ///< 0: there is no room.
  bool release(uint64_t address);
  /// What was asked for around an address; empty where nothing was.
  Range find(uint64_t address) const;
  bool holds(uint64_t address, uint64_t bytes) const { return find(address).holds(address, bytes); }
  /// "is 16 bytes behind the end of 512 bytes", of an address that isn't held.
  std::string describe(uint64_t address) const;
  uint64_t free() const;
  const uint64_t total;

private:
  mutable std::mutex mutex;
  std::map<uint64_t, uint64_t> ranges; ///< Sizes by address.
  uint64_t used = 0;
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_MEMORY_H
