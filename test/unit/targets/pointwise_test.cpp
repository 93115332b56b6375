#include "kernel_runner.h"
#include "nests.h"
#include "te/scalar.h"
#include "gtest/gtest.h"

#include <cmath>

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;
using loops::RegisterTile;

/// y[i, j] = op(x[i, j]) in vectors along j.
static ScheduleMaker unaryKernel(UnaryOp op, ElementType type, int64_t count, unsigned lanes) {
  ScheduleMaker maker;
  unsigned x = maker.buffer(type, count), y = maker.buffer(type, count, true);
  LoopNest &nest = maker.map({count}, y, it(0), Expr::unary(op, maker.read(x, it(0))));
  if (lanes > 1)
    nest.registers = {0, lanes, 1, -1, 1, 0};
  return maker;
}

/// The greatest error against `exact`, in units in the last place of f32.
static double worstUlps(UnaryOp op, double (*exact)(double), double low, double high) {
  double worst = 0;
  for (const std::string &level : hostLevels()) {
    Operands memory = {numbers(20000, low, high), {}};
    ScheduleMaker maker = unaryKernel(op, ElementType::F32, memory[0].size(), 16);
    EXPECT_EQ(runKernel(maker.schedule, level, memory), "");
    for (size_t i = 0; i < memory[0].size(); ++i) {
      double want = exact(static_cast<float>(memory[0][i]));
      float near = std::abs(static_cast<float>(want));
      double ulp = std::nextafter(near, INFINITY) - near;
      worst = std::max(worst, std::abs(memory[1][i] - want) / ulp);
    }
  }
  return worst;
}

TEST(Pointwise, FunctionsInLineAreAccurate) {
  EXPECT_LT(worstUlps(UnaryOp::Exp, std::exp, -87, 88.5), 2);
  EXPECT_LT(worstUlps(UnaryOp::Exp, std::exp, -1, 1), 2);
  EXPECT_LT(worstUlps(UnaryOp::Log, std::log, 1e-30, 1e3), 2);
  EXPECT_LT(worstUlps(UnaryOp::Log, std::log, 0.5, 2), 2);
  EXPECT_LT(worstUlps(UnaryOp::Tanh, std::tanh, -10, 10), 6);
  EXPECT_LT(worstUlps(UnaryOp::Tanh, std::tanh, -0.7, 0.7), 6);
  EXPECT_LT(worstUlps(UnaryOp::Erf, std::erf, -4, 4), 6);
  EXPECT_LT(worstUlps(UnaryOp::Erf, std::erf, -1, 1), 6);
  EXPECT_LT(worstUlps(UnaryOp::Sin, std::sin, -100, 100), 1);
}

/// Scalar code and vectors, at each level that this machine runs.
static std::vector<std::pair<unsigned, std::string>> lanesAndLevels() {
  std::vector<std::pair<unsigned, std::string>> pairs;
  for (const std::string &level : hostLevels())
    for (unsigned lanes : {1, 4, 8, 16})
      pairs.emplace_back(lanes, level);
  return pairs;
}

TEST(Pointwise, SpecialValues) {
  std::vector<double> special = {0,   -0.0, INFINITY, -INFINITY, NAN,  1e-42, -1e-42, 1,
                                 -1,  200,  -200,     88.8,      -104, 1e38,  -1e38,  0.5,
                                 2.5, -2.5, 3.5,      1e-30,     7,    3e-39, 9.5,    0.25};
  for (UnaryOp op :
       {UnaryOp::Exp, UnaryOp::Log, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sqrt, UnaryOp::Round,
        UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Sign, UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Sinh,
        UnaryOp::Atan, UnaryOp::Acosh, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Tan})
    for (auto [lanes, level] : lanesAndLevels()) {
      Operands got = {special, {}};
      ASSERT_EQ(
          runKernel(unaryKernel(op, ElementType::F32, special.size(), lanes).schedule, level, got),
          "");
      for (size_t i = 0; i < special.size(); ++i) {
        double want = static_cast<float>(applyUnary(op, static_cast<float>(special[i])));
        bool same = got[1][i] == want || (std::isnan(got[1][i]) && std::isnan(want)) ||
                    std::abs(got[1][i] - want) <= 3e-7 * std::abs(want) + 3e-45;
        EXPECT_TRUE(same) << nameOf(op) << "(" << special[i] << ") is " << got[1][i] << ", not "
                          << want;
      }
    }
}

TEST(Pointwise, PowersOfSpecialValues) {
  const std::vector<double> special = {
      0,  -0.0,  INFINITY, -INFINITY, NAN,  1,  -1,    2,   -2,   0.5, -0.5, 3,
      -3, 1e-42, 1e38,     -1e38,     0.75, -7, 1e-30, 2.5, -2.5, 127, -149, 0.9999999};
  std::vector<double> bases, exponents;
  for (double base : special)
    for (double exponent : special)
      bases.push_back(static_cast<float>(base)), exponents.push_back(static_cast<float>(exponent));
  for (auto [lanes, level] : lanesAndLevels()) {
    ScheduleMaker maker;
    int64_t count = bases.size();
    unsigned a = maker.buffer(ElementType::F32, count), b = maker.buffer(ElementType::F32, count);
    unsigned c = maker.buffer(ElementType::F32, count, true);
    maker
        .map({count}, c, it(0),
             Expr::binary(BinaryOp::Pow, maker.read(a, it(0)), maker.read(b, it(0))))
        .registers = {lanes > 1 ? 0 : -1, lanes, 1, -1, 1, 0};
    Operands got = {bases, exponents, {}};
    ASSERT_EQ(runKernel(maker.schedule, level, got), "");
    for (int64_t i = 0; i < count; ++i) {
      double want = static_cast<float>(std::pow(bases[i], exponents[i]));
      bool same = (got[2][i] == want && std::signbit(got[2][i]) == std::signbit(want)) ||
                  (std::isnan(got[2][i]) && std::isnan(want)) ||
                  std::abs(got[2][i] - want) <= 1.2e-7 * std::abs(want);
      EXPECT_TRUE(same) << bases[i] << "^" << exponents[i] << " is " << got[2][i] << ", not "
                        << want << " in " << lanes << " lanes";
    }
  }
}

/// Past what vectors take, too.
TEST(Pointwise, SinesOfLargeNumbers) {
  EXPECT_LT(worstUlps(UnaryOp::Sin, std::sin, -1e9, 1e9), 1);
  EXPECT_LT(worstUlps(UnaryOp::Cos, std::cos, 1e13, 2e14), 1);
  EXPECT_LT(worstUlps(UnaryOp::Tan, std::tan, -1e14, 1e14), 1);
  EXPECT_LT(worstUlps(UnaryOp::Sin, std::sin, -1e20, 1e20), 1);
}

TEST(Pointwise, ExponentialsHaveTheSameBitsInAllVectors) {
  std::vector<double> values = numbers(6000, -120, 100);
  const double special[] = {INFINITY, -INFINITY, NAN,   0,         -0.0,      88.72283, 88.72284,
                            89,       1e38,      -1e38, -87.33654, -87.33655, -87.3366, 1e-42};
  values.insert(values.end(), std::begin(special), std::end(special));
  std::vector<double> scalars;
  for (auto [lanes, level] : lanesAndLevels()) {
    Operands memory = {values, {}};
    ScheduleMaker maker = unaryKernel(UnaryOp::Exp, ElementType::F32, values.size(), lanes);
    ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
    if (scalars.empty())
      scalars = memory[1];
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_TRUE(memory[1][i] == scalars[i] || (std::isnan(values[i]) && std::isnan(memory[1][i])))
          << lanes << " lanes: exp(" << values[i] << ") is " << memory[1][i] << ", not "
          << scalars[i];
  }
}

/// A few units in the last place.
static double toleranceOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 4e-16;
  case ElementType::F16:
    return 1e-3;
  case ElementType::BF16:
    return 8e-3;
  default:
    return 3e-7;
  }
}

constexpr ElementType floats[] = {ElementType::F32, ElementType::F64, ElementType::F16,
                                  ElementType::BF16};

TEST(Pointwise, EveryUnaryOperationInEveryFloat) {
  for (ElementType type : floats)
    for (int op = 0; op <= static_cast<int>(UnaryOp::Erf); ++op)
      for (unsigned lanes : {1, 4, 16}) {
        ScheduleMaker maker = unaryKernel(static_cast<UnaryOp>(op), type, 35, lanes);
        Operands memory = {numbers(35, 0.1, 0.9), {}};
        if (static_cast<UnaryOp>(op) == UnaryOp::Acosh)
          memory[0] = numbers(35, 1, 9);
        EXPECT_EQ(compareKernel(maker.schedule, memory, toleranceOf(type)), "")
            << nameOf(static_cast<UnaryOp>(op)) << " of " << nameOf(type);
      }
}

static Expr binaryBody(const ScheduleMaker &maker, BinaryOp op, unsigned a, unsigned b) {
  return Expr::binary(op, maker.read(a, it(0)), maker.read(b, it(0)));
}

TEST(Pointwise, EveryFloatOperation) {
  for (ElementType type : floats)
    for (BinaryOp op : {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem,
                        BinaryOp::Mod, BinaryOp::Pow, BinaryOp::Max, BinaryOp::Min})
      for (unsigned lanes : {1, 8}) {
        ScheduleMaker maker;
        unsigned a = maker.buffer(type, 43), b = maker.buffer(type, 43);
        unsigned c = maker.buffer(type, 43, true);
        LoopNest &nest = maker.map({43}, c, it(0), binaryBody(maker, op, a, b));
        nest.registers = {0, lanes, 1, -1, 1, 0};
        Operands memory = {numbers(43, op == BinaryOp::Pow ? 0 : -9, 9), numbers(43, -3, 3), {}};
        std::reverse(memory[1].begin(), memory[1].end());
        memory[0][7] = memory[1][9] = NAN;
        EXPECT_EQ(compareKernel(maker.schedule, memory, toleranceOf(type)), "")
            << nameOf(op) << " of " << nameOf(type);
      }
}

TEST(Pointwise, EveryIntegerOperation) {
  std::vector<double> left, right;
  for (double a : {-128, -127, -7, -1, 0, 1, 2, 5, 100, 127})
    for (double b : {-128, -9, -2, -1, 0, 1, 3, 7, 8, 127})
      left.push_back(a), right.push_back(b);
  for (ElementType type : {ElementType::I8, ElementType::U8, ElementType::I32, ElementType::I64,
                           ElementType::U64, ElementType::I16})
    for (BinaryOp op : {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem,
                        BinaryOp::Mod, BinaryOp::Pow, BinaryOp::Max, BinaryOp::Min, BinaryOp::And,
                        BinaryOp::Or, BinaryOp::Xor, BinaryOp::ShiftLeft, BinaryOp::ShiftRight}) {
      bool isShift = op == BinaryOp::ShiftLeft || op == BinaryOp::ShiftRight;
      if (isShift && isSigned(type))
        continue;
      for (unsigned lanes : {1, 16}) {
        ScheduleMaker maker;
        int64_t count = left.size();
        unsigned a = maker.buffer(type, count), b = maker.buffer(type, count);
        unsigned c = maker.buffer(type, count, true);
        LoopNest &nest = maker.map({count}, c, it(0), binaryBody(maker, op, a, b));
        nest.registers = {0, lanes, 1, -1, 1, 0};
        Operands memory = {left, right, {}};
        if (!isSigned(type))
          for (auto &operand : memory)
            for (double &value : operand)
              value = std::abs(value);
        EXPECT_EQ(compareKernel(maker.schedule, memory, 0), "")
            << nameOf(op) << " of " << nameOf(type) << " in " << lanes << " lanes";
      }
    }
}

TEST(Pointwise, ComparisonsAndBooleans) {
  for (ElementType type : {ElementType::F32, ElementType::I64, ElementType::U8, ElementType::Bool,
                           ElementType::F16, ElementType::BF16})
    for (BinaryOp op : {BinaryOp::Less, BinaryOp::LessEqual, BinaryOp::Equal, BinaryOp::NotEqual}) {
      ScheduleMaker maker;
      unsigned a = maker.buffer(type, 50), b = maker.buffer(type, 50);
      unsigned c = maker.buffer(ElementType::Bool, 50, true);
      Expr compared = binaryBody(maker, op, a, b);
      Expr body = Expr::binary(
          BinaryOp::Xor, compared,
          Expr::unary(UnaryOp::Not, Expr::binary(BinaryOp::And, compared, Expr::boolean(true))));
      maker.map({50}, c, it(0), Expr::select(body, compared, Expr::boolean(false))).registers = {
          0, 16, 1, -1, 1, 0};
      bool isBoolean = type == ElementType::Bool;
      Operands memory = {
          numbers(50, 0, isBoolean ? 2 : 5, true), numbers(50, 0, isBoolean ? 2 : 5, true), {}};
      std::reverse(memory[1].begin(), memory[1].end());
      if (isFloat(type))
        memory[0][3] = NAN;
      EXPECT_EQ(compareKernel(maker.schedule, memory, 0), "") << nameOf(op);
    }
}

TEST(Pointwise, Conversions) {
  std::vector<double> values = {0,        0.5,       -0.5,  1.5,   -1.5,         127.4,
                                128,      -128.7,    255.5, 256,   -1,           3e9,
                                -3e9,     5e9,       1e19,  -1e19, 1e30,         NAN,
                                INFINITY, -INFINITY, 65504, 70000, 2147483520.0, 4294967040.0};
  for (ElementType from : {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16})
    for (ElementType to : {ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16,
                           ElementType::I32, ElementType::U32, ElementType::I64, ElementType::Bool,
                           ElementType::F32, ElementType::F16, ElementType::BF16, ElementType::F64})
      for (auto [lanes, level] : lanesAndLevels()) {
        ScheduleMaker maker;
        int64_t count = values.size();
        unsigned x = maker.buffer(from, count), y = maker.buffer(to, count, true);
        maker.map({count}, y, it(0), Expr::cast(to, maker.read(x, it(0)))).registers = {
            0, lanes, 1, -1, 1, 0};
        Operands got = {values, {}};
        ASSERT_EQ(runKernel(maker.schedule, level, got), "");
        for (int64_t i = 0; i < count; ++i) {
          double rounded = asDouble(from, numberOf(from, values[i]));
          double want = asDouble(to, numberOf(to, rounded));
          EXPECT_TRUE(got[1][i] == want || (std::isnan(want) && std::isnan(got[1][i])))
              << nameOf(from) << " " << rounded << " to " << nameOf(to) << " is " << got[1][i]
              << ", not " << want;
        }
      }
}

/// Half of a half is rounded once per operation.
TEST(Pointwise, HalvesRoundEachOperation) {
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (auto [lanes, level] : lanesAndLevels()) {
      ScheduleMaker maker;
      unsigned x = maker.buffer(type, 40), y = maker.buffer(type, 40);
      unsigned z = maker.buffer(type, 40, true);
      Expr a = maker.read(x, it(0)), b = maker.read(y, it(0));
      maker.map({40}, z, it(0), (a + b) * a).registers = {0, lanes, 1, -1, 1, 0};
      Operands memory = {numbers(40), numbers(40, 2, 9), {}};
      ASSERT_EQ(runKernel(maker.schedule, level, memory), "");
      auto rounded = [&](double value) { return numberOf(type, value).real; };
      for (int i = 0; i < 40; ++i) {
        double p = rounded(numbers(40)[i]), q = rounded(numbers(40, 2, 9)[i]);
        EXPECT_EQ(memory[2][i], rounded(rounded(p + q) * p));
      }
    }
}

} // namespace kintsugi::test
