#include "te/constant.h"
#include "te/printer.h"
#include "testing.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kintsugi::te {
namespace {

std::string contentsOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Text, ExamplesRoundTrip) {
  unsigned count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(KINTSUGI_TE_EXAMPLES)) {
    if (entry.path().extension() != ".te")
      continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::string once = printProgram(parsed(contentsOf(entry.path())));
    EXPECT_EQ(once, printProgram(parsed(once)));
    ++count;
  }
  EXPECT_GE(count, 2u);
}

TEST(Text, ShortForms) {
  Program program = parsed(R"(
input x[n:1, c:64, h:56, w:56] f32
const k[o:64, c:64, r:3, s:3] f32 = weights("conv1.weight")
const b[o:64] f32 = weights("conv1.bias")
t[n, o, h, w] = sum[c, r, s] (x[n, c, h+r-1, w+s-1] | 0) * k[o, c, r, s]      # conv1
y[n, o, h, w] = max(t[n, o, h, w] + b[o], 0)                                  # relu1
z[h:28, w] f16 = f16(y[0, 0, 2*h, w])
m[h] f16 = max[w] z[h, w]
output y
output m
)");
  EXPECT_EQ(printNode(program, 0),
            "t[n:1, o:64, h:56, w:56] f32 = sum<f32>[c:64, r:3, s:3] (x[n, c, h+r-1, w+s-1] | 0) "
            "* k[o, c, r, s]");
  EXPECT_EQ(printNode(program, 3), "m[h:28] f16 = max<f16>[w:56] z[h, w]");
  std::string once = printProgram(program);
  EXPECT_EQ(once, printProgram(parsed(once)));
}

/// The text of a program of one definition, as printed.
std::string printed(const std::string &inputs, const std::string &statement) {
  Program program = parsed(inputs + "\n" + statement);
  return program.nodes.empty() ? "" : printNode(program, program.nodes.size() - 1);
}

/// Statements that print exactly as they were written.
class Verbatim : public testing::TestWithParam<const char *> {};

TEST_P(Verbatim, PrintsAsWritten) {
  std::string inputs = "input x[8, 8] f32\ninput t[8] i64\ninput u[8] i32\ninput p[8] bool\n"
                       "input w[] u8\ninput h[8] f16";
  EXPECT_EQ(printed(inputs, GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Statements, Verbatim,
    testing::Values(
        "y[i:8] f32 = x[i, 0]", "y[] f32 = x[0, 0]", "y[i:4, j:8] f32 = x[2*i+1, 7-j]",
        "y[i:8, j:8] f32 = x[i//2, (i+j)%8]", "y[i:8] f32 = x[2*(i//4)+i%4, 7]",
        "y[i:8] f32 = (x[i-1, i+1] | -inf)", "y[i:8] f32 = x[t[i], u[7-i]]",
        "y[i:8] f32 = x[{t[i] + 1}, {(u[i+1] | 0)}]", "y[i:8] f32 = -x[i, 0] + -(1)",
        "y[i:8] f32 = x[i, 0] - (x[i, 1] - -0.1)", "y[i:8] f32 = (x[i, 0] + i) * {i+1}",
        "y[i:8] f32 = f32(t[i]) / f32(i) + f32(i64(2)) + f32(p[i]) + f32(true)",
        "y[i:8] f32 = cases { i < 3: x[i, 0]; x[i, 1] < 3: i; else: nan }",
        "y[i:8] f16 = stored f16(x[i, 0] * 2)", "y[i:8] f32 = f32(stored f16(x[i, 0]) + h[i])",
        "y[i:8] bool = f32(3) < {2*i} and isnan(x[i, 0]) or p[i] xor true",
        "y[i:8] bool = isnan(f32{i+1}) and max(f32(1), 2) < 3",
        "y[i:8] bool = cases { p[i]: u8(3); else: 4 } == 5",
        "y[i:8] u8 = mod(shr(w[], 1), 3) xor 255", "y[i:8] f16 = pow(h[i], 0.1) * min(h[i], 65504)",
        "y[i:8] u32 = bits(x[i, 0]) + bits(i)", "y[i:8] u64 = bits(f64(x[i, 0]))",
        "y[i:8] f32 = frombits(bits(x[i, 0]) + 1) * 2", "y[i:8] u32 = bits(1.5)",
        "y[i:8] i64 = argmax<f32>[k:8] (x[i, k], k)", "y[i:8] i32 = argmin<i64>[k:8] (7, k)",
        "y[] f32 = sum<f64>[i:8, j:8] x[i, j]", "y[] f32 = sum<f64>[i:8] 1",
        "(m[i:8] f32, s[i:8] f32 facts(low=1, high=8, no_nan, finite)) = "
        "softmax_stats<f32>[k:8] x[i, k]",
        "y[\"else\":8, \"a b\":8] f32 = x[\"else\", \"a b\"]",
        "\"y/1\"[i:8] f32 = x[i, i]  @\"conv \\\"1\\\"\\\\\", \"tab\\tline\\nbell\\x07\"",
        "y[i:8] i64 = -9223372036854775808 + {1099511627776*i}",
        "y[i:8] f32 = 0.1 + 1e+30 + 1e-45 + 16777216 + 3.4028235e+38"));

TEST(Text, TypesOfLiterals) {
  Program program = parsed("input x[4] f32\ny[i:4] bool = x[i] < 3 and i < 3 and f16(3) < 4");
  const Expr &body = std::get<Definition>(program.nodes[0]).bodies[0];
  EXPECT_EQ(body.operand(0).operand(0).operand(1).type(), ElementType::F32);
  EXPECT_EQ(body.operand(0).operand(1).operand(0).type(), ElementType::I64);
  EXPECT_EQ(body.operand(1).operand(1).type(), ElementType::F16);
}

TEST(Text, GreaterIsLessSwapped) {
  EXPECT_EQ(printed("input x[4] f32", "y[i:4] bool = x[i] > 3 or i >= 2"),
            "y[i:4] bool = 3 < x[i] or 2 <= i");
}

TEST(Text, PrecedenceAndComments) {
  EXPECT_EQ(printed("input x[4] f32 # one\n#two\n",
                    "y[i:4] f32 = ((x[i]*2)+(3*x[i]))-(x[i]-1)-1 # three"),
            "y[i:4] f32 = x[i] * 2 + 3 * x[i] - (x[i] - 1) - 1");
}

TEST(Text, ABracketAfterAnIteratorStartsTheNextStatement) {
  for (const char *name : {"i", "exp", "f32", "\"a b\""}) {
    SCOPED_TRACE(name);
    std::string iterator = name;
    bool taken = iterator == "f32" || iterator == "exp";
    std::string text = "y[" + iterator + ":4] f32 = " + (taken ? "{" + iterator + "}" : iterator) +
                       "\n(m[k:4] f32, s[k:4] f32) = softmax_stats<f32>[j:2] y[k]\n";
    EXPECT_EQ(printProgram(parsed(text)), text);
  }
}

TEST(Text, TypesAndFunctionsMayNameTensors) {
  std::string text = "input f32[4] f32\ninput exp[4] f32\n"
                     "i2[i2:4] f32 = f32[i2] + exp[i2] + exp({i2}) + f32(i2[i2]) + {i2}\n";
  EXPECT_FALSE(parseProgram(text, "self.te").ok()); // It reads itself.
  text = "input f32[4] f32\ninput exp[4] f32\n"
         "y[i2:4] f32 = f32[i2] + exp[i2] + exp({i2}) + f32(f64(f32[i2])) + {i2}\n";
  EXPECT_EQ(printProgram(parsed(text)), text);
}

TEST(Text, EqualIteratorNamesArePrintedApart) {
  Program program;
  ValueId x = program.addInput("x", ElementType::F32, {4, 4});
  Definition swap;
  swap.parallel = {{"i", 4}, {"i", 4}};
  swap.bodies = {Expr::read(x, ElementType::F32, {Index::iterator(1), Index::iterator(0)})};
  program.define("y", ElementType::F32, std::move(swap));
  EXPECT_EQ(printNode(program, 0), "y[i:4, i_1:4] f32 = x[i_1, i]");
}

TEST(Text, ConstantsKeepTheirBytes) {
  Program program = parsed("const c[3] f32 = [0.1, -0, 1e-45]\nconst d[3] u4 = [1, 15, 7]\n"
                           "const e[2] bool = [true, false]");
  Expected<Tensor> c = loadConstant(program.values[0]);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->as<float>()[0], 0.1f);
  EXPECT_TRUE(std::signbit(c->as<float>()[1]));
  EXPECT_EQ(c->as<float>()[2], std::numeric_limits<float>::denorm_min());
  Expected<Tensor> d = loadConstant(program.values[1]);
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(loadInteger(d->view(), 1), 15);
  EXPECT_EQ(loadInteger(d->view(), 2), 7);
}

TEST(Text, WeightsAreFoundByTheResolver) {
  auto resolve =
      [](const std::string &name, ElementType type,
         llvm::ArrayRef<Extent> shape) -> Expected<std::shared_ptr<const ConstantSource>> {
    if (name != "there")
      return inputError("there are no weights '" + name + "'");
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(type, plainShape(shape)));
    return std::shared_ptr<const ConstantSource>(
        std::make_shared<TensorConstant>(std::move(tensor)));
  };
  auto found = parseProgram("const k[40] f32 = weights(\"there\")", "a.te", resolve);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(loadConstant(found->values[0])->count(), 40);
  auto missing = parseProgram("const k[40] f32 = weights(\"else\")", "a.te", resolve);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "a.te:1:19: there are no weights 'else'");
  Program unresolved = parsed("const k[40] f32 = weights(\"else\")");
  EXPECT_FALSE(loadConstant(unresolved.values[0]).ok());
  EXPECT_EQ(printProgram(unresolved), "const k[40] f32 = weights(\"else\")\n");
}

} // namespace
} // namespace kintsugi::te
