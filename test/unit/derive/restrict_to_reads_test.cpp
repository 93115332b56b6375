// What the rule leaves alone; test/rules has what it makes.

#include "changes.h"

namespace kintsugi::derive {
namespace {

class RestrictToReads : public Changes {
protected:
  RestrictToReads() : Changes(restrictToReadsRule) {}

  /// Of a product of 512 rows.
  static std::string readAs(const std::string &reader, const std::string &also = "") {
    return "input x[512, 256] f32\ninput w[256, 64] f32\ninput at[4] i64\n"
           "p[i:512, o:64] f32 = sum<f32>[k:256] x[i, k] * w[k, o]\n" +
           reader + "\noutput y\n" + also;
  }
};

} // namespace

TEST_F(RestrictToReads, ByDataAndByPosition) {
  EXPECT_TRUE(changes(readAs("y[r:4, o:64] f32 = p[{at[r]}, o]")));
  EXPECT_TRUE(changes(readAs("y[r:16, o:8] f32 = p[32*r+1, 8*o]")));
  EXPECT_TRUE(changes(readAs("y[o:64] f32 = max[r:4] p[{at[r]}, o]")));
  EXPECT_TRUE(changes(readAs("y[o:64] f32 = p[{at[0]}, o] + p[511, o]")));
}

TEST_F(RestrictToReads, NotWhatIsReadElsewhere) {
  const std::string few = "y[r:4, o:64] f32 = p[{at[r]}, o]";
  EXPECT_FALSE(changes(readAs(few, "output p\n")));
  EXPECT_FALSE(changes(readAs(few + "\nm[i:512] f32 = max[o:64] p[i, o]", "output m\n")));
  EXPECT_FALSE(changes(readAs("y[r:500, o:64] f32 = p[r, o]")));
  EXPECT_FALSE(changes(readAs("y[r:4, o:64] f32 = p[r//2, o] + p[r%2, o]")));    // Phases.
  EXPECT_FALSE(changes(readAs("y[r:4, o:32] f32 = sum<f32>[t:3] p[r+t, o+t]"))); // Windows.
  EXPECT_FALSE(changes(readAs("y[r:4, o:64] f32 = (p[{at[r]}-1, o] | 0)")));
  EXPECT_FALSE(changes(readAs("y[o:64] f32 = p[{at[0]}, o] + p[{at[1]}, o] + p[{at[2]}, o]")));
}

TEST_F(RestrictToReads, NotWhereDataOutsideWouldFindSomethingElse) {
  auto rows = [](const std::string &body, const std::string &size = "512") {
    return "input x[1024, 256] f32\ninput z[" + size +
           ", 256] f32\ninput w[256, 64] f32\ninput at[4] i64\n"
           "p[i:512, o:64] f32 = sum<f32>[k:256] " +
           body + "\ny[r:4, o:64] f32 = p[{at[r]}, o]\noutput y\n";
  };
  EXPECT_TRUE(changes(rows("z[i, k] * w[k, o]")));
  EXPECT_FALSE(changes(rows("z[i, k] * w[k, o]", "600")));
  EXPECT_FALSE(changes(rows("z[i, k] * w[k, o] + f32(i)")));
  EXPECT_FALSE(changes(rows("x[2*i, k] * w[k, o]")));
  EXPECT_FALSE(changes(rows("(z[i, k] | 0) * w[k, o]")));
}

TEST_F(RestrictToReads, OnlyWhereSomethingIsSummed) {
  EXPECT_FALSE(changes("input x[512, 256] f32\ninput at[4] i64\n"
                       "p[i:512, o:256] f32 = exp(x[i, o])\n"
                       "y[r:4, o:256] f32 = p[{at[r]}, o]\noutput y\n"));
}

TEST_F(RestrictToReads, NotWhereGatheringTakesMoreThanThereIs) {
  // Each of the few images would be gathered once for each place of the window.
  auto windows = [](const std::string &reads) {
    return "input x[64, 4096] f32\ninput w[8, 8] f32\ninput at[64] i64\n"
           "p[b:64, i:3584, o:8] f32 = sum<f32>[k:8] x[b, i+k] * w[k, o]\n"
           "y[r:" +
           reads + ", i:3584, o:8] f32 = p[{at[r]}, i, o]\noutput y\n";
  };
  EXPECT_TRUE(changes(windows("4")));
  EXPECT_FALSE(changes(windows("40")));
}

TEST_F(RestrictToReads, OnlyWhatArithmeticAloneDecidesIsDominant) {
  const std::string few = readAs("y[r:4, o:64] f32 = p[{at[r]}, o]");
  ASSERT_TRUE(restrictToReadsRule.applyDominant);
  EXPECT_TRUE(changesAlways(few));
  const std::string small = "input x[8, 8] f32\ninput w[8, 8] f32\n"
                            "p[i:8, o:8] f32 = sum<f32>[k:8] x[i, k] * w[k, o]\n"
                            "y[o:8] f32 = p[7, o]\noutput y\n";
  EXPECT_TRUE(changes(small));
  EXPECT_FALSE(changesAlways(small));
}

} // namespace kintsugi::derive
