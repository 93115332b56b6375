//===- warp_moves_test.cpp - What moves of a warp's threads take ----------===//

#include "loops/warp_moves.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace kintsugi::loops;

namespace {

llvm::SmallVector<int64_t> every(int64_t bytes) {
  llvm::SmallVector<int64_t> offsets;
  for (int64_t thread = 0; thread < 32; ++thread)
    offsets.push_back(thread * bytes);
  return offsets;
}

} // namespace

TEST(WarpMoves, TakeTurnsWhereTheyMeetInABank) {
  EXPECT_EQ(bankTurns(every(4), 4), 1);    // Side by side.
  EXPECT_EQ(bankTurns(every(0), 4), 1);    // The same word for all.
  EXPECT_EQ(bankTurns(every(2), 2), 1);    // Two share a word.
  EXPECT_EQ(bankTurns(every(16), 16), 4);  // Four times what scratch gives at once.
  EXPECT_EQ(bankTurns(every(8), 4), 2);    // Every other bank.
  EXPECT_EQ(bankTurns(every(256), 4), 32); // One bank.
  EXPECT_EQ(bankTurns(every(260), 4), 1);  // A row of 64 words, and one.
}

TEST(WarpMoves, WalkColumnsOfPitchedRowsInTurn) {
  for (int64_t bytes : {1, 2, 4, 8})
    for (int64_t elements : {16, 32, 33, 64, 100}) {
      int64_t pitch = rowPitch(elements, bytes);
      EXPECT_GE(pitch, elements);
      EXPECT_LE((pitch - elements) * bytes, 8);
      EXPECT_EQ(bankTurns(every(pitch * bytes), bytes), bytes == 8 ? 2 : 1);
    }
}
