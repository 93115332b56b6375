// Simplification as a whole: equal results before and after, and that it does what it is for.

#include "simplify/simplify.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::simplify {
namespace {

using namespace te;

std::string lastNode(const Program &program) {
  return printNode(program, program.nodes.size() - 1);
}

Program checked(const Program &program) {
  Program result = simplify(program);
  Status status = result.verify();
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return result;
}

void expectSameSignature(const Program &left, const Program &right) {
  ASSERT_EQ(left.inputs.size(), right.inputs.size());
  for (auto [a, b] : llvm::zip(left.inputs, right.inputs)) {
    EXPECT_EQ(left.value(a).name, right.value(b).name);
    EXPECT_EQ(left.value(a).type, right.value(b).type);
    EXPECT_EQ(left.value(a).shape, right.value(b).shape);
  }
  ASSERT_EQ(left.outputs.size(), right.outputs.size());
  for (auto [a, b] : llvm::zip(left.outputs, right.outputs)) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(left.value(a.value).type, right.value(b.value).type);
    EXPECT_EQ(left.value(a.value).shape, right.value(b.value).shape);
  }
}

TEST(Simplify, RandomProgramsComputeTheSame) {
  size_t before = 0, after = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = randomProgram(seed);
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    Program simple = checked(program);
    expectSameSignature(simple, program);
    expectSame(evaluated(simple, inputs), evaluated(program, inputs));
    before += program.nodes.size();
    after += simple.nodes.size();
    if (HasFailure())
      FAIL() << printProgram(program) << "\nbecame\n" << printProgram(simple);
  }
  EXPECT_LT(after, before);
}

TEST(Simplify, ASecondTimeFindsNothing) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Program once = checked(randomProgram(seed));
    EXPECT_EQ(printProgram(checked(once)), printProgram(once)) << "seed " << seed;
  }
}

TEST(Simplify, FactsOfValuesAreTrue) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Program program = checked(randomProgram(seed));
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    for (uint32_t number = 0; number < program.numValues(); ++number)
      program.addOutput("value " + std::to_string(number), {number});
    std::vector<ExactTensor> values = evaluated(program, inputs);
    for (auto [output, tensor] : llvm::zip(program.outputs, values)) {
      const Facts &facts = program.value(output.value).facts;
      for (double x : tensor.floats) {
        EXPECT_FALSE(facts.neverNaN && std::isnan(x)) << output.name << ", seed " << seed;
        EXPECT_FALSE(facts.finite && !std::isfinite(x)) << output.name << ", seed " << seed;
        EXPECT_FALSE(facts.low && x < *facts.low) << output.name << ", seed " << seed;
        EXPECT_FALSE(facts.high && x > *facts.high) << output.name << ", seed " << seed;
      }
    }
  }
}

TEST(Simplify, ViewsAreComposedTheRightWayRound) {
  Program program = parsed("input x[8, 6] f32\n"
                           "a[i:8, j:6] f32 = max(x[i, j], 0)\n"
                           "c[i:4, j:6] f32 = a[2*i, j]\n"
                           "d[i:6, j:4] f32 = c[j, i]\n"
                           "output d");
  Program simple = checked(program);
  EXPECT_EQ(lastNode(simple), "d[i:6, j:4] f32 = a[2*j, i]");
  EXPECT_EQ(simple.nodes.size(), 2u);
  std::vector<ExactTensor> inputs = randomInputs(program, 3);
  expectSame(evaluated(simple, inputs), evaluated(program, inputs));
}

TEST(Simplify, AFillReadsThroughWhatOnlyReorders) {
  Program program = parsed("input x[5, 4] f32\n"
                           "t[i:4, j:5] f32 = x[j, i]\n"
                           "s[i:3, j:5] f32 = t[i + 1, j]\n"
                           "y[i:6, j:7] f32 = (t[i - 1, j - 1] | -1) + 1\n"
                           "z[i:6, j:7] f32 = (s[i - 1, j - 1] | -1) + 1\n"
                           "output y\noutput z");
  Program simple = checked(program);
  EXPECT_EQ(printNode(simple, simple.nodes.size() - 2), "y[i:6, j:7] f32 = (x[j-1, i-1] | -1) + 1");
  std::vector<ExactTensor> inputs = randomInputs(program, 5);
  expectSame(evaluated(simple, inputs), evaluated(program, inputs));
}

TEST(Simplify, EqualDefinitionsBecomeOne) {
  Program simple = checked(parsed("input x[8] f32\n"
                                  "a[i:8] f32 = exp(x[i])\n"
                                  "b[k:8] f32 = exp(x[k])\n"
                                  "s[] f32 = sum<f32>[i:8] a[i]\n"
                                  "t[] f32 = sum<f32>[k:8] b[k]\n"
                                  "u[] f32 = sum<f64>[k:8] b[k]\n"
                                  "y[] f32 = s[] * t[] + u[]\noutput y"));
  EXPECT_EQ(simple.nodes.size(), 4u) << printProgram(simple);
  EXPECT_EQ(lastNode(simple), "y[] f32 = s[] * s[] + u[]");
}

TEST(Simplify, WhatNoOutputNeedsIsDropped) {
  Program simple = checked(parsed("input x[8] f32\n"
                                  "unused[i:8] f32 = exp(x[i])\n"
                                  "same[i:8] f32 = x[i]\n"
                                  "y[i:8] f32 = same[i] * 1 + x[7-i]\noutput y"));
  EXPECT_EQ(simple.nodes.size(), 1u) << printProgram(simple);
  EXPECT_EQ(lastNode(simple), "y[i:8] f32 = x[i] + x[7-i]");
}

TEST(Simplify, ItSaysWhatItDid) {
  explain::Log log;
  simplify(parsed("input x[8, 2] f32\n"
                  "unused[i:8] f32 = exp(x[i, 0])\n"
                  "t[i:2, j:8] f32 = x[j, i]\n"
                  "a[i:2, j:8] f32 = exp(t[i, j])\n"
                  "b[i:2, j:8] f32 = exp(t[i, j])\n"
                  "c[i:2, j:8] f32 = b[i, j]\n"
                  "y[i:2, j:8] f32 = a[i, j] + c[i, j]\noutput y"),
           &log);
  auto said = [&](const std::string &subject, const std::string &decision) {
    return llvm::any_of(log.records(), [&](const explain::Record &record) {
      return record.phase == "simplify" && record.subject == subject &&
             record.decision == decision && !record.reasons.empty();
    });
  };
  EXPECT_TRUE(said("value 'unused'", "dropped"));
  EXPECT_TRUE(said("value 'a'", "reads through views"));
  EXPECT_TRUE(said("value 'b'", "merged into 'a'"));
  EXPECT_TRUE(said("value 'c'", "dropped"));
}

TEST(Simplify, ItCountsItsRules) {
  explain::Log log;
  simplify(parsed("input x[8] f32\n"
                  "a[i:8] f32 = x[i] * 1 + x[i] / 4\n"
                  "y[i:8] f32 = pow(a[i], 2) + a[i] * 1\noutput y"),
           &log);
  std::map<std::string, double> times;
  for (const explain::Record &record : log.records())
    if (llvm::StringRef(record.decision).consume_front("applied the rule "))
      times[record.decision.substr(17)] = record.numbers.at(0).value;
  EXPECT_EQ(times, (std::map<std::string, double>{
                       {"x * 1 = x", 2}, {"pow(x, 2) = x * x", 1}, {"x / 2^k = x * 2^-k", 1}}));
}

TEST(PromoteToDouble, KeepsWhatIsComputed) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = randomProgram(seed);
    Program wide = promoteToDouble(program);
    Status status = wide.verify();
    ASSERT_TRUE(status.ok()) << status.error().message;
    expectSameSignature(wide, program);
    for (const Node &node : wide.nodes)
      if (const auto *definition = std::get_if<Definition>(&node);
          definition && definition->reduction)
        EXPECT_NE(definition->reduction->accumulator, ElementType::F32);
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    expectSame(evaluated(wide, inputs), evaluated(program, inputs));
  }
}

/// The value of an output of one element.
double only(const Program &program, std::vector<ExactTensor> inputs) {
  return evaluated(program, inputs)[0].floats.at(0);
}

TEST(PromoteToDouble, RoundsEveryF32ValueToTheDigitsOfAType) {
  Program program = parsed("input x[1] f32\ninput big[1] f32\n"
                           "s[] f32 = sum<f32>[k:1] x[k]\n"
                           "y[i:1] f32 = s[] * (big[i] / big[i])\noutput y");
  // From 2048 on, 11 digits tell numbers apart that differ by 2; from 256 on, 8 digits.
  const std::tuple<ElementType, double, double> all[] = {{ElementType::F32, 2050.875, 2050.875},
                                                         {ElementType::F16, 2050.875, 2050},
                                                         {ElementType::F16, 2051.125, 2052},
                                                         {ElementType::F16, 1e6 + 1, 999936},
                                                         {ElementType::BF16, 256.875, 256}};
  for (auto [type, given, expected] : all) {
    Program rounded = promoteToDouble(program, type);
    ASSERT_TRUE(rounded.verify().ok()) << rounded.verify().error().message;
    EXPECT_EQ(only(rounded, {floats({1}, {given}), floats({1}, {1e30})}), expected)
        << nameOf(type) << " " << given;
    EXPECT_EQ(only(promoteToDouble(program), {floats({1}, {given}), floats({1}, {1e30})}), given);
  }
}

TEST(PromoteToDouble, RoundingKeepsInfinitiesAndNan) {
  Program program =
      promoteToDouble(parsed("input x[1] f32\ny[i:1] f32 = x[i] * 2\noutput y"), ElementType::F16);
  EXPECT_EQ(only(program, {floats({1}, {-INFINITY})}), -INFINITY);
  EXPECT_TRUE(std::isnan(only(program, {floats({1}, {NAN})})));
}

TEST(Simplify, ConstantsOfOneElementAreNumbers) {
  Program program = parsed("input x[4] f32\nconst a[] f32 = [0.5]\nconst b[1, 1] f32 = [0.25]\n"
                           "const many[2] f32 = [3, 4]\nconst unknown[1] f32 = weights(\"w\")\n"
                           "y[i:4] f32 = x[i] * (a[] * b[0, 0]) + many[0] * unknown[0]\noutput y");
  EXPECT_EQ(lastNode(checked(program)), "y[i:4] f32 = x[i] * (0.5 * 0.25) + many[0] * unknown[0]");
}

TEST(Simplify, WhatIsOneNumberEverywhereIsThat) {
  EXPECT_EQ(lastNode(checked(parsed("input x[4] f32\nhalves[i:4, j:9] f32 = 0.5\n"
                                    "y[i:4] f32 = sum<f32>[j:9] x[i] * halves[i, j]\noutput y"))),
            "y[i:4] f32 = sum<f32>[j:9] x[i] * 0.5");
}

TEST(PromoteToDouble, RoundsInScans) {
  Program program = parsed("input h0[1] f32\n"
                           "(last[1] f32) = scan[4] carry(h0) capture() {\n"
                           "  input step[] i64\n"
                           "  input h[1] f32\n"
                           "  next[c:1] f32 = h[c] + 1\n"
                           "  output next\n"
                           "}\n"
                           "output last\n");
  EXPECT_EQ(only(promoteToDouble(program), {floats({1}, {4096})}), 4100);
  EXPECT_EQ(only(promoteToDouble(program, ElementType::F16), {floats({1}, {4096})}), 4096);
}

TEST(PromoteToDouble, IndicesReadFromFloatsFollow) {
  Program program = parsed("input x[8] f32\ninput at[4] f32\n"
                           "h[i:4] f32 = at[i] * 2\n"
                           "y[i:4] f32 = x[{i64(h[i])}]\noutput y");
  Program wide = promoteToDouble(program);
  ASSERT_TRUE(wide.verify().ok()) << wide.verify().error().message;
  std::vector<ExactTensor> inputs = {floats({8}, {0, 1, 2, 3, 4, 5, 6, 7}),
                                     floats({4}, {0, 3, 1.5, 0.25})};
  expectSame(evaluated(program, inputs)[0], floats({4}, {0, 6, 3, 0}));
  expectSame(evaluated(wide, inputs)[0], floats({4}, {0, 6, 3, 0}));
}

} // namespace
} // namespace kintsugi::simplify
