// What the rule leaves alone, and what it says of what it changes; test/rules has what it makes.

#include "changes.h"

namespace kintsugi::derive {
namespace {

class BandProducts : public Changes {
protected:
  BandProducts() : Changes(bandProductsRule) {}

  static std::string scores(const std::string &product) {
    return "input q[256, 64] f32\ninput x[2000, 64] f32\ninput z[2000] f32\n"
           "s[m:256, w:64] f32 = sum<f32>[k:64] " +
           product + "\noutput s\n";
  }
  static std::string summed(const std::string &product, const std::string &of = "w:64") {
    return "input p[256, 64] f32\ninput x[2000, 64] f32\ninput z[64] f32\n"
           "y[m:256, k:64] f32 = sum<f32>[" +
           of + "] " + product + "\noutput y\n";
  }
};

} // namespace

TEST_F(BandProducts, WindowsMoveWithRows) {
  EXPECT_TRUE(changes(scores("q[m, k] * x[m+w, k]")));
  EXPECT_TRUE(changes(scores("x[4*m+12*w+1, k] * q[m, k]")));
  EXPECT_FALSE(changes(scores("q[m, k] * x[2*m+w, k]"))); // Not by whole rows.
  EXPECT_FALSE(changes(scores("q[m, k] * x[m-w+64, k]")));
  EXPECT_FALSE(changes(scores("q[m, k] * x[m//2+w, k]")));
  EXPECT_FALSE(changes(scores("q[w, k] * x[m+w, k] * z[m]")));
  EXPECT_EQ(assumed.of("band-products"), 0u);
}

TEST_F(BandProducts, ZerosOutsideOfABandAreTakenForFiniteMultiples) {
  EXPECT_TRUE(changes(summed("p[m, w] * x[m+w, k]")));
  EXPECT_EQ(assumed.of("band-products"), 1u);
  EXPECT_FALSE(changes(summed("p[m, w] * x[m+w, 0]"))); // No columns.
  EXPECT_FALSE(changes(summed("z[w] * x[m+w, k]")));    // A convolution.
  EXPECT_TRUE(changes(summed("p[m, w] * (x[m+w, k] | 1)")));
  EXPECT_FALSE(changes(summed("p[m, w] * (x[m+w, k] | inf)")));
}

TEST_F(BandProducts, BlocksHaveToBeQuicker) {
  context.margins.bandProducts = 0.99;
  EXPECT_FALSE(changes(scores("q[m, k] * x[m+w, k]")));
}

} // namespace kintsugi::derive
