// What split-keys leaves as it is; what it makes is in test/rules.

#include "derive/rule.h"

#include "on_gpu.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

/// Whether a program with margins of none comes out as it is.
bool isLeft(const std::string &text) {
  Program before = parsed(text);
  RuleContext context;
  context.margins = cost::Margins::none();
  context.space.schedule = onHopper();
  Expected<Program> after = splitKeysRule.apply(before, context);
  EXPECT_TRUE(after.ok()) << after.error().message;
  EXPECT_TRUE(after->verify().ok());
  return printProgram(*after) == printProgram(before);
}

std::string attention(const std::string &rows, const std::string &other) {
  return "input x[2, " + rows + ", 512] f32\ninput v[2, 512, 4] f16\n" + "(m[h:2, i:" + rows +
         "] f32, z[h:2, i:" + rows + "] f32) = softmax_stats<f32>[j:512] x[h, i, j]\n" +
         "e[h:2, i:" + rows + ", j:512] f16 = stored f16(exp(x[h, i, j] - m[h, i]))\n" +
         "u[h:2, i:" + rows + ", d:4] f32 = sum<f32>[j:512] f32(e[h, i, j]) * f32(" + other +
         ")\noutput u\noutput z\n";
}

TEST(SplitKeys, OfFewRowsAlone) {
  EXPECT_FALSE(isLeft(attention("4", "v[h, j, d]")));
  EXPECT_TRUE(isLeft(attention("65", "v[h, j, d]")));
}

TEST(SplitKeys, NotWherePowersAreTheValuesToo) {
  EXPECT_TRUE(isLeft(attention("4", "e[h, d, j]")));
}

} // namespace
} // namespace kintsugi::derive
