// Transposed convolutions as they are defined become sums by phases; what is computed stays the
// same.

#include "derive/rule.h"

#include "on_gpu.h"
#include "te/operations.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

struct Split {
  Program program;
  Assumptions assumed;
};

Split split(const Program &program) {
  Split result;
  Expected<Program> after = splitPhasesRule.apply(program, {.assumed = &result.assumed});
  EXPECT_TRUE(after.ok());
  result.program = std::move(*after);
  Status status = result.program.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(result.program);
  return result;
}

/// The same values by fewer multiply-adds, `times` fewer or more.
void expectFewerAndEqual(const std::string &text, double times) {
  Program before = parsed(text), after = split(before).program;
  EXPECT_GE(operationsOf(before), times * operationsOf(after)) << printProgram(after);
  expectSameOfWholeNumbers(after, before, 4, 5);
}

size_t nodesOf(const std::string &text) { return split(parsed(text)).program.nodes.size(); }

const std::string kernel = "k[c:4, o:3, r:5] f32 = f32(mod(i64(o + 2*c + 3*r), 7) - 3)\n";

} // namespace

TEST(SplitPhases, OfStridesAndDilations) {
  for (int stride : {2, 3, 4, 6})
    for (int dilation : {1, 2, 4, 9}) {
      std::string place = "h-" + std::to_string(dilation) + "*r+3", s = std::to_string(stride);
      expectFewerAndEqual("input x[4, 9] f32\n" + kernel +
                              "y[o:3, h:40] f32 = sum<f32>[c:4, r:5] cases { {(" + place + ")%" +
                              s + "} == 0: (x[c, (" + place + ")//" + s +
                              "] | 0) * k[c, o, r]; else: 0 }\noutput y\n",
                          1.2);
    }
}

TEST(SplitPhases, OfOneTapOrOnePlace) {
  // Two dimensions, where the first has a tap and a place alone: most of it is one condition.
  expectFewerAndEqual("input x[4, 9, 9] f32\n" + kernel +
                          "y[o:3, g:18, h:40] f32 = sum<f32>[c:4, r:5] cases { {g%2} == 0 and "
                          "{(h-r)%4} == 0: (x[c, g//2, (h-r)//4] | 0) * k[c, o, r]; else: 0 }\n"
                          "output y\n",
                      4);
  expectFewerAndEqual("input x[4, 9, 9] f32\n"
                      "k[c:4, o:3, q:3, r:5] f32 = f32(mod(i64(o + 2*c + 3*r + q), 7) - 3)\n"
                      "y[o:3, g:1, h:40] f32 = sum<f32>[c:4, q:3, r:5] cases { {(q+1)%2} == 0 and "
                      "{(h-r)%4} == 0: (x[c, (q+1)//2, (h-r)//4] | 0) * k[c, o, q, r]; else: 0 }\n"
                      "output y\n",
                      4);
  // Nothing but taps is summed.
  expectFewerAndEqual("input x[9] f32\nk[r:4] f32 = f32(mod(i64(3*r), 7) - 3)\n"
                      "y[h:36] f32 = sum<f32>[r:4] cases { {(h-r)%4} == 0: "
                      "(x[(h-r)//4] | 0) * k[r]; else: 0 }\noutput y\n",
                      2);
}

TEST(SplitPhases, OfZerosBetweenElements) {
  std::string sum = "y[o:3, h:40] f32 = sum<f32>[c:4, r:5] (v[c, h+r-2] | 0) * k[c, o, 4-r]\n";
  // As a definition of their own, padded again, and stored in fewer bits.
  expectFewerAndEqual("input x[4, 12] f32\n" + kernel +
                          "u[c:4, h:34] f16 = f16(cases { {h%3} == 0: x[c, h//3]; else: 0 })\n"
                          "v[c:4, h:40] f32 = (f32((u[c, h-3] | 0)))\n" +
                          sum + "output y\n",
                      1.5);
  // Where the definition ends before the input does, it hides elements of it: nothing is done.
  EXPECT_EQ(nodesOf("input x[4, 14] f32\n" + kernel +
                    "v[c:4, h:34] f32 = cases { {h%3} == 0: x[c, h//3]; else: 0 }\n" + sum +
                    "output y\n"),
            3u);
}

TEST(SplitPhases, InSteps) {
  Program before = parsed(
      "input x[4, 20] f32\n" + kernel +
      "(y[4, 20] f32) = scan[3] carry(x) capture(k) {\ninput step[] i64\ninput s[4, 20] f32\n"
      "input w[4, 3, 5] f32\nz[o:3, h:20] f32 = sum<f32>[c:4, r:5] cases { {(h-r)%4} == 0: "
      "(s[c, (h-r)//4] | 0) * w[c, o, r]; else: 0 }\n"
      "n[c:4, h:20] f32 = z[c//2, h]\noutput n\n}\noutput y\n");
  Program after = split(before).program;
  auto stepOf = [](const Program &program) {
    return operationsOf(*std::get<Scan>(program.nodes[1]).body);
  };
  EXPECT_GT(stepOf(before), 2 * stepOf(after)) << printProgram(after);
  expectSameOfWholeNumbers(after, before, 1, 5);
}

TEST(SplitPhases, TellWhatZerosAreMultipliedWith) {
  auto assumptionsOf = [](const std::string &taps) {
    return split(parsed("input x[2, 9] f32\ninput k[2, " + taps +
                        "] f32\ny[h:20] f32 = sum<f32>[c:2, r:" + taps +
                        "] cases { {(h-r)%2} == 0: (x[c, (h-r)//2] | 0) * k[c, r]; else: 0 }\n"
                        "output y\n"))
        .assumed.of("split-phases");
  };
  EXPECT_EQ(assumptionsOf("4"), 0u);
  EXPECT_EQ(assumptionsOf("5"), 1u) << "a phase has a tap less, which is 0 then";
}

TEST(SplitPhases, LeaveOthers) {
  auto nodes = [](const std::string &condition, const std::string &place) {
    return nodesOf("input x[4, 40] f32\n" + kernel + "y[o:3, h:40] f32 = sum<f32>[c:4, r:5] " +
                   "cases { " + condition + ": (x[c, " + place +
                   "] | 0) * k[c, o, r]; else: 0 }\noutput y\n");
  };
  EXPECT_EQ(nodes("{(h-r)%2} == 0", "(h-r)//2"), 5u);
  EXPECT_EQ(nodes("{(h-r)%2} == 0", "(h-r)//3"), 2u);
  EXPECT_EQ(nodes("{(h-r)%2} == 0", "(h-2*r)//2"), 2u);
  EXPECT_EQ(nodes("{(h-r)%2} == 0", "h-r"), 2u);
  EXPECT_EQ(nodes("{(h-r)%2} == 0 and {h} < 20", "(h-r)//2"), 2u);
  EXPECT_EQ(nodes("{(h-r)%2} != 0", "(h-r)//2"), 2u);
  // Few places, far apart: phases would be more than there are terms.
  EXPECT_EQ(nodes("{(h-r)%1048576} == 0", "(h-r)//1048576"), 2u);
}

} // namespace kintsugi::derive
