//===- shared_memory.h - A block's memory, and who touched it when ----------===//
//
// Each byte knows who wrote it and who has read it since: an access that nothing orders behind
// those is a race, whatever order the lanes happened to run in. What an asynchronous copy brings is
// nobody's to touch until it has landed. What nobody wrote is NaN: wide reads take in what is
// behind a row, and products rows that a tile doesn't have, of which nothing may be made.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_SHARED_MEMORY_H
#define KINTSUGI_TEST_EMULATOR_SHARED_MEMORY_H

#include "clock.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kintsugi::emulator {

/// Who touches memory.
struct Toucher {
  const Clock &clock;
  unsigned thread;
  uint32_t now;
  uint32_t fences; ///< Waits of this thread for the asynchronous proxy so far.

  unsigned warp() const { return thread / 32; }
  unsigned lane() const { return thread % 32; }
};

class SharedMemory {
public:
  /// Addresses begin there, since those that lines' places depend on have to be right.
  static constexpr uint32_t firstAddress = 1024;

  explicit SharedMemory(uint32_t bytes);

  /// What is wrong with an access, if something is.
  using Complaint = std::optional<std::string>;
  Complaint checkPlace(uint32_t address, uint32_t bytes, uint32_t alignment) const;
  Complaint read(uint32_t address, uint32_t bytes, const Toucher &by);
  /// What another thread wrote may be written again, if it is the same.
  Complaint write(uint32_t address, const std::byte *data, uint32_t bytes, const Toucher &by);
  /// An atomic change, which nothing has to order.
  void change(uint32_t address, uint32_t bytes, const Toucher &by);
  /// By a thread of another block of the cluster.
  Complaint readFromAfar(uint32_t address, uint32_t bytes, const Toucher &by);
  /// By units of the asynchronous proxy, which see what threads wrote when those have fenced it.
  /// One of `step` bytes is looked at.
  Complaint readByUnits(uint32_t address, uint32_t bytes, const Toucher &by,
                        const std::vector<uint32_t> &fencesOfThreads, unsigned step);
  /// An asynchronous copy: asked for, then there.
  Complaint startCopy(uint32_t address, uint32_t bytes, const Toucher &by);
  void endCopy(uint32_t address, uint32_t bytes, const Toucher &by);
  void endBulkCopy(uint32_t address, uint32_t bytes, uint32_t now);

  std::byte *at(uint32_t address) { return bytes.data() + (address - firstAddress); }
  uint32_t size() const { return uint32_t(bytes.size()); }

private:
  enum class State : uint8_t { Nothing, Written, UnderWay };
  /// What is known of a byte.
  struct Unit {
    uint32_t writeTime = 0, readTime = 0, readFromAfar = 0;
    uint32_t readers = 0; ///< Warps.
    uint32_t readLanes = 0;
    uint32_t fences = 0;
    uint16_t writer = 0;
    State state = State::Nothing;
    bool isByBulk = false;

    bool operator==(const Unit &) const = default;
  };

  /// Calls f with the first unit, the address and the number of bytes for each piece whose bytes
  /// have the same behind them; what it makes of the first holds for all.
  template <typename F> Complaint forUnits(uint32_t address, uint32_t bytes, F &&f);
  static Complaint checkRead(const Unit &unit, const Toucher &by);
  static Complaint checkOverwrite(const Unit &unit, const Toucher &by);
  static Complaint checkReaders(const Unit &unit, const Toucher &by);
  static Complaint checkWrite(const Unit &unit, const Toucher &by);
  static void noteRead(Unit &unit, const Toucher &by);

  std::vector<std::byte> bytes;
  std::vector<Unit> units;
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_SHARED_MEMORY_H
