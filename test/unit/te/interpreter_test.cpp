#include "te/constant.h"
#include "testing.h"

#include <limits>

namespace kintsugi::te {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

/// The last definition of a program of these lines.
ExactTensor compute(const std::string &text, llvm::ArrayRef<ExactTensor> inputs = {}) {
  Program program = parsed(text);
  program.addOutput("result", program.resultsOf(program.nodes.size() - 1)[0]);
  std::vector<ExactTensor> outputs = evaluated(program, inputs);
  return outputs.empty() ? ExactTensor() : outputs.back();
}

/// "a b" to f(a, b), for scalar operands of a type.
std::vector<int64_t> table(ElementType type, const std::string &expr,
                           std::vector<std::pair<int64_t, int64_t>> operands,
                           bool compares = false) {
  std::vector<int64_t> a, b;
  for (auto [left, right] : operands) {
    a.push_back(left);
    b.push_back(right);
  }
  int64_t n = a.size();
  std::string name(nameOf(type)), count = std::to_string(n);
  ExactTensor result =
      compute("input a[" + count + "] " + name + "\ninput b[" + count + "] " + name +
                  "\ny[i:" + count + "] " + (compares ? "bool" : name) + " = " + expr,
              {integers(type, {n}, a), integers(type, {n}, b)});
  return result.integers;
}

using Numbers = std::vector<int64_t>;
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();

TEST(Interpreter, IntegersWrapAroundAtTheirWidth) {
  EXPECT_EQ(table(ElementType::I8, "a[i] + b[i]", {{127, 1}, {-128, -1}}), (Numbers{-128, 127}));
  EXPECT_EQ(table(ElementType::U8, "a[i] - b[i]", {{0, 1}}), (Numbers{255}));
  EXPECT_EQ(table(ElementType::I32, "a[i] * b[i]", {{65536, 65536}, {65536, 32768}}),
            (Numbers{0, -2147483648}));
  EXPECT_EQ(table(ElementType::I64, "a[i] * b[i]", {{lowest, -1}, {lowest, 2}}),
            (Numbers{lowest, 0}));
  EXPECT_EQ(table(ElementType::I8, "-a[i]", {{-128, 0}, {5, 0}}), (Numbers{-128, -5}));
  EXPECT_EQ(table(ElementType::I8, "abs(a[i])", {{-128, 0}, {-5, 0}}), (Numbers{-128, 5}));
}

TEST(Interpreter, IntegerDivisions) {
  std::vector<std::pair<int64_t, int64_t>> pairs = {{7, 2}, {-7, 2}, {7, -2}, {-7, -2}, {7, 0}};
  EXPECT_EQ(table(ElementType::I32, "a[i] / b[i]", pairs), (Numbers{3, -3, -3, 3, 0}));
  EXPECT_EQ(table(ElementType::I32, "rem(a[i], b[i])", pairs), (Numbers{1, -1, 1, -1, 0}));
  EXPECT_EQ(table(ElementType::I32, "mod(a[i], b[i])", pairs), (Numbers{1, 1, -1, -1, 0}));
  EXPECT_EQ(table(ElementType::I64, "a[i] / b[i]", {{lowest, -1}}), (Numbers{lowest}));
  EXPECT_EQ(table(ElementType::I64, "rem(a[i], b[i])", {{lowest, -1}}), (Numbers{0}));
  EXPECT_EQ(table(ElementType::U64, "a[i] / b[i]", {{-1, 2}}), (Numbers{int64_t(~0ull >> 1)}));
}

TEST(Interpreter, UnsignedNumbersCompareAsSuch) {
  EXPECT_EQ(table(ElementType::U64, "a[i] < b[i]", {{-1, 1}, {1, -1}}, true), (Numbers{0, 1}));
  EXPECT_EQ(table(ElementType::U64, "max(a[i], b[i])", {{-1, 1}}), (Numbers{-1}));
  EXPECT_EQ(table(ElementType::I64, "min(a[i], b[i])", {{-1, 1}}), (Numbers{-1}));
  EXPECT_EQ(table(ElementType::I64, "sign(a[i])", {{-9, 0}, {0, 0}, {9, 0}}), (Numbers{-1, 0, 1}));
  EXPECT_EQ(table(ElementType::U64, "sign(a[i])", {{-9, 0}}), (Numbers{1}));
}

TEST(Interpreter, IntegerPowersAndShifts) {
  EXPECT_EQ(table(ElementType::I32, "pow(a[i], b[i])",
                  {{3, 4}, {2, 31}, {2, -1}, {-1, -3}, {1, -5}, {5, 0}}),
            (Numbers{81, -2147483648, 0, -1, 1, 1}));
  EXPECT_EQ(table(ElementType::U8, "shl(a[i], b[i])", {{129, 1}, {1, 8}, {1, 200}}),
            (Numbers{2, 0, 0}));
  EXPECT_EQ(table(ElementType::U64, "shr(a[i], b[i])", {{-1, 63}, {-1, 64}}), (Numbers{1, 0}));
}

TEST(Interpreter, LogicOfBooleansAndBits) {
  EXPECT_EQ(table(ElementType::Bool, "not(a[i]) and b[i] or a[i] xor b[i]",
                  {{0, 0}, {0, 1}, {1, 0}, {1, 1}}),
            (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(table(ElementType::U8, "not(a[i]) xor b[i]", {{15, 255}}), (Numbers{15}));
  EXPECT_EQ(table(ElementType::I8, "not(a[i])", {{0, 0}}), (Numbers{-1}));
}

std::vector<double> real(const std::string &expr, std::vector<double> a, std::vector<double> b) {
  int64_t n = a.size();
  std::string count = std::to_string(n);
  return compute("input a[" + count + "] f32\ninput b[" + count + "] f32\ny[i:" + count +
                     "] f32 = " + expr,
                 {floats({n}, a), floats({n}, b)})
      .floats;
}

TEST(Interpreter, FloatRemainders) {
  std::vector<double> a = {7.5, -7.5, 7.5, -7.5}, b = {2, 2, -2, -2};
  EXPECT_EQ(real("rem(a[i], b[i])", a, b), (std::vector<double>{1.5, -1.5, 1.5, -1.5}));
  EXPECT_EQ(real("mod(a[i], b[i])", a, b), (std::vector<double>{1.5, 0.5, -0.5, -1.5}));
  EXPECT_TRUE(std::signbit(real("mod(a[i], b[i])", {4}, {-2})[0]));
}

TEST(Interpreter, FloatsKeepNaNs) {
  for (const char *expr : {"max(a[i], b[i])", "min(a[i], b[i])", "sign(a[i] + b[i])"}) {
    EXPECT_TRUE(std::isnan(real(expr, {nan}, {1})[0])) << expr;
    EXPECT_TRUE(std::isnan(real(expr, {1}, {nan})[0])) << expr;
  }
  EXPECT_EQ(compute("y[i:2] bool = cases { i < 1: f32(nan); else: 1 } != nan").integers,
            (Numbers{1, 1}));
  EXPECT_EQ(compute("y[] bool = f32(nan) <= 1 or f32(nan) == nan").integers, (Numbers{0}));
  EXPECT_EQ(compute("y[] bool = isnan(f32(nan)) and isinf(-f32(inf))").integers, (Numbers{1}));
}

TEST(Interpreter, FloatFunctions) {
  EXPECT_EQ(real("round(a[i])", {0.5, 1.5, 2.5, -0.5, -1.5}, {0, 0, 0, 0, 0}),
            (std::vector<double>{0, 2, 2, -0.0, -2}));
  EXPECT_EQ(real("floor(a[i]) + ceil(b[i])", {-1.5, 1.5}, {0.25, -0.25}),
            (std::vector<double>{-1, 1}));
  EXPECT_EQ(real("sign(a[i])", {-3, 0, 3, -inf}, {0, 0, 0, 0}),
            (std::vector<double>{-1, 0, 1, -1}));
  EXPECT_EQ(real("a[i] / b[i]", {1, -1}, {0, 0}), (std::vector<double>{inf, -inf}));
  EXPECT_EQ(real("pow(a[i], b[i])", {2, 9, -8}, {10, 0.5, 3}),
            (std::vector<double>{1024, 3, -512}));
  EXPECT_EQ(real("erf(a[i]) + exp(b[i])", {0}, {0}), (std::vector<double>{1}));
}

TEST(Interpreter, EachFunctionIsItsOwn) {
  std::pair<const char *, double (*)(double)> functions[] = {
      {"sqrt", std::sqrt},   {"exp", std::exp},     {"log", std::log},   {"sin", std::sin},
      {"cos", std::cos},     {"tan", std::tan},     {"asin", std::asin}, {"acos", std::acos},
      {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh}, {"tanh", std::tanh},
      {"asinh", std::asinh}, {"atanh", std::atanh}, {"erf", std::erf},   {"abs", std::fabs}};
  for (auto [name, function] : functions)
    EXPECT_EQ(real(std::string(name) + "(a[i])", {0.375}, {0})[0], function(0.375)) << name;
  EXPECT_EQ(real("acosh(a[i])", {1.375}, {0})[0], std::acosh(1.375));
}

TEST(Interpreter, Casts) {
  ExactTensor x = floats({6}, {-1.75, 1.75, 300, -300, nan, inf});
  std::string input = "input x[6] f32\n";
  EXPECT_EQ(compute(input + "y[i:6] i8 = i8(x[i])", x).integers,
            (Numbers{-1, 1, 127, -128, 0, 127}));
  EXPECT_EQ(compute(input + "y[i:6] u8 = u8(x[i])", x).integers, (Numbers{0, 1, 255, 0, 0, 255}));
  EXPECT_EQ(compute(input + "y[i:6] u64 = u64(x[i])", x).integers, (Numbers{0, 1, 300, 0, 0, -1}));
  EXPECT_EQ(compute(input + "y[i:6] bool = bool(x[i] - 300)", x).integers,
            (Numbers{1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(compute("y[] u8 = u8(i64(-1))").integers, (Numbers{255}));
  EXPECT_EQ(compute("y[] i8 = i8(u8(200))").integers, (Numbers{-56}));
  EXPECT_EQ(compute("y[] f64 = f64(u64(18446744073709551615))").floats,
            (std::vector<double>{18446744073709551616.0}));
  EXPECT_EQ(compute("y[] f32 = f32(true) + f32(2 < 1)").floats, (std::vector<double>{1}));
  EXPECT_EQ(compute("y[i:3] u8 = i + 254").integers, (Numbers{254, 255, 0}));
}

TEST(Interpreter, FloatsAreNotRoundedInBetween) {
  EXPECT_EQ(real("a[i] / b[i]", {1}, {3})[0], 1.0 / 3);
  Program program = parsed("input a[] f32\ny[] f32 = a[] / 3\noutput y");
  Tensor one = std::move(*Tensor::from<float>({}, std::vector<float>{1}));
  auto outputs = interpret(program, one.view());
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].as<float>()[0], 1.0f / 3);
}

TEST(Interpreter, AConvolutionByHand) {
  // 1 channel, 3x3 image, 2x2 kernel, padded by one row above and one column left.
  ExactTensor y = compute("input x[1, 3, 3] f32\nconst k[2, 2] f32 = [1, 2, 3, 4]\n"
                          "y[h:3, w:3] f32 = sum<f32>[r:2, s:2] (x[0, h+r-1, w+s-1] | 0) * k[r, s]",
                          floats({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(y.floats, (std::vector<double>{4, 11, 18, 18, 37, 47, 36, 67, 77}));
}

TEST(Interpreter, EachCombiner) {
  ExactTensor x = floats({2, 3}, {3, -1, 2, 5, 7, 7});
  std::string input = "input x[2, 3] f32\n";
  auto rows = [&](const std::string &reduction) {
    return compute(input + "y[i:2] f32 = " + reduction + "[k:3] x[i, k]", x).floats;
  };
  EXPECT_EQ(rows("sum<f32>"), (std::vector<double>{4, 19}));
  EXPECT_EQ(rows("prod<f32>"), (std::vector<double>{-6, 245}));
  EXPECT_EQ(rows("max<f32>"), (std::vector<double>{3, 7}));
  EXPECT_EQ(rows("min<f32>"), (std::vector<double>{-1, 5}));
  EXPECT_EQ(rows("sum<i8>"), (std::vector<double>{4, 19}));
  std::string big = input + "y[i:2] bool = ";
  EXPECT_EQ(compute(big + "and<bool>[k:3] 0 < x[i, k]", x).integers, (Numbers{0, 1}));
  EXPECT_EQ(compute(big + "or<bool>[k:3] 5 < x[i, k]", x).integers, (Numbers{0, 1}));
  EXPECT_EQ(compute("y[] u8 = sum<u8>[k:300] 1").integers, (Numbers{44}));
}

TEST(Interpreter, ArgFormsTakeTheFirstAndNaNWins) {
  ExactTensor x = floats({3, 4}, {1, 5, 5, 0, 2, nan, 9, nan, 4, 4, 1, 1});
  std::string input = "input x[3, 4] f32\ny[i:3] i64 = ";
  EXPECT_EQ(compute(input + "argmax<f32>[k:4] (x[i, k], k)", x).integers, (Numbers{1, 1, 0}));
  EXPECT_EQ(compute(input + "argmin<f32>[k:4] (x[i, k], k)", x).integers, (Numbers{3, 1, 2}));
  EXPECT_EQ(compute(input + "argmax<f32>[k:4] (x[i, k], {10-k})", x).integers, (Numbers{9, 9, 10}));
}

TEST(Interpreter, SoftmaxStatistics) {
  ExactTensor x = floats({4, 3}, {1, 2, 2, -inf, -inf, 0, -inf, -inf, -inf, 1, nan, 2});
  Program program = parsed("input x[4, 3] f32\n"
                           "(m[i:4] f32, s[i:4] f32) = softmax_stats<f32>[k:3] x[i, k]\n"
                           "output m\noutput s");
  std::vector<ExactTensor> outputs = evaluated(program, x);
  expectSame(outputs[0], floats({4}, {2, 0, -inf, nan}));
  expectSame(outputs[1], floats({4}, {std::exp(-1.0) + 2, 1, nan, nan}));
}

TEST(Interpreter, EmptyExtents) {
  std::string zero = "input x[0] f32\n";
  ExactTensor none = floats({0}, {});
  EXPECT_EQ(compute(zero + "y[i:0] f32 = x[i]", none).count(), 0);
  EXPECT_EQ(compute(zero + "y[] f32 = sum<f32>[i:0] x[i]", none).floats[0], 0);
  EXPECT_EQ(compute(zero + "y[] f32 = prod<f32>[i:0] x[i]", none).floats[0], 1);
  EXPECT_EQ(compute(zero + "y[] f32 = max<f32>[i:0] x[i]", none).floats[0], -inf);
  EXPECT_EQ(compute(zero + "y[] f32 = min<f32>[i:0] x[i]", none).floats[0], inf);
  EXPECT_EQ(compute("y[] i8 = max<i8>[i:0] 3").integers[0], -128);
  EXPECT_EQ(compute("y[] u8 = min<u8>[i:0] 3").integers[0], 255);
  EXPECT_EQ(compute("y[] bool = and<bool>[i:0] false").integers[0], 1);
  EXPECT_EQ(compute("y[] i64 = argmax<f32>[i:0] (1, 3)").integers[0], 0);
}

TEST(Interpreter, GathersAreChecked) {
  std::string text = "input x[3] f32\ninput t[2] i64\ny[i:2] f32 = x[t[i]]\noutput y";
  Program program = parsed(text);
  ExactTensor x = floats({3}, {10, 20, 30});
  expectSame(evaluated(program, {x, integers(ElementType::I64, {2}, {2, 0})})[0],
             floats({2}, {30, 10}));
  auto outside = evaluate(program, {x, integers(ElementType::I64, {2}, {2, 3})});
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().message, "'y': index 3 is outside dimension 0 of 'x' of shape [3]");
  EXPECT_EQ(outside.error().kind, ErrorKind::Input);
  Program filled = parsed("input x[3] f32\ninput t[2] i64\ny[i:2] f32 = (x[t[i]] | -1)\noutput y");
  expectSame(evaluated(filled, {x, integers(ElementType::I64, {2}, {-1, lowest})})[0],
             floats({2}, {-1, -1}));
}

TEST(Interpreter, OnlyTheChosenSideOfACaseIsRead) {
  EXPECT_EQ(compute("input x[3] f32\ny[i:5] f32 = cases { i < 2: -1; else: x[i-2] }",
                    floats({3}, {10, 20, 30}))
                .floats,
            (std::vector<double>{-1, -1, 10, 20, 30}));
}

TEST(Interpreter, SharedExpressionsAreEvaluatedOnce) {
  // 2^60 evaluations if each use were evaluated anew.
  Program program;
  ValueId x = program.addInput("x", ElementType::F32, {2});
  Expr sum = Expr::read(x, ElementType::F32, {Index::iterator(0)});
  for (int i = 0; i < 60; ++i)
    sum = (sum + sum) * Expr::literal(ElementType::F32, 0.5);
  Definition definition;
  definition.parallel = {{"i", 2}};
  definition.bodies = {sum};
  program.addOutput("y", program.define("y", ElementType::F32, std::move(definition)));
  expectSame(evaluated(program, floats({2}, {3, 4}))[0], floats({2}, {3, 4}));
}

TEST(Interpreter, ScansCarryAndStack) {
  Program program = parsed("input x[4] i64\ninput start[] i64\n"
                           "(last[] i64, all[4] i64) = scan[4] carry(start) capture(x) {\n"
                           "  input step[] i64\n  input total[] i64\n  input x[4] i64\n"
                           "  next[] i64 = total[] + x[step[]]\n"
                           "  output next\n  output next as stacked\n}\n"
                           "output last\noutput all");
  std::vector<ExactTensor> inputs = {integers(ElementType::I64, {4}, {1, 2, 3, 4}),
                                     integers(ElementType::I64, {}, {10})};
  std::vector<ExactTensor> outputs = evaluated(program, inputs);
  expectSame(outputs[0], integers(ElementType::I64, {}, {20}));
  expectSame(outputs[1], integers(ElementType::I64, {4}, {11, 13, 16, 20}));
}

TEST(Interpreter, AScanOfNoStepsGivesItsFirstValues) {
  Program program = parsed("input h[2] f32\n"
                           "(last[2] f32, all[0, 2] f32) = scan[0] carry(h) capture() {\n"
                           "  input step[] i64\n  input h[2] f32\n  output h\n"
                           "  output h as stacked\n}\noutput last\noutput all");
  std::vector<ExactTensor> outputs = evaluated(program, floats({2}, {1, 2}));
  expectSame(outputs[0], floats({2}, {1, 2}));
  EXPECT_EQ(outputs[1].count(), 0);
}

TEST(Interpreter, DataEndAScanAheadOfAStep) {
  Program program = parsed("input go[] bool\ninput most[] i64\ninput zero[] i64\n"
                           "(went[] bool, last[] i64, all[4] i64) =\n"
                           "  scan[4] while true carry(go, zero) capture(most) {\n"
                           "  input step[] i64\n  input goes[] bool\n  input n[] i64\n"
                           "  input most[] i64\n  next[] i64 = n[] + 5\n"
                           "  on[] bool = next[] < most[]\n"
                           "  output on\n  output next\n  output next as stacked\n}\n"
                           "output went\noutput last\noutput all");
  auto lastOf = [&](int64_t go, int64_t most) {
    std::vector<ExactTensor> outputs = evaluated(program, {integers(ElementType::Bool, {}, {go}),
                                                           integers(ElementType::I64, {}, {most}),
                                                           integers(ElementType::I64, {}, {0})});
    EXPECT_EQ(outputs[0].integers[0], outputs[1].integers[0] < most && go);
    return outputs[1].integers[0];
  };
  EXPECT_EQ(lastOf(1, 8), 10);
  EXPECT_EQ(lastOf(1, 0), 5);
  EXPECT_EQ(lastOf(1, 99), 20);
  EXPECT_EQ(lastOf(0, 99), 0);
}

TEST(Interpreter, CallsRunTheirReferenceBody) {
  Program program = parsed("input x[4] f32\n"
                           "(v[2] f32, at[2] i64) = call TopK(x) {\"k\":2, \"axis\":0}\n"
                           "output v\noutput at");
  std::vector<ExactTensor> outputs = evaluated(program, floats({4}, {1, 9, 3, 7}));
  ASSERT_EQ(outputs.size(), 2u);
  expectSame(outputs[0], floats({2}, {9, 7}));
  expectSame(outputs[1], integers(ElementType::I64, {2}, {1, 3}));
}

TEST(Interpreter, ErrorsOfWhatIsGiven) {
  Program program = parsed("input x[3] f32\noutput x");
  EXPECT_EQ(evaluate(program, {}).error().message, "0 inputs are given; the program has 1");
  EXPECT_EQ(evaluate(program, floats({4}, {1, 2, 3, 4})).error().message,
            "input 'x' is given as f32[4]; the program takes f32[3]");
  Program large = parsed("y[i:100000, j:100000] f32 = 1\noutput y");
  auto tooLarge = evaluate(large, {});
  ASSERT_FALSE(tooLarge.ok());
  EXPECT_EQ(tooLarge.error().kind, ErrorKind::Machine);
  Program strings = parsed("const s[1] str = weights(\"s\")\noutput s");
  EXPECT_FALSE(evaluate(strings, {}).ok());
}

TEST(Interpreter, StopsWhenAsked) {
  Program program = parsed("y[] f32 = sum<f32>[i:1000000, j:1000000] 1\noutput y");
  CancelToken cancel;
  cancel.cancel();
  EXPECT_FALSE(evaluate(program, {}, cancel).ok());
}

} // namespace
} // namespace kintsugi::te
