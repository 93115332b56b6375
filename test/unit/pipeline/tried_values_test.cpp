// What trial runs of some sizes have seen holds for others where it is all there is to know.

#include "pipeline/tried_values.h"

#include "te/parser.h"

#include <gtest/gtest.h>

namespace kintsugi::pipeline {
namespace {

te::Program programOf(const std::string &size, const std::string &last = "y") {
  std::string text = "input x[" + size + "] f32\n" + "h[i:" + size + "] f32 = x[i] + 1\n" + last +
                     "[i:" + size + "] f32 = h[i] * 2\noutput " + last + "\n";
  Expected<te::Program> program = te::parseProgram(text, "program", {});
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(*program);
}

TEST(TriedValues, HoldTheGreatestOfAllSizes) {
  TriedValues seen, other;
  seen.add(programOf("8"), {{1, 5, 10}, {}});
  other.add(programOf("2"), {{2, 3, 12}, {false, true}});
  seen.join(other);
  std::optional<simplify::Tried> found = seen.of(programOf("4"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->greatest, (std::vector<double>{2, 5, 12}));
  EXPECT_EQ(found->kept, (std::vector<bool>{false, true}));
}

TEST(TriedValues, AreOfProgramsWhoseValuesWereAllSeen) {
  TriedValues seen;
  EXPECT_FALSE(seen.of(programOf("4")));
  seen.add(programOf("8"), {{1, 5, 10}, {}});
  EXPECT_FALSE(seen.of(programOf("4", "z")));
  EXPECT_TRUE(seen.of(programOf("4"))->kept.empty());
}

TEST(TriedValues, WithoutMagnitudesTellWhatIsKept) {
  TriedValues seen;
  seen.add(programOf("8"), {{}, {true, false}});
  std::optional<simplify::Tried> found = seen.of(programOf("4"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->greatest.empty());
  EXPECT_EQ(found->kept, (std::vector<bool>{true, false}));
}

/// Small sizes say too little where the great ones could not be tried.
TEST(TriedValues, OfSomeSizesAloneServeNoOther) {
  TriedValues seen, failed;
  seen.add(programOf("2"), {{1, 5, 10}, {}});
  failed.add(programOf("8"), {});
  seen.join(failed);
  EXPECT_FALSE(seen.of(programOf("4")));
}

} // namespace
} // namespace kintsugi::pipeline
