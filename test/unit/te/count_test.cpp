// Outputs whose size data decide: what a program says of them, and what the interpreter makes of
// it.

#include "te/count.h"

#include "te/check.h"
#include "te/hash.h"
#include "te/interpreter.h"
#include "te/parser.h"
#include "te/printer.h"

#include <gtest/gtest.h>

namespace kintsugi::te {
namespace {

constexpr const char *text = "input x[i:2, j:3] f32\n"
                             "input n[] i64\n"
                             "y[i:2, j:3] f32 = x[i, j] * 2\n"
                             "output y\n";

Program counted(unsigned dimension) {
  Expected<Program> program = parseProgram(text, "test");
  EXPECT_TRUE(program.ok());
  addCount(*program, {dimension, "y"}, program->inputs[1]);
  return std::move(*program);
}

TEST(Count, IsAnOutputUnderAName) {
  Program program = counted(1);
  ASSERT_TRUE(program.verify().ok());
  EXPECT_EQ(modelOutputs(program).size(), 1u);
  EXPECT_FALSE(countOf(program.outputs[0]));
  std::optional<Count> count = countOf(program.outputs[1]);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->dimension, 1u);
  EXPECT_EQ(count->output, "y");
  EXPECT_TRUE(isReservedName(program.outputs[1].name));
  EXPECT_FALSE(isReservedName("count: dimension one of y"));
  EXPECT_NE(hashOf(program), hashOf(counted(0)));
  Expected<Program> again = parseProgram(printProgram(program), "again");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(countOf(again->outputs[1])->dimension, 1u);
}

TEST(Count, HasToBeOfAnOutputBeforeIt) {
  auto errorOf = [](const std::string &outputs) {
    Expected<Program> program =
        parseProgram("input x[i:2] f32\ninput n[] i64\ninput m[] i32\n" + outputs, "test");
    return program.ok() ? "" : program.error().message;
  };
  EXPECT_EQ(errorOf("output x\noutput n as \"count: dimension 0 of x\"\n"), "");
  for (const char *wrong : {"output n as \"count: dimension 0 of x\"\noutput x\n",
                            "output x\noutput n as \"count: dimension 1 of x\"\n",
                            "output x\noutput m as \"count: dimension 0 of x\"\n",
                            "output x\noutput x as \"count: dimension 0 of x\"\n"})
    EXPECT_NE(errorOf(wrong).find("is no scalar i64 behind an output with that dimension"),
              std::string::npos)
        << wrong << errorOf(wrong);
  EXPECT_NE(errorOf("output x\noutput n as \"count: dimension 0 of x\"\n"
                    "output n as \"count: dimension 00 of x\"\n")
                .find("'count: dimension 00 of x' is the second count of that dimension"),
            std::string::npos);
}

TEST(Count, TheInterpreterLeavesOutWhatLiesBehind) {
  ExactTensor x{ElementType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}, {}};
  auto run = [&](unsigned dimension, int64_t extent) {
    ExactTensor n{ElementType::I64, {}, {}, {extent}};
    return evaluate(counted(dimension), {x, n});
  };
  EXPECT_EQ((*run(1, 2))[0].floats, (std::vector<double>{2, 4, 8, 10}));
  EXPECT_EQ((*run(1, 2))[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ((*run(0, 1))[0].floats, (std::vector<double>{2, 4, 6}));
  EXPECT_EQ((*run(1, 0))[0].shape, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(run(0, 3).error().message, "output 'y' has 3 elements along a dimension of 2");
  EXPECT_FALSE(run(0, -1).ok());
}

} // namespace
} // namespace kintsugi::te
