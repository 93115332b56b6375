#include "shared_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace kintsugi::emulator {

SharedMemory::SharedMemory(uint32_t size) : bytes(size, std::byte(0xFF)), units(size) {}

SharedMemory::Complaint SharedMemory::checkPlace(uint32_t address, uint32_t count,
                                                 uint32_t alignment) const {
  if (address < firstAddress || address - firstAddress > size() ||
      count > size() - (address - firstAddress))
    return std::to_string(count) + " bytes at " + std::to_string(int64_t(address) - firstAddress) +
           " of " + std::to_string(size()) + " bytes of shared memory";
  if (address % alignment != 0)
    return "the shared address " + std::to_string(address) + " is no multiple of " +
           std::to_string(alignment);
  return std::nullopt;
}

template <typename F>
SharedMemory::Complaint SharedMemory::forUnits(uint32_t address, uint32_t count, F &&f) {
  uint32_t begin = address - firstAddress, end = begin + count;
  for (uint32_t next = begin; begin < end; begin = next) {
    while (++next < end && units[next] == units[begin])
      ;
    if (Complaint wrong = f(units[begin], firstAddress + begin, next - begin))
      return "shared memory at byte " + std::to_string(begin) + ": " + *wrong;
    std::fill(units.begin() + begin + 1, units.begin() + next, units[begin]);
  }
  return std::nullopt;
}

static std::string nameOf(unsigned thread) { return "thread " + std::to_string(thread); }

SharedMemory::Complaint SharedMemory::checkRead(const Unit &unit, const Toucher &by) {
  if (unit.state == State::UnderWay)
    return "an asynchronous copy of " + nameOf(unit.writer) + " hasn't been waited for";
  if (unit.state == State::Nothing)
    return std::nullopt;
  if (unit.isByBulk ? by.clock.seen[bulkEngine] < unit.writeTime
                    : unit.writer != by.thread && by.clock.seen[unit.writer / 32] < unit.writeTime)
    return (unit.isByBulk ? "a bulk copy" : nameOf(unit.writer)) +
           " wrote what is read, and no wait is between";
  return std::nullopt;
}

SharedMemory::Complaint SharedMemory::checkWrite(const Unit &unit, const Toucher &by) {
  Complaint wrong = checkOverwrite(unit, by);
  return wrong ? wrong : checkReaders(unit, by);
}

SharedMemory::Complaint SharedMemory::checkOverwrite(const Unit &unit, const Toucher &by) {
  if (unit.state == State::UnderWay)
    return "an asynchronous copy of " + nameOf(unit.writer) + " still writes there";
  if (unit.state == State::Written &&
      (unit.isByBulk
           ? by.clock.seen[bulkEngine] < unit.writeTime
           : unit.writer != by.thread && by.clock.seen[unit.writer / 32] < unit.writeTime))
    return (unit.isByBulk ? "a bulk copy" : nameOf(unit.writer)) +
           " wrote what is overwritten, and no wait is between";
  return std::nullopt;
}

SharedMemory::Complaint SharedMemory::checkReaders(const Unit &unit, const Toucher &by) {
  uint32_t own = uint32_t(1) << by.warp();
  for (uint32_t others = unit.readers & ~own; others; others &= others - 1) {
    unsigned warp = unsigned(std::countr_zero(others));
    if (by.clock.seen[warp] < unit.readTime)
      return "warp " + std::to_string(warp) + " read what is overwritten, and no wait is between";
  }
  if (unit.readers == own && (unit.readLanes & ~(uint32_t(1) << by.lane())) &&
      by.clock.seen[by.warp()] < unit.readTime)
    return "another lane of the warp read what is overwritten, and no wait is between";
  if (by.clock.cluster < unit.readFromAfar)
    return "another block read what is overwritten, and no wait of the cluster is between";
  return std::nullopt;
}

void SharedMemory::noteRead(Unit &unit, const Toucher &by) {
  uint32_t own = uint32_t(1) << by.warp();
  for (uint32_t others = unit.readers; others; others &= others - 1) {
    unsigned warp = unsigned(std::countr_zero(others));
    if (by.clock.seen[warp] >= unit.readTime) // Whoever is behind this read is behind that too.
      unit.readers &= ~(uint32_t(1) << warp);
  }
  if (unit.readers != own)
    unit.readLanes = 0;
  unit.readers |= own;
  unit.readLanes |= uint32_t(1) << by.lane();
  unit.readTime = by.now;
}

SharedMemory::Complaint SharedMemory::read(uint32_t address, uint32_t count, const Toucher &by) {
  return forUnits(address, count, [&](Unit &unit, auto...) {
    Complaint wrong = checkRead(unit, by);
    noteRead(unit, by);
    return wrong;
  });
}

SharedMemory::Complaint SharedMemory::write(uint32_t address, const std::byte *data, uint32_t count,
                                            const Toucher &by) {
  Complaint complaint = forUnits(address, count, [&](Unit &unit, uint32_t from, uint32_t number) {
    // Threads whose parts overlap at the end of a dimension store the same there: part of a vector.
    bool isAgain = unit.state == State::Written && !unit.isByBulk &&
                   std::memcmp(at(from), data + (from - address), number) == 0;
    Complaint wrong = isAgain ? checkReaders(unit, by) : checkWrite(unit, by);
    unit = {.writeTime = by.now,
            .readFromAfar = unit.readFromAfar,
            .fences = by.fences,
            .writer = uint16_t(by.thread),
            .state = State::Written};
    return wrong;
  });
  std::memcpy(at(address), data, count);
  return complaint;
}

void SharedMemory::change(uint32_t address, uint32_t count, const Toucher &by) {
  (void)forUnits(address, count, [&](Unit &unit, auto...) -> Complaint {
    unit.writeTime = by.now;
    unit.fences = by.fences;
    unit.writer = uint16_t(by.thread);
    unit.state = State::Written;
    return std::nullopt;
  });
}

SharedMemory::Complaint SharedMemory::readFromAfar(uint32_t address, uint32_t count,
                                                   const Toucher &by) {
  return forUnits(address, count, [&](Unit &unit, auto...) -> Complaint {
    unit.readFromAfar = by.now;
    if (unit.state != State::Written)
      return "another block reads what is not there yet";
    if (by.clock.cluster < unit.writeTime)
      return "another block reads it, and no wait of the cluster is between";
    return std::nullopt;
  });
}

SharedMemory::Complaint SharedMemory::readByUnits(uint32_t address, uint32_t count,
                                                  const Toucher &by,
                                                  const std::vector<uint32_t> &fencesOfThreads,
                                                  unsigned step) {
  auto check = [&](Unit &unit, auto...) -> Complaint {
    if (Complaint wrong = checkRead(unit, by))
      return wrong;
    noteRead(unit, by);
    if (unit.state == State::Written && !unit.isByBulk &&
        fencesOfThreads[unit.writer] <= unit.fences)
      return nameOf(unit.writer) + " wrote it without a fence.proxy.async behind";
    return std::nullopt;
  };
  for (uint32_t offset = 0; offset < count; offset += step)
    if (Complaint wrong = forUnits(address + offset, 1, check))
      return wrong;
  return std::nullopt;
}

SharedMemory::Complaint SharedMemory::startCopy(uint32_t address, uint32_t count,
                                                const Toucher &by) {
  return forUnits(address, count, [&](Unit &unit, auto...) {
    Complaint wrong = checkWrite(unit, by);
    unit = {.writeTime = by.now,
            .readFromAfar = unit.readFromAfar,
            .writer = uint16_t(by.thread),
            .state = State::UnderWay};
    return wrong;
  });
}

void SharedMemory::endCopy(uint32_t address, uint32_t count, const Toucher &by) {
  (void)forUnits(address, count, [&](Unit &unit, auto...) -> Complaint {
    unit.writeTime = by.now;
    unit.writer = uint16_t(by.thread);
    unit.fences = by.fences;
    unit.state = State::Written;
    return std::nullopt;
  });
}

void SharedMemory::endBulkCopy(uint32_t address, uint32_t count, uint32_t now) {
  (void)forUnits(address, count, [&](Unit &unit, auto...) -> Complaint {
    unit.writeTime = now;
    unit.state = State::Written;
    unit.isByBulk = true;
    return std::nullopt;
  });
}

} // namespace kintsugi::emulator
