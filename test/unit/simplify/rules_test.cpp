// Every rule of simplify/rules.h, evaluated: random expressions are made until each rule has
// applied often, and both sides must agree on ordinary and on extreme numbers.

#include "simplify/facts.h"
#include "simplify/rules.h"

#include "random_expr.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

namespace kintsugi::simplify {
namespace {

using namespace te;

/// What sides may differ by, in units of the last place of the greater of the result and `scale`.
struct Rounding {
  double places = 0, scale = 0;
};

Rounding roundingOf(llvm::StringRef rule) {
  if (rule == "pow(x, 2) = x * x")
    return {2, 0}; // Rounds once more than pow does.
  if (rule == "pow(x, k/4) by square roots")
    return {4, 0};
  if (rule == "tanh(softplus(x)) by one exponential")
    return {4, 1}; // The logarithm of 1 + a little forgets what the exponential keeps.
  return {};
}

bool agree(double a, double b, Rounding rounding) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (rounding.places == 0 || std::isinf(a) || std::isinf(b))
    return a == b && std::signbit(a) == std::signbit(b);
  double unit = std::numeric_limits<double>::epsilon() * std::max(std::abs(a), rounding.scale);
  return std::abs(a - b) <= rounding.places * unit ||
         std::abs(a - b) <= 2 * std::numeric_limits<double>::denorm_min();
}

class Rules : public testing::TestWithParam<size_t> {};

TEST_P(Rules, BothSidesAreEqualForEveryValue) {
  const Rule &rule = scalarRules()[GetParam()];
  ExprMaker maker(GetParam() + 1);
  auto facts = [&](const Expr &e) { return factsOf(e, maker.program); };
  std::vector<std::pair<Expr, Expr>> sides;
  for (int tries = 0; tries < 40000 && sides.size() < 150; ++tries) {
    Expr whole = maker.expr(maker.type(), 3);
    whole.walk([&](const Expr &e) {
      if (std::optional<Expr> other = rule.apply(e, facts))
        sides.push_back({e, *other});
    });
  }
  ASSERT_GE(sides.size(), 20u) << rule.name << " hardly ever applies";
  for (auto &[left, right] : sides) {
    ASSERT_EQ(left.type(), right.type()) << rule.name;
    maker.addOutput(left);
    maker.addOutput(right);
  }
  ASSERT_TRUE(maker.program.verify().ok()) << maker.program.verify().error().message;
  std::vector<ExactTensor> values = evaluated(maker.program, maker.inputs());
  ASSERT_EQ(values.size(), 2 * sides.size());
  for (size_t k = 0; k < sides.size(); ++k) {
    const ExactTensor &left = values[2 * k], &right = values[2 * k + 1];
    EXPECT_EQ(left.integers, right.integers) << rule.name << "\n" << maker.show(2 * k);
    for (size_t i = 0; i < left.floats.size(); ++i)
      ASSERT_TRUE(agree(left.floats[i], right.floats[i], roundingOf(rule.name)))
          << rule.name << ": " << left.floats[i] << " is not " << right.floats[i] << "\n"
          << maker.show(2 * k) << "\n"
          << maker.show(2 * k + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rules, testing::Range<size_t>(0, scalarRules().size()));

TEST(Rules, TogetherTheyEndAndKeepTheValue) {
  ExprMaker maker(99);
  auto facts = [&](const Expr &e) { return factsOf(e, maker.program); };
  std::vector<std::pair<Expr, Expr>> sides;
  for (int k = 0; k < 400; ++k) {
    Expr whole = maker.expr(maker.type(), 5);
    Expr better = applyRules(whole, facts);
    EXPECT_TRUE(applyRules(better, facts) == better) << "a second time finds more";
    maker.addOutput(whole);
    maker.addOutput(better);
  }
  std::vector<ExactTensor> values = evaluated(maker.program, maker.inputs());
  for (size_t k = 0; k < values.size(); k += 2) {
    // What rounds differently may stand below an operation that enlarges the difference.
    if (maker.show(k).find("pow") != std::string::npos ||
        maker.show(k).find("tanh(max(") != std::string::npos)
      continue;
    EXPECT_EQ(values[k].integers, values[k + 1].integers) << maker.show(k);
    for (size_t i = 0; i < values[k].floats.size(); ++i)
      ASSERT_TRUE(agree(values[k].floats[i], values[k + 1].floats[i], {})) << maker.show(k) << "\n"
                                                                           << maker.show(k + 1);
  }
}

/// Whether a number is what the facts say of all of them.
void expectTrue(const Facts &facts, double value, const std::string &where) {
  if (std::isnan(value)) {
    EXPECT_FALSE(facts.neverNaN) << where << " is NaN";
    EXPECT_FALSE(facts.finite) << where << " is NaN";
    return;
  }
  EXPECT_TRUE(std::isfinite(value) || !facts.finite) << where << " is infinite";
  EXPECT_TRUE(!facts.low || *facts.low <= value) << where << " is " << value;
  EXPECT_TRUE(!facts.high || *facts.high >= value) << where << " is " << value;
}

TEST(Facts, AreTrueOfEveryElement) {
  unsigned said = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    ExprMaker maker(1000 + seed);
    std::vector<Facts> facts;
    for (int k = 0; k < 300; ++k) {
      Expr e = maker.expr(maker.type(), 4);
      facts.push_back(factsOf(e, maker.program));
      said += isFloat(e.type()) && facts.back() != Facts();
      maker.addOutput(e);
    }
    std::vector<ExactTensor> values = evaluated(maker.program, maker.inputs());
    for (auto [k, tensor] : llvm::enumerate(values)) {
      // Rounded, as it would be stored: what overflows there is not finite.
      for (double x : tensor.floats)
        expectTrue(facts[k], Expr::literal(tensor.type, x).literalFloat(), maker.show(k));
      for (int64_t x : tensor.integers)
        expectTrue(facts[k], static_cast<double>(x), maker.show(k));
    }
  }
  EXPECT_GT(said, 300u);
}

TEST(Facts, OfDefinitionsAreTrue) {
  for (Combiner combiner : {Combiner::Sum, Combiner::Max, Combiner::Min, Combiner::Prod,
                            Combiner::ArgMax, Combiner::ArgMin}) {
    ExprMaker maker(7 + static_cast<int>(combiner));
    for (int k = 0; k < 120; ++k) {
      ElementType type = k % 2 ? ElementType::F64 : ElementType::I32;
      Definition definition;
      definition.reduction = Reduction{combiner, type, {{"i", ExprMaker::points}}};
      definition.bodies = {maker.expr(type, 2)};
      ElementType result = k % 3 ? type : ElementType::F16;
      if (bodiesOf(combiner) == 2)
        definition.bodies.push_back(maker.expr(result = ElementType::F64, 2));
      maker.program.addOutput("r" + std::to_string(k),
                              maker.program.define("r", result, std::move(definition)));
    }
    std::vector<ExactTensor> values = evaluated(maker.program, maker.inputs());
    for (auto [output, tensor] : llvm::zip(maker.program.outputs, values)) {
      Facts facts = factsOf(*maker.program.definitionOf(output.value), maker.program);
      for (double x : tensor.floats)
        expectTrue(facts, Expr::literal(tensor.type, x).literalFloat(), output.name);
    }
  }
}

TEST(Facts, WhatIsNarrowOverflows) {
  Program program = parsed("input n[4] i32\n"
                           "a[i:4] f16 = f16(n[i])\n"
                           "b[i:4] f16 = exp(tanh(f16(n[i])) * 60)\n"
                           "output a\noutput b");
  for (const char *name : {"a", "b"})
    for (const Value &value : program.values)
      if (value.name == name)
        EXPECT_FALSE(factsOf(std::get<Definition>(program.nodes[value.node]), program).finite);
}

} // namespace
} // namespace kintsugi::simplify
