#include "warp.h"

#include "block.h"
#include "launch.h"

#include <cstring>

namespace kintsugi::emulator {

constexpr size_t lineBytes = 64;

Warp::Warp(Block &block, const Program &program, unsigned number, uint32_t lanes)
    : block(block), program(program), number(number), live(lanes), active(lanes),
      waited(block.cluster.launch.startsEarly ? 0 : allLanes),
      local(size_t(program.localBytes) * warpLanes, std::byte(0xFF)),
      storage(program.registerBytes + lineBytes) {
  auto begin = reinterpret_cast<uintptr_t>(storage.data());
  size_t skipped = (lineBytes - begin % lineBytes) % lineBytes;
  registers = std::span(storage).subspan(skipped, program.registerBytes);
  for (const auto &[place, bytes] : program.constants)
    std::memcpy(registers.data() + place, bytes.data(), bytes.size());
}

uint64_t Warp::run(uint64_t most) {
  uint64_t executed = 0;
  yields = false;
  uint64_t *counts = block.cluster.launch.counts.data();
  while (state == State::Running && executed < most && !yields) {
    const Instruction &instruction = program.code[pc];
    mask = active;
    if (instruction.guard != noRegister) {
      uint32_t holds = predicate(instruction.guard);
      mask &= instruction.isGuardNegated ? ~holds : holds;
    }
    next = pc + 1;
    if (mask) {
      if (!products.isEmpty() && instruction.isFloating)
        checkOperands(instruction);
      instruction.step(*this, instruction);
      ++counts[instruction.name];
    }
    ++executed;
    pc = next;
    if (pc >= nextMerge || active == 0)
      regroup();
  }
  return executed;
}

void Warp::checkOperands(const Instruction &instruction) const {
  for (uint32_t place : {instruction.a, instruction.b, instruction.c}) {
    uint32_t bits;
    std::memcpy(&bits, registers.data() + place, sizeof bits);
    if (PendingProducts::isMark(bits))
      fail(Fault::Failed, 0, "reads the sums of a wgmma that nobody has waited for");
  }
}

/// The lanes that were furthest behind go on, with all that are at the same place.
void Warp::regroup() {
  if (active)
    others.push_back({pc, active, false});
  active = 0;
  if (others.empty()) {
    if (live == 0)
      state = State::Done;
    nextMerge = ~uint32_t(0);
    return;
  }
  for (size_t i = 0; i < others.size(); ++i) // Those at one place are one group, and look again.
    for (size_t k = i + 1; k < others.size();) {
      if (others[k].pc != others[i].pc) {
        ++k;
        continue;
      }
      others[i].lanes |= others[k].lanes;
      others[i].isWaiting = false;
      others.erase(others.begin() + ptrdiff_t(k));
    }
  auto first = others.end();
  for (auto group = others.begin(); group != others.end(); ++group)
    if (!group->isWaiting && (first == others.end() || group->pc < first->pc))
      first = group;
  if (first == others.end()) {
    pc = others.front().pc;
    fail(Fault::Failed, unsigned(std::countr_zero(others.front().lanes)),
         "waits for lanes of its warp that don't come");
  }
  pc = first->pc;
  active = first->lanes;
  others.erase(first);
  nextMerge = ~uint32_t(0);
  for (const Group &group : others)
    nextMerge = std::min(nextMerge, group.pc);
  // Behind those that wait others go on until they meet them.
  for (const Group &group : others)
    if (group.isWaiting && group.pc < pc)
      nextMerge = 0;
}

bool Warp::meets(uint32_t wanted) {
  wanted &= live;
  if ((active & wanted) == wanted)
    return true;
  others.push_back({pc, active, true});
  active = 0;
  next = pc;
  return false;
}

void Warp::branch(uint32_t target) {
  uint32_t rest = active & ~mask;
  if (rest) {
    others.push_back({pc + 1, rest, false});
    active = mask;
    nextMerge = 0;
  }
  next = target;
}

void Warp::exit() {
  live &= ~mask;
  active &= ~mask;
  block.noteExit();
}

uint64_t Warp::read(uint32_t place, unsigned bytes, unsigned lane) {
  uint64_t value = 0;
  std::memcpy(&value, registers.data() + place + size_t(bytes) * lane, bytes);
  return value;
}

void Warp::write(uint32_t place, unsigned bytes, unsigned lane, uint64_t value) {
  if (place != noRegister)
    std::memcpy(registers.data() + place + size_t(bytes) * lane, &value, bytes);
}

uint64_t Warp::addressOf(const Instruction &instruction, unsigned lane) {
  uint64_t base =
      instruction.baseBytes == 0 ? 0 : read(instruction.base, instruction.baseBytes, lane);
  uint64_t address = base + uint64_t(instruction.offset);
  return instruction.baseBytes == 4 ? uint32_t(address) : address;
}

std::string Warp::describe() const {
  const Instruction &instruction = program.code[std::min<size_t>(pc, program.code.size() - 1)];
  return "line " + std::to_string(instruction.line) + " '" + program.names[instruction.name] + "'";
}

void Warp::fail(Fault::Code code, unsigned lane, const std::string &message) const {
  throw Fault{code, "kernel '" + program.name + "' block " + std::to_string(block.number) +
                        " thread " + std::to_string(threadOf(lane)) + " " + describe() + ": " +
                        message};
}

} // namespace kintsugi::emulator
