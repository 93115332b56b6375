//===- shared_memory_test.cpp - Races that the emulated GPU finds -----------===//

#include "emulator/shared_memory.h"

#include <gtest/gtest.h>
#include <span>

namespace kintsugi::test {

using emulator::Clock;
using emulator::SharedMemory;
using emulator::Toucher;

namespace {

/// Threads that have not waited for each other.
class SharedMemoryRaces : public testing::Test {
protected:
  /// What is wrong, or "".
  std::string write(unsigned thread, uint32_t place, std::vector<uint8_t> data) {
    auto bytes = std::as_bytes(std::span(data));
    return textOf(memory.write(SharedMemory::firstAddress + place, bytes.data(),
                               uint32_t(bytes.size()), Toucher{clock, thread, 1, 0}));
  }
  std::string read(unsigned thread, uint32_t place, uint32_t bytes) {
    return textOf(
        memory.read(SharedMemory::firstAddress + place, bytes, Toucher{clock, thread, 1, 0}));
  }

private:
  static std::string textOf(const SharedMemory::Complaint &complaint) {
    return complaint.value_or("");
  }

  Clock clock;
  SharedMemory memory{64};
};

} // namespace

TEST_F(SharedMemoryRaces, NeighboursMayStoreSingleBytes) {
  for (unsigned thread = 0; thread < 64; ++thread)
    EXPECT_EQ(write(thread, thread, {uint8_t(thread)}), "");
  for (unsigned thread = 0; thread < 64; ++thread)
    EXPECT_EQ(read(thread, thread, 1), "");
  EXPECT_EQ(read(4, 4, 2), "shared memory at byte 5: thread 5 wrote what is read, and no wait is "
                           "between");
  EXPECT_EQ(write(40, 7, {1}), "shared memory at byte 7: thread 7 wrote what is overwritten, and "
                               "no wait is between");
}

TEST_F(SharedMemoryRaces, WhatOverlapsHasToBeTheSame) {
  EXPECT_EQ(write(0, 0, {1, 2, 3, 4}), "");
  EXPECT_EQ(write(1, 2, {3, 4, 5, 6}), "");
  EXPECT_EQ(read(0, 0, 2), "");
  EXPECT_EQ(read(0, 0, 4), "shared memory at byte 2: thread 1 wrote what is read, and no wait is "
                           "between");
  EXPECT_EQ(write(2, 5, {6, 7, 8, 9}), "");
  EXPECT_EQ(write(3, 6, {7, 0}), "shared memory at byte 6: thread 2 wrote what is overwritten, and "
                                 "no wait is between");
}

TEST_F(SharedMemoryRaces, WhatOthersReadIsNotOverwritten) {
  EXPECT_EQ(write(0, 0, {1, 2, 3, 4}), "");
  EXPECT_EQ(read(0, 1, 1), "");
  EXPECT_EQ(write(33, 0, {1}), "");
  EXPECT_EQ(write(33, 1, {2}), "shared memory at byte 1: warp 0 read what is overwritten, and no "
                               "wait is between");
}

} // namespace kintsugi::test
