// The text form of spaces: round trips over real programs, and what a wrong text says.

#include "space/space_text.h"

#include "../orchestrate/programs.h"
#include "definitions.h"
#include "llvm/ADT/Sequence.h"

namespace kintsugi::space {
namespace {

using orchestrate::programOf;
using orchestrate::smallOptions;
using orchestrate::SmallProgram;
using orchestrate::smallPrograms;

TEST(SpaceText, SpacesOfProgramsRoundTrip) {
  for (const SmallProgram &small : smallPrograms) {
    SCOPED_TRACE(small.name);
    te::Program program = programOf(small.text);
    Expected<Space> space = buildSpace(program, definitionsOf(program), smallOptions().space);
    ASSERT_TRUE(space.ok()) << space.error().message;
    std::string text = space->print();
    Expected<Space> again = parseSpace(text, "test.space", program);
    ASSERT_TRUE(again.ok()) << again.error().message << "\nin\n" << text;
    EXPECT_EQ(again->print(), text);
    ASSERT_EQ(again->candidates.size(), space->candidates.size());
    for (auto [left, right] : llvm::zip(again->candidates, space->candidates)) {
      EXPECT_EQ(left.group.nodes, right.group.nodes);
      EXPECT_EQ(left.group.outputs, right.group.outputs);
      EXPECT_EQ(left.operands, right.operands);
      EXPECT_EQ(left.kernel->key.text, right.kernel->key.text);
      EXPECT_EQ(left.kernel->computeSeconds, right.kernel->computeSeconds);
      EXPECT_EQ(left.kernel->schedule.tiles(), right.kernel->schedule.tiles());
    }
  }
}

struct Wrong {
  const char *from;
  const char *to;
  const char *message;
};

const Wrong wrongs[] = {
    {"fuel left", "fuel gone", "test.space:1:25: unexpected 'gone'; expected 'left'"},
    {"kernel 0 key", "kernel 1 key", "expected the number of the next kernel"},
    {"tiles [", "tiles [0 of 4, ", "expected a tile's size"},
    {"tiles [", "tiles [5 of 4, ", "expected an extent of at least the tile's size"},
    {"candidate 0 kernel 0", "candidate 0 kernel 99", "expected a kernel's number"},
    {"candidate 0 kernel 0", "candidate 0 kernel 1", "is not that of this candidate's group"},
    {"candidate 0 ", "candidate 7 ", "expected the number of the next candidate"},
    {"covers [0]", "covers [99]", "expected a definition's number"},
    {"covers [0]", "covers [4]", "node 4 is no definition"},
    {"covers [0]", "covers []", "a candidate covers at least one definition"},
    {"covers [0]", "covers [0, 0]", "definitions stand in ascending order"},
    {"stores [\"a\"]", "stores [\"q\"]", "the program has no value 'q'"},
    {"stores [\"a\"]", "stores [\"b\"]", "'b' is not what the candidate computes"},
    {"stores [\"a\"]", "stores [\"a\", \"a\"]", "'a' is stored twice"},
    {"operands [", "operands [\"d\", ", "the candidate neither reads nor computes 'd'"},
    {"operands [\"x\"", "operands [\"x\", \"x\"", "'x' is an operand twice"},
    {"compute ", "compute -", "expected a number after 'compute'"},
    {"key \"", "key \"z", "the key is not 32 hexadecimal digits"},
};

TEST(SpaceText, WhatIsWrongIsSaidWithItsPlace) {
  te::Program program = programOf("input x[8] f32\n"
                                  "a[i:8] f32 = exp(x[i])\n"
                                  "b[] f32 = sum<f32>[i:8] a[i]\n"
                                  "c[i:8] f32 = a[i] / b[]\n"
                                  "d[i:8] f32 = c[i] * 2\n"
                                  "(v[2] f32, at[2] i64) = call TopK(d) {\"k\":2}\n"
                                  "output v\n");
  Expected<Space> space = buildSpace(program, definitionsOf(program), smallOptions().space);
  ASSERT_TRUE(space.ok()) << space.error().message;
  for (const Wrong &wrong : wrongs) {
    std::string text = space->print();
    size_t place = text.find(wrong.from);
    ASSERT_NE(place, std::string::npos) << wrong.from << "\nin\n" << text;
    text.replace(place, std::string(wrong.from).size(), wrong.to);
    Expected<Space> again = parseSpace(text, "test.space", program);
    ASSERT_FALSE(again.ok()) << wrong.to;
    EXPECT_NE(again.error().message.find(wrong.message), std::string::npos)
        << again.error().message << "\nfor " << wrong.to;
    EXPECT_TRUE(again.error().message.starts_with("test.space:")) << again.error().message;
  }
  std::string text = space->print();
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    if (Expected<Space> cut = parseSpace(text.substr(0, length), "test.space", program); cut.ok())
      EXPECT_LT(cut->candidates.size(), space->candidates.size());
}

} // namespace
} // namespace kintsugi::space
