// A value that is read in equal parts gets a dimension of parts; what is computed stays the same.

#include "derive/split_dimensions.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

/// The shape of a value by its name: "[4, 3]".
std::string shapeOf(const Program &program, const std::string &name) {
  for (const Value &value : program.values)
    if (value.name == name) {
      std::string text;
      for (Extent extent : value.shape)
        text += (text.empty() ? "" : ", ") + std::to_string(extent.constant());
      return "[" + text + "]";
    }
  return "none";
}

std::vector<ExactTensor> randomInputs(const Program &program, Chance &chance) {
  std::vector<ExactTensor> inputs;
  for (ValueId id : program.inputs) {
    ExactTensor tensor{program.value(id).type, {}, {}, {}};
    int64_t count = 1;
    for (Extent extent : program.shape(id)) {
      tensor.shape.push_back(extent.constant());
      count *= extent.constant();
    }
    for (int64_t k = 0; k < count; ++k)
      tensor.floats.push_back(double(chance.between(-64, 64)) / 64);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Program split(const std::string &text) {
  Program program = parsed(text), after = splitDimensions(program);
  Status status = after.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(after);
  Chance chance(3);
  std::vector<ExactTensor> inputs = randomInputs(program, chance);
  expectSame(evaluated(after, inputs), evaluated(program, inputs));
  return after;
}

/// h, w -> s, four gates of three rows each, y.
std::string gates(const std::string &y, const std::string &rest = "output y\n") {
  return "input h[k:5] f32\ninput w[i:12, k:5] f32\n"
         "s[i:12] f32 = sum<f32>[k:5] h[k] * w[i, k]\n" +
         y + "\n" + rest;
}

} // namespace

TEST(SplitDimensions, PartsBecomeADimension) {
  Program all = split(gates("y[i:3] f32 = s[i] * s[i+3] + s[i+6] * s[i+9]"));
  EXPECT_EQ(shapeOf(all, "s"), "[4, 3]") << printProgram(all);
  Program half = split(gates("y[i:3] f32 = s[i] * s[i+6]"));
  EXPECT_EQ(shapeOf(half, "s"), "[2, 6]") << printProgram(half);
}

TEST(SplitDimensions, ThroughWhatReadsAllOfIt) {
  Program all = split("input h[b:2, k:5] f32\ninput w[i:12, k:5] f32\ninput v[i:24] f32\n"
                      "s[b:2, i:12] f32 = sum<f32>[k:5] h[b, k] * w[i, k]\n"
                      "t[b:2, i:12] f32 = s[b, i] + v[i] + v[i+12]\n"
                      "p[b:2, i:4] f32 = tanh(t[b, i])\nq[b:2, i:4] f32 = t[b, i+4] * p[b, i]\n"
                      "y[b:2, i:4] f32 = t[b, i+8] * p[b, i] + q[b, i]\noutput y\n");
  EXPECT_EQ(shapeOf(all, "t"), "[2, 3, 4]") << printProgram(all);
  EXPECT_EQ(shapeOf(all, "s"), "[2, 3, 4]") << printProgram(all);
  EXPECT_EQ(shapeOf(all, "p"), "[2, 4]");
}

TEST(SplitDimensions, WhatCrossesPartsStays) {
  for (const char *y : {"y[i:4] f32 = s[i] * s[i+3]", "y[i:12] f32 = s[i]",
                        "y[i:3] f32 = (s[i+9] | 0) * s[i+6]", "y[i:12] f32 = s[11-i]",
                        "y[i:6] f32 = s[2*i] * s[2*i+1]", "y[i:3] f32 = s[i] * (s[i+10] | 0)"}) {
    Program same = split(gates(y));
    EXPECT_EQ(shapeOf(same, "s"), "[12]") << printProgram(same);
  }
}

TEST(SplitDimensions, WhatGoesOutStays) {
  Program same = split(gates("y[i:3] f32 = s[i] * s[i+6]", "output y\noutput s\n"));
  EXPECT_EQ(shapeOf(same, "s"), "[12]") << printProgram(same);
}

TEST(SplitDimensions, BodiesOfScans) {
  std::string text = "input h0[i:3] f32\ninput w[i:6, k:3] f32\n"
                     "(h[3] f32) = scan[4] carry(h0) capture(w) {\nprogram cell\n"
                     "input step[] i64\ninput h[3] f32\ninput w[6, 3] f32\n"
                     "s[i:6] f32 = sum<f32>[k:3] h[k] * w[i, k]\n"
                     "n[i:3] f32 = s[i] * s[i+3]\noutput n\n}\noutput h\n";
  Program program = parsed(text), after = splitInScans(program);
  EXPECT_TRUE(after.verify().ok());
  EXPECT_EQ(shapeOf(*std::get<Scan>(after.nodes[0]).body, "s"), "[2, 3]") << printProgram(after);
  Chance chance(4);
  std::vector<ExactTensor> inputs = randomInputs(program, chance);
  expectSame(evaluated(after, inputs), evaluated(program, inputs));
  std::string outside = gates("y[i:3] f32 = s[i] * s[i+6]");
  EXPECT_EQ(shapeOf(splitInScans(parsed(outside)), "s"), "[12]");
}

} // namespace kintsugi::derive
