// Checks of data: what a program says of them, and what the interpreter makes of it.

#include "te/check.h"

#include "te/interpreter.h"
#include "te/parser.h"
#include "te/printer.h"

#include <gtest/gtest.h>

namespace kintsugi::te {
namespace {

constexpr const char *text = "input i[k:3] i64\n"
                             "y[k:3] i64 = i[k] * 2\n"
                             "output y\n";

TEST(Check, IsAnOutputUnderAName) {
  Expected<Program> program = parseProgram(text, "test");
  ASSERT_TRUE(program.ok()) << program.error().message;
  Check check{-4, 4, "index", "the node, value of all"};
  addCheck(*program, program->inputs[0], check);
  addCheck(*program, program->inputs[0], check);
  ASSERT_EQ(program->outputs.size(), 2u) << "the same again is no other check";
  EXPECT_FALSE(checkOf(program->outputs[0]));
  std::optional<Check> found = checkOf(program->outputs[1]);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->low, -4);
  EXPECT_EQ(found->high, 4);
  EXPECT_EQ(found->what, "index");
  EXPECT_EQ(found->node, "the node, value of all");
  EXPECT_EQ(modelOutputs(*program).size(), 1u);
  addCheck(*program, program->inputs[0], {0, 4, "index", "other"});
  EXPECT_EQ(program->outputs.size(), 3u);
  EXPECT_FALSE(isReservedName("check: me"));
  EXPECT_FALSE(isReservedName("check: index in -x..3 of y"));
  // It goes through the text form.
  Expected<Program> again = parseProgram(printProgram(*program), "again");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(checkOf(again->outputs[1])->low, -4);
}

TEST(Check, TheInterpreterSaysWhatIsOutside) {
  Expected<Program> program = parseProgram(text, "test");
  ASSERT_TRUE(program.ok());
  addCheck(*program, program->inputs[0], {-4, 4, "index", "gather"});
  addCheck(*program, program->outputs[0].value, {-6, 7, "sequence length", ""});
  auto run = [&](std::vector<int64_t> values) {
    ExactTensor input{ElementType::I64, {3}, {}, std::move(values)};
    Expected<std::vector<ExactTensor>> outputs = evaluate(*program, input);
    EXPECT_TRUE(!outputs.ok() || outputs->size() == 1);
    return outputs.ok() ? "" : outputs.error().message;
  };
  EXPECT_EQ(run({-3, 0, 3}), "");
  EXPECT_EQ(run({-4, 0, 3}), "its sequence length -8 is outside of -6 to 6");
  EXPECT_EQ(run({0, 4, -5}), "node 'gather': its index 4 is outside of -4 to 3");
}

} // namespace
} // namespace kintsugi::te
