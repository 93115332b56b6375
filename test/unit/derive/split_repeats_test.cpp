// Contractions over repeated elements read them where they are; what is computed stays the same.

#include "derive/split_repeats.h"

#include "checked_pass.h"
#include "simplify/simplify.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

std::string split(const std::string &text) {
  return textAfter([](const Program &program) { return splitRepeats(program); }, text);
}

const std::string inputs = "input q[h:6, r:4] f32\ninput k[g:2, j:5, r:4] f32\n";
const std::string scores = "s[h:6, j:5] f32 = sum<f32>[r:4] q[h, r] * v[h, j, r]\n";
const std::string results = "y[h:6] f32 = sum<f32>[j:5] s[h, j]\noutput y\n";

bool has(const std::string &text, const std::string &what) {
  return text.find(what) != std::string::npos;
}

} // namespace

TEST(SplitRepeats, OfHeadsThatShareKeys) {
  std::string after =
      split(inputs + "v[h:6, j:5, r:4] f32 = k[h//3, j, r]\n" + scores +
            "m[h:6] f32 = max<f32>[j:5] s[h, j]\ne[h:6, j:5] f32 = s[h, j] - m[h]\n"
            "w[g:2, j:5, d:4] f32 = k[g, j, d] + 1\nu[h:6, j:5, d:4] f32 = w[h//3, j, d]\n"
            "o[h:6, d:4] f32 = sum<f32>[j:5] e[h, j] * u[h, j, d]\n"
            "y[i:24] f32 = o[i//4, i%4]\noutput y\n");
  EXPECT_FALSE(has(after, "v[")) << after;
  EXPECT_FALSE(has(after, "u[")) << after;
  EXPECT_TRUE(has(after, "q[3*hp+h, r] * k[hp, j, r]")) << after;
}

TEST(SplitRepeats, OfWholeCopies) {
  std::string after = split(inputs + "v[h:6, j:5, r:4] f32 = k[h%2, j, r]\n" + scores +
                            "y[i:30] f32 = s[i//5, i%5]\noutput y\n");
  EXPECT_TRUE(has(after, "q[2*hp+h, r] * k[h, j, r]")) << after;
}

TEST(SplitRepeats, OutputsKeepTheirShape) {
  std::string scoresOut =
      split(inputs + "v[h:6, j:5, r:4] f32 = k[h//3, j, r]\n" + scores + "output s\n");
  EXPECT_NE(scoresOut.find("s[i0:6"), std::string::npos) << scoresOut;
  EXPECT_NE(scoresOut.find(" = s.grouped["), std::string::npos) << scoresOut;
  std::string resultsOut =
      split(inputs + "v[h:6, j:5, r:4] f32 = k[h//3, j, r]\n" + scores + results);
  EXPECT_NE(resultsOut.find(".grouped["), std::string::npos) << resultsOut;
}

TEST(SplitRepeats, NotWhereAWindowReadsNeighbours) {
  EXPECT_EQ(split("input x[5, 2] f32\ninput f[c:2, w:3] f32\n"
                  "u[i:10, c:2] f32 = x[i//2, c]\n"
                  "t[i:8] f32 = sum<f32>[c:2, w:3] u[i+w, c] * f[c, w]\n"
                  "y[i:4] f32 = t[2*i] + t[2*i+1]\noutput y\n"),
            "as before");
}

TEST(SplitRepeats, NotForWhatNoContractionReads) {
  EXPECT_EQ(split("input x[5] f32\nu[i:10] f32 = x[i//2]\nm[i:10] f32 = u[i] * u[i]\n"
                  "y[i:5] f32 = m[2*i] + m[2*i+1]\noutput y\n"),
            "as before");
}

TEST(SplitRepeats, NotWhereAReaderTakesHalfAPart) {
  EXPECT_EQ(split(inputs + "v[h:6, j:5, r:4] f32 = k[h//3, j, r]\n"
                           "s[h:4, j:5] f32 = sum<f32>[r:4] q[h, r] * v[h, j, r]\n"
                           "y[i:20] f32 = s[i//5, i%5]\noutput y\n"),
            "as before");
  EXPECT_EQ(split(inputs + "v[h:6, j:5, r:4] f32 = k[h//3, j, r]\n" + scores +
                  "t[h:4, j:5] f32 = s[h, j] + 1\ny[i:20] f32 = t[i//5, i%5]\noutput y\n"),
            "as before");
}

TEST(SplitRepeats, NotWherePartsDiffer) {
  EXPECT_EQ(split("input a[12, 3] f32\ninput k[3, 4] f32\ninput l[4, 4] f32\n"
                  "v[h:12, j:4] f32 = k[h//4, j]\nu[h:12, j:4] f32 = l[h//3, j]\n"
                  "s[h:12, i:3] f32 = sum<f32>[j:4] v[h, j] * u[h, j] * a[h, i]\n"
                  "y[i:36] f32 = s[i//3, i%3]\noutput y\n"),
            "as before");
}

} // namespace kintsugi::derive
