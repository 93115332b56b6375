// Which formats are chosen, and that the program computes the same in them.

#include "layout/layout.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::layout {
namespace {

using namespace te;

LayoutOptions optionsFor(const char *level) {
  Expected<machine::Machine> machine = machine::Machine::forLevel(level);
  EXPECT_TRUE(machine.ok());
  LayoutOptions options;
  options.schedule.machine = *machine;
  return options;
}

Shape shapeOf(const Program &program, llvm::StringRef name) {
  for (const Value &value : program.values)
    if (value.name == name)
      return value.shape;
  ADD_FAILURE() << "no value '" << name.str() << "' in\n" << printProgram(program);
  return {};
}

Program chosen(const Program &program, const LayoutOptions &options) {
  Program result = chooseFormats(program, options).value_or(program);
  Status status = result.verify();
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return result;
}

/// Two layers of sums over windows, a rectifier and padding between them, from a row-major input to
/// a row-major output. The rows are too short to fill vectors well, the channels are not.
constexpr const char *layers = R"(
input x[1, 32, 9, 9] f32
kernel[i0:32, i1:32, i2:3, i3:3] f32 = f32{(i0 + 2*i1 + 3*i2 + 4*i3) % 7 - 3}
a[i0:1, i1:32, i2:7, i3:7] f32 = sum<f32>[r0:32, r1:3, r2:3] x[0, r0, i2+r1, i3+r2] * kernel[i1, r0, r1, r2]
b[i0:1, i1:32, i2:7, i3:7] f32 = max(a[0, i1, i2, i3], 0)
p[i0:1, i1:32, i2:9, i3:9] f32 = (b[0, i1, i2-1, i3-1] | 0)
d[i0:1, i1:32, i2:7, i3:7] f32 = sum<f32>[r0:32, r1:3, r2:3] p[0, r0, i2+r1, i3+r2] * kernel[i1, r0, r1, r2]
e[i0:1, i1:32, i2:7, i3:7] f32 = d[0, i1, i2, i3] + b[0, i1, i2, i3]
y[i0:1, i1:32] f32 = max<f32>[r0:7, r1:7] e[0, i1, r0, r1]
output y
)";

TEST(Layout, ChannelsGoInnermostBetweenSumsOverWindows) {
  Program program = parsed(layers);
  Program result = chosen(program, optionsFor("x86-64-v4"));
  for (const char *name : {"a", "b", "d", "e"})
    EXPECT_EQ(shapeOf(result, name), (Shape{1, 7, 7, 32})) << name;
  EXPECT_EQ(shapeOf(result, "p"), (Shape{1, 9, 9, 32}));
  EXPECT_EQ(shapeOf(result, "x"), (Shape{1, 32, 9, 9})) << "inputs are what the caller gives";
  EXPECT_EQ(shapeOf(result, "y"), (Shape{1, 32}));
  std::vector<ExactTensor> inputs = randomInputs(program, 1);
  expectSame(evaluated(result, inputs), evaluated(program, inputs));
}

TEST(Layout, ScalarCodeGainsNothing) {
  Program program = parsed(layers);
  LayoutOptions options = optionsFor("x86-64-v4");
  options.schedule.scalar = true;
  EXPECT_EQ(printProgram(chosen(program, options)), printProgram(program));
}

TEST(Layout, OutputsAndOperandsOfCallsStay) {
  std::string text = layers;
  text += "output b\noutput d\n";
  Program result = chosen(parsed(text), optionsFor("x86-64-v4"));
  EXPECT_EQ(shapeOf(result, "b"), (Shape{1, 32, 7, 7}));
  EXPECT_EQ(shapeOf(result, "d"), (Shape{1, 32, 7, 7}));
}

TEST(Layout, WithoutFuelNothingChanges) {
  Program program = parsed(layers);
  LayoutOptions options = optionsFor("x86-64-v4");
  options.fuel = 1;
  EXPECT_EQ(printProgram(chosen(program, options)), printProgram(program));
}

/// A factor that is written as quickly in either order, and whose rows are columns of a product.
constexpr const char *product = R"(
input x[64, 64] f32
input w[64, 64] f32
k[i:64, j:64] f32 = sum<f32>[r:64] w[r, i] * w[r, j]
s[i:64, j:64] f32 = sum<f32>[r:64] x[i, r] * k[j, r]
y[i:64, j:64] f32 = s[i, j] * s[i, j]
output y
)";

TEST(Layout, AFactorIsStoredAsTheProductReadsIt) {
  Program program = parsed(product);
  Program result = chosen(program, optionsFor("x86-64-v4"));
  std::vector<ExactTensor> inputs = randomInputs(program, 1);
  expectSame(evaluated(result, inputs), evaluated(program, inputs));
  EXPECT_EQ(printNode(result, 1), "s[i:64, j:64] f32 = sum<f32>[r:64] x[i, r] * k[r, j]");
}

/// The same beside a sum that reads one element of the factor and takes very much longer.
TEST(Layout, WhatIsNothingAgainstTheWholeIsLeft) {
  Program program = parsed(std::string(product) + R"(
input u[512, 2048] f32
input v[2048, 512] f32
z[i:512, j:512] f32 = sum<f32>[r:2048] u[i, r] * v[r, j] * k[0, 0]
output z
)");
  EXPECT_EQ(printProgram(chosen(program, optionsFor("x86-64-v4"))), printProgram(program));
}

TEST(Layout, SaysWhatChangedAndWhatItSaves) {
  explain::Log log;
  LayoutOptions options = optionsFor("x86-64-v4");
  options.log = &log;
  chosen(parsed(layers), options);
  std::vector<explain::Record> records = log.records();
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[0].subject, "value 'a'");
  EXPECT_EQ(records[0].decision, "dimensions stored in the order 0, 2, 3, 1");
  const explain::Record &total = records.back();
  EXPECT_EQ(total.decision, "searched to the end");
  ASSERT_EQ(total.numbers.size(), 5u);
  EXPECT_EQ(total.numbers[1].value, 5) << "changed";
  EXPECT_LT(total.numbers[4].value, total.numbers[3].value);
}

TEST(Layout, RandomProgramsComputeTheSame) {
  unsigned changed = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomOptions random;
    random.definitions = 10;
    random.maxExtent = 9;
    LayoutOptions options = optionsFor("x86-64-v3");
    options.schedule.machine.stageSeconds = 0; // So that little things count.
    Program program = randomProgram(seed, random);
    Program result = chosen(program, options);
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    expectSame(evaluated(result, inputs), evaluated(program, inputs));
    changed += printProgram(result) != printProgram(program);
  }
  EXPECT_GT(changed, 10u);
}

} // namespace
} // namespace kintsugi::layout
