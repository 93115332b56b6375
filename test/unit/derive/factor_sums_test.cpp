// What the rule leaves alone; test/rules has what it makes.

#include "changes.h"

namespace kintsugi::derive {
namespace {

class FactorSums : public Changes {
protected:
  FactorSums() : Changes(factorSumsRule) {}

  /// A window of three taps, and another sum over the same value, added.
  static std::string besideWindow(const std::string &other, const std::string &also = "") {
    return "input x[64, 130] f32\ninput k[64, 64, 3] f32\ninput m[64, 64] f32\ninput n[64, 64, 2] "
           "f32\na[o:64, w:128] f32 = sum<f32>[c:64, r:3] x[c, w+r] * k[o, c, r]\n" +
           other + "\ny[o:64, w:128] f32 = a[o, w] + b[o, w]\noutput y\n" + also;
  }
  static std::string one(const std::string &place) {
    return "b[o:64, w:128] f32 = sum<f32>[c:64] x[c, " + place + "] * m[o, c]";
  }
  static std::string two(const std::string &place) {
    return "b[o:64, w:128] f32 = sum<f32>[c:64, r:2] x[c, " + place + "] * n[o, c, r]";
  }
};

} // namespace

TEST_F(FactorSums, OnlyTapsThatAreTapsOfTheOther) {
  EXPECT_TRUE(changes(besideWindow(one("w"))));
  EXPECT_TRUE(changes(besideWindow(one("w+2"))));
  EXPECT_FALSE(changes(besideWindow(one("w//2"))));
  EXPECT_TRUE(changes(besideWindow(two("w+2*r"))));
  EXPECT_TRUE(changes(besideWindow(two("w+r+1"))));
  EXPECT_FALSE(changes(besideWindow(two("w//2+r"))));
  EXPECT_FALSE(changes("input x[64, 140] f32\ninput k[64, 64, 3] f32\ninput m[64, 64] f32\n"
                       "a[o:64, w:128] f32 = sum<f32>[c:64, r:3] x[c, w+2*r] * k[o, c, r]\n"
                       "b[o:64, w:128] f32 = sum<f32>[c:64] x[c, w+3] * m[o, c]\n"
                       "y[o:64, w:128] f32 = a[o, w] + b[o, w]\noutput y\n"));
}

TEST_F(FactorSums, NotWhatIsNeededBesides) {
  EXPECT_FALSE(changes(besideWindow(one("w+1"), "output b\n")));
  EXPECT_FALSE(changes(besideWindow(one("w+1"), "z[o:64] f32 = max[w:128] a[o, w]\noutput z\n")));
}

TEST_F(FactorSums, NotWhereTheFactorsTakeMoreThanTheyAre) {
  // Rows and columns of a sum of two products would be a factor for each place.
  EXPECT_FALSE(changes("input x[64, 64] f32\ninput k[64, 64] f32\ninput s[64, 64] f32\n"
                       "a[i:64, o:64] f32 = sum<f32>[c:64] x[i, c] * k[c, o]\n"
                       "b[i:64, o:64] f32 = sum<f32>[c:64] x[i, c] * k[o, c]\n"
                       "y[i:64, o:64] f32 = a[i, o] * s[i, o] + b[i, o]\noutput y\n"));
}

TEST_F(FactorSums, ASumThatIsReadTwiceIsOneSum) {
  EXPECT_FALSE(changes("input x[64, 64] f32\ninput k[64, 64] f32\n"
                       "a[i:64, o:64] f32 = sum<f32>[c:64] x[i, c] * k[c, o]\n"
                       "y[i:32, o:64] f32 = a[i, o] + a[i+32, o]\noutput y\n"));
}

} // namespace kintsugi::derive
