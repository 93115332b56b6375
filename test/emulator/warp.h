//===- warp.h - 32 lanes that execute a program -----------------------------===//
//
// Lanes at the same place of the program go on together, those furthest behind first: so they meet
// again where branches do. What takes several lanes waits until they are there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_WARP_H
#define KINTSUGI_TEST_EMULATOR_WARP_H

#include "clock.h"
#include "fault.h"
#include "memory.h"
#include "pending_products.h"
#include "program.h"
#include "staged_copies.h"

#include <bit>
#include <span>

namespace kintsugi::emulator {

class Block;

class Warp {
public:
  enum class State { Running, AtBarrier, AtCluster, Done };

  Warp(Block &block, const Program &program, unsigned number, uint32_t lanes);

  /// Until it waits, ends, has executed so many instructions, or wants others to go on. Returns how
  /// many it has executed.
  uint64_t run(uint64_t most);

  /// Ends a run: nothing new can be seen before others have gone on.
  void yield() { yields = true; }
  bool hasYielded() const { return yields; }

  /// Whether the lanes that an instruction wants are all here; else it is tried again when others
  /// have come.
  bool meets(uint32_t wanted);

  void branch(uint32_t target);
  void exit();

  template <typename T> T *lanes(uint32_t place) {
    return reinterpret_cast<T *>(registers.data() + place);
  }
  uint32_t &predicate(uint32_t place) { return *lanes<uint32_t>(place); }
  /// A register of so many bytes a lane, without a sign.
  uint64_t read(uint32_t place, unsigned bytes, unsigned lane);
  void write(uint32_t place, unsigned bytes, unsigned lane, uint64_t value);
  uint64_t addressOf(const Instruction &instruction, unsigned lane);

  unsigned threadOf(unsigned lane) const { return number * warpLanes + lane; }
  /// Says where: the kernel, the block, the thread and the instruction.
  [[noreturn]] void fail(Fault::Code code, unsigned lane, const std::string &message) const;
  std::string describe() const; ///< Where it is.

  Block &block;
  const Program &program;
  const unsigned number;
  State state = State::Running;
  uint32_t live;     ///< Lanes that have not ended.
  uint32_t active;   ///< Of those, the ones that are here.
  uint32_t mask = 0; ///< Of those, the ones whose guard holds.
  uint32_t pc = 0, next = 0;
  uint32_t barrier = 0; ///< At which it waits.
  uint32_t waited;      ///< Lanes that have waited for the launches before.
  Clock clock;
  StagedCopies copies;
  PendingProducts products;
  std::vector<std::byte> local; ///< Of all lanes.

private:
  struct Group {
    uint32_t pc, lanes;
    bool isWaiting; ///< For others to come.
  };

  void leave(bool isWaiting);
  void regroup();
  void checkOperands(const Instruction &instruction) const;

  std::vector<std::byte> storage;
  std::span<std::byte> registers;
  std::vector<Group> others;
  uint32_t nextMerge = ~uint32_t(0); ///< The least place of the others.
  bool yields = false;
};

/// Calls with each lane of a mask.
template <typename F> void forLanes(uint32_t mask, F &&f) {
  for (; mask; mask &= mask - 1)
    f(unsigned(std::countr_zero(mask)));
}

/// Gives a register what a function has for each lane; the function may be called for others.
template <typename T, typename F> void compute(Warp &warp, uint32_t place, F &&f) {
  T *to = warp.lanes<T>(place);
  if (warp.mask == allLanes) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned lane = 0; lane < warpLanes; ++lane)
      to[lane] = f(lane);
    return;
  }
  T all[warpLanes];
  for (unsigned lane = 0; lane < warpLanes; ++lane)
    all[lane] = f(lane);
  forLanes(warp.mask, [&](unsigned lane) { to[lane] = all[lane]; });
}

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_WARP_H
