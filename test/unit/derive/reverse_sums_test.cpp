// What the rule leaves alone; test/rules has what it makes.

#include "changes.h"

namespace kintsugi::derive {
namespace {

class ReverseSums : public Changes {
protected:
  ReverseSums() : Changes(reverseSumsRule) {}

  static std::string windows(const std::string &product) {
    return "input x[4, 40] f32\ninput k[6, 4, 3] f32\n"
           "y[o:6, h:16] f32 = sum<f32>[c:4, r:3] " +
           product + "\noutput y\n";
  }
};

} // namespace

TEST_F(ReverseSums, WhereAWindowIsFoundThen) {
  EXPECT_TRUE(changes(windows("x[c, h-r+2] * k[o, c, r]")));
  EXPECT_TRUE(changes(windows("k[o, c, r] * (x[c, h-2*r] | 0)")));
  EXPECT_FALSE(changes(windows("x[c, h+r] * k[o, c, r]")));
  EXPECT_FALSE(changes(windows("x[c, h+r] * k[o, c, 2-r]")));   // The kernel may run as it likes.
  EXPECT_FALSE(changes(windows("x[c, 2*h-r+2] * k[o, c, r]"))); // No window of one step.
  EXPECT_FALSE(changes(windows("x[c, h-r+2] * k[o, c, (r+h)%3]")));
}

} // namespace kintsugi::derive
