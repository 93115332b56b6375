//===- cuda_trace_test.cpp - What is left of a recorded run's steps -------===//

#include "devices/cuda/trace.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace kintsugi::devices::cuda;

namespace {

constexpr Address base = 4096, spareBase = 1 << 20;

/// Does what a trace says; a launch's results are functions of its stage and all that it reads.
class Machine {
public:
  explicit Machine(const Trace &trace) : lasting(trace.lasting) {
    for (size_t i = 0; i < trace.table.size(); ++i)
      memory[spareBase + i] = trace.table[i];
    for (const TraceStep &step : trace.steps)
      perform(step);
  }

  std::vector<std::byte> read(Range range) const {
    std::vector<std::byte> bytes(range.bytes);
    for (uint64_t i = 0; i < range.bytes; ++i)
      bytes[i] = at(range.begin + i);
    return bytes;
  }

  /// Of what lasts.
  std::vector<std::byte> contents() const {
    std::vector<std::byte> result;
    for (const Range &range : lasting)
      for (std::byte byte : read(range))
        result.push_back(byte);
    return result;
  }

  int launches = 0, moves = 0;

private:
  std::byte at(Address address) const {
    auto found = memory.find(address);
    return found == memory.end() ? std::byte(address * 7) : found->second;
  }

  void write(Range range, const std::vector<std::byte> &bytes) {
    for (uint64_t i = 0; i < range.bytes; ++i)
      memory[range.begin + i] = bytes[i];
  }

  void perform(const TraceStep &step) {
    ++(step.kind == TraceStep::Kind::Launch ? launches : moves);
    if (step.kind == TraceStep::Kind::Set)
      return write(step.operands[0], step.value);
    if (step.kind == TraceStep::Kind::Copy)
      return write(step.operands[1], read(step.operands[0]));
    ASSERT_EQ(step.kind, TraceStep::Kind::Launch);
    std::seed_seq::result_type seen = step.stage;
    for (size_t i = 0; i < step.firstWritten(); ++i)
      for (std::byte byte : read(step.operands[i]))
        seen = seen * 31 + std::to_integer<unsigned>(byte);
    std::mt19937 bits(seen);
    for (size_t i = step.firstWritten(); i < step.operands.size(); ++i) {
      ASSERT_EQ(step.operands[i].begin % 16, 0u);
      std::vector<std::byte> bytes(step.operands[i].bytes);
      std::ranges::generate(bytes, [&] { return std::byte(bits()); });
      write(step.operands[i], bytes);
    }
  }

  std::vector<Range> lasting;
  std::map<Address, std::byte> memory;
};

Trace shortened(Trace trace) {
  trace.shorten();
  trace.place(spareBase);
  return trace;
}

Range slot(int number, uint64_t bytes = 32) { return {base + 64 * Address(number), bytes}; }

void set(Trace &trace, Range to, int64_t value) {
  std::byte bytes[8];
  std::memcpy(bytes, &value, 8);
  trace.addSet(to, bytes);
}

/// As a recurrent layer's loop is written out: (h, c) = cell(step, x, h, c), y[step] = h.
Trace cells(int steps, int outer = 1) {
  Trace trace;
  trace.lasting = {slot(10, 64 * Address(outer * steps))};
  Range step = slot(0, 8), x = slot(1), h = slot(2), c = slot(3), hNext = slot(4), cNext = slot(5),
        first = slot(6);
  for (int again = 0; again < outer; ++again) {
    trace.addCopy(first, h);
    trace.addCopy(first, c);
    for (int t = 0; t < steps; ++t) {
      set(trace, step, t);
      trace.addLaunch(0, {step, x, h, c, cNext, hNext}, 2);
      trace.addCopy(hNext, h);
      trace.addCopy(cNext, c);
      trace.addCopy(hNext, slot(10 + again * steps + t));
    }
  }
  return trace;
}

} // namespace

TEST(CudaTrace, LeavesOfLoopsTheirKernels) {
  Trace all = cells(20, 3), less = shortened(all);
  Machine before(all), after(less);
  EXPECT_EQ(before.contents(), after.contents());
  EXPECT_EQ(before.launches, 60);
  EXPECT_EQ(before.moves, 60 * 4 + 6);
  EXPECT_EQ(after.launches, 60);
  EXPECT_EQ(after.moves, 0);
  all.lasting.push_back(slot(2));
  all.lasting.push_back(slot(0, 8));
  Machine with(shortened(all));
  EXPECT_EQ(Machine(all).contents(), with.contents());
  EXPECT_EQ(with.moves, 2); // The last state and the last step's number.
}

TEST(CudaTrace, KeepsWhatIsReadAfterwardsInPart) {
  Trace all;
  all.lasting = {slot(0, 64 * 8)};
  all.addLaunch(0, {slot(1), slot(2)}, 1);
  all.addCopy(slot(2), slot(3));
  all.addLaunch(1, {slot(3), slot(4)}, 1);
  all.addLaunch(2, {{slot(3).begin + 16, 16}, slot(5)}, 1);
  all.addLaunch(3, {slot(1), slot(2)}, 1);
  all.addLaunch(4, {slot(1), slot(3)}, 1);
  Trace less = shortened(all);
  EXPECT_EQ(Machine(all).contents(), Machine(less).contents());
}

TEST(CudaTrace, ShortensAnythingToTheSame) {
  int saved = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 bits(seed);
    auto below = [&](unsigned limit) { return int(bits() % limit); };
    unsigned slots = 3 + below(6), spread = below(3);
    // Mostly whole slots; now and then a half, two at once, or one at an odd address.
    auto any = [&] {
      Range range = slot(below(slots), 64);
      if (spread && below(8) == 0)
        range = {range.begin + (below(2) ? 32 : 8), 32};
      if (spread == 2 && below(12) == 0)
        range.bytes = 128;
      return range;
    };
    auto apart = [&](const std::vector<Range> &others, Range range) {
      return std::ranges::none_of(others, [&](const Range &o) { return o.overlaps(range); });
    };
    Trace all;
    for (unsigned number = 0; number <= slots; ++number)
      if (below(3))
        all.lasting.push_back(slot(int(number), 64));
    for (int count = 5 + below(60); count > 0; --count) {
      if (int kind = below(5); kind == 0) {
        set(all, {any().begin, 8}, below(4));
      } else if (kind < 3) {
        Range from = any(), to = {any().begin, from.bytes};
        if (!from.overlaps(to))
          all.addCopy(from, to);
      } else {
        std::vector<Range> operands;
        for (int reads = below(3); reads >= 0; --reads)
          operands.push_back(any());
        size_t written = 0;
        for (int tries = 0; tries < 6 && written < 2; ++tries)
          if (Range to = any(); to.begin % 16 == 0 && apart(operands, to)) {
            operands.push_back(to);
            ++written;
          }
        if (written > 0)
          all.addLaunch(unsigned(count), operands, written);
      }
    }
    Trace less = shortened(all);
    Machine before(all), after(less);
    ASSERT_EQ(before.contents(), after.contents()) << "seed " << seed;
    ASSERT_EQ(before.launches, after.launches);
    saved += before.moves - after.moves;
  }
  EXPECT_GT(saved, 1000);
}
