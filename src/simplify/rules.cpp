#include "simplify/rules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::simplify {

using namespace te;

namespace {

bool isBinary(const Expr &e, BinaryOp op) {
  return e.kind() == ExprKind::Binary && e.binaryOp() == op;
}
bool isUnary(const Expr &e, UnaryOp op) { return e.kind() == ExprKind::Unary && e.unaryOp() == op; }
bool isNumber(const Expr &e, double value) {
  return e.isLiteral() && e.type() != ElementType::Bool && e.literalFloat() == value &&
         !(isFloat(e.type()) && value == 0 && std::signbit(e.literalFloat()));
}
bool isFalse(const Expr &e) { return e.isLiteral() && !e.literalInteger(); }
bool isTrue(const Expr &e) { return e.isLiteral() && e.literalInteger(); }

/// x - 0 is x; x + 0 is not where x is -0.0, so only for integers.
std::optional<Expr> addZero(const Expr &e, FactsOf) {
  if (isBinary(e, BinaryOp::Sub) && isNumber(e.operand(1), 0))
    return e.operand(0);
  if (isBinary(e, BinaryOp::Add) && !isFloat(e.type())) {
    if (isNumber(e.operand(1), 0))
      return e.operand(0);
    if (isNumber(e.operand(0), 0))
      return e.operand(1);
  }
  return std::nullopt;
}

std::optional<Expr> timesOne(const Expr &e, FactsOf) {
  if ((isBinary(e, BinaryOp::Mul) || isBinary(e, BinaryOp::Div)) && isNumber(e.operand(1), 1))
    return e.operand(0);
  if (isBinary(e, BinaryOp::Mul) && isNumber(e.operand(0), 1))
    return e.operand(1);
  return std::nullopt;
}

std::optional<Expr> doubleNegation(const Expr &e, FactsOf) {
  for (UnaryOp op : {UnaryOp::Neg, UnaryOp::Not})
    if (isUnary(e, op) && isUnary(e.operand(0), op))
      return e.operand(0).operand(0);
  return std::nullopt;
}

std::optional<Expr> selectKnown(const Expr &e, FactsOf) {
  if (e.kind() != ExprKind::Select)
    return std::nullopt;
  if (isTrue(e.operand(0)))
    return e.operand(1);
  if (isFalse(e.operand(0)))
    return e.operand(2);
  if (e.operand(1) == e.operand(2))
    return e.operand(1);
  return std::nullopt;
}

std::optional<Expr> logicKnown(const Expr &e, FactsOf) {
  if (e.kind() != ExprKind::Binary || e.type() != ElementType::Bool ||
      e.operand(0).type() != ElementType::Bool)
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    const Expr &known = e.operand(side), &other = e.operand(1 - side);
    if (e.binaryOp() == BinaryOp::And && known.isLiteral())
      return isTrue(known) ? other : known;
    if (e.binaryOp() == BinaryOp::Or && known.isLiteral())
      return isTrue(known) ? known : other;
  }
  return std::nullopt;
}

std::optional<Expr> notKnown(const Expr &e, FactsOf) {
  if (isUnary(e, UnaryOp::Not) && e.type() == ElementType::Bool && e.operand(0).isLiteral())
    return Expr::boolean(isFalse(e.operand(0)));
  return std::nullopt;
}

std::optional<Expr> maxOfSame(const Expr &e, FactsOf) {
  if ((isBinary(e, BinaryOp::Max) || isBinary(e, BinaryOp::Min)) && e.operand(0) == e.operand(1))
    return e.operand(0);
  return std::nullopt;
}

/// Small whole powers by multiplication: as exact as pow's own rounding allows, and defined alike
/// for every operand.
std::optional<Expr> smallPower(const Expr &e, FactsOf) {
  if (!isBinary(e, BinaryOp::Pow) || !isFloat(e.type()))
    return std::nullopt;
  const Expr &x = e.operand(0);
  if (isNumber(e.operand(1), 1))
    return x;
  if (isNumber(e.operand(1), 2))
    return x * x;
  if (isNumber(e.operand(1), 3))
    return x * x * x;
  return std::nullopt;
}

/// Powers of halves and quarters by square roots, which are as pow is but for what has a sign:
/// minus zero becomes zero first, and of minus infinity pow has a power.
std::optional<Expr> powerOfQuarters(const Expr &e, FactsOf factsOf) {
  bool isPower = isBinary(e, BinaryOp::Pow) &&
                 (e.type() == ElementType::F32 || e.type() == ElementType::F64) &&
                 e.operand(1).isLiteral();
  double exponent = isPower ? e.operand(1).literalFloat() : 0;
  if (!llvm::is_contained({-0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.5}, exponent))
    return std::nullopt;
  auto number = [&](double value) { return Expr::literal(e.type(), value); };
  auto root = [](const Expr &x) { return Expr::unary(UnaryOp::Sqrt, x); };
  const Expr &x = e.operand(0);
  Expr positive = x + number(0), half = root(positive), power = half;
  if (std::abs(exponent) == 0.25)
    power = root(half);
  else if (std::abs(exponent) == 0.75)
    power = half * root(half);
  else if (exponent == 1.5)
    power = positive * half;
  if (exponent < 0)
    power = number(1) / power;
  if (std::optional<double> low = factsOf(x).low; low && *low >= 0)
    return power;
  Expr isInfinite = Expr::binary(BinaryOp::Equal, x, number(-INFINITY));
  return Expr::select(isInfinite, number(exponent < 0 ? 0.0 : INFINITY), power);
}

/// Division by a power of two is multiplication by its exact reciprocal.
std::optional<Expr> divideByPowerOfTwo(const Expr &e, FactsOf) {
  if (!isBinary(e, BinaryOp::Div) || !isFloat(e.type()) || !e.operand(1).isLiteral())
    return std::nullopt;
  int exponent;
  double divisor = e.operand(1).literalFloat();
  if (std::abs(std::frexp(divisor, &exponent)) != 0.5 || std::abs(exponent) > 8)
    return std::nullopt;
  return e.operand(0) * Expr::literal(e.type(), 1 / divisor);
}

std::optional<Expr> neverNaN(const Expr &e, FactsOf factsOf) {
  if (isUnary(e, UnaryOp::IsNaN) && factsOf(e.operand(0)).neverNaN)
    return Expr::boolean(false);
  return std::nullopt;
}

std::optional<Expr> neverInfinite(const Expr &e, FactsOf factsOf) {
  if (isUnary(e, UnaryOp::IsInf) && factsOf(e.operand(0)).finite)
    return Expr::boolean(false);
  return std::nullopt;
}

/// A conversion to a type that holds every value of the first, and back.
std::optional<Expr> castThereAndBack(const Expr &e, FactsOf) {
  if (e.kind() != ExprKind::Cast || e.operand(0).kind() != ExprKind::Cast)
    return std::nullopt;
  const Expr &inner = e.operand(0).operand(0);
  if (inner.type() != e.type())
    return std::nullopt;
  ElementType through = e.operand(0).type();
  bool holds =
      (isFloat(inner.type()) && isFloat(through) &&
       (through == ElementType::F64 ||
        (through == ElementType::F32 && bitsOf(inner.type()) <= 16))) ||
      (isInteger(inner.type()) && through == ElementType::I64 && bitsOf(inner.type()) < 64);
  return holds ? std::optional<Expr>(inner) : std::nullopt;
}

/// x of log(1 + exp(x)) as it is written without overflow: max(x, 0) + log(1 + exp(-|x|)).
std::optional<Expr> operandOfSoftplus(const Expr &e) {
  if (!isBinary(e, BinaryOp::Add) || !isBinary(e.operand(0), BinaryOp::Max) ||
      !isUnary(e.operand(1), UnaryOp::Log))
    return std::nullopt;
  const Expr &x = e.operand(0).operand(0), &sum = e.operand(1).operand(0);
  if (!isNumber(e.operand(0).operand(1), 0) || !isBinary(sum, BinaryOp::Add) ||
      !isNumber(sum.operand(0), 1))
    return std::nullopt;
  Expr tail = Expr::unary(UnaryOp::Exp, -Expr::unary(UnaryOp::Abs, x));
  return sum.operand(1) == tail ? std::optional(x) : std::nullopt;
}

/// tanh(log(1 + t)) = n / (n + 2) with n = t (t + 2) and t = exp(x). From x = 20 on it is 1 up to
/// 1e-17, and below there n is far from overflow. Nothing cancels.
std::optional<Expr> tanhOfSoftplus(const Expr &e, FactsOf) {
  if (!isUnary(e, UnaryOp::Tanh) || (e.type() != ElementType::F32 && e.type() != ElementType::F64))
    return std::nullopt;
  std::optional<Expr> x = operandOfSoftplus(e.operand(0));
  if (!x)
    return std::nullopt;
  Expr two = Expr::literal(e.type(), 2.0);
  Expr t =
      Expr::unary(UnaryOp::Exp, Expr::binary(BinaryOp::Min, *x, Expr::literal(e.type(), 20.0)));
  Expr n = t * (t + two);
  return n / (n + two);
}

} // namespace

llvm::ArrayRef<Rule> scalarRules() {
  static const Rule rules[] = {
      {"x + 0 = x", addZero},
      {"x * 1 = x", timesOne},
      {"--x = x", doubleNegation},
      {"select on a known condition", selectKnown},
      {"and, or with a known operand", logicKnown},
      {"not of a known operand", notKnown},
      {"max(x, x) = x", maxOfSame},
      {"pow(x, 2) = x * x", smallPower},
      {"pow(x, k/4) by square roots", powerOfQuarters},
      {"x / 2^k = x * 2^-k", divideByPowerOfTwo},
      {"isnan(x) = false where x is never NaN", neverNaN},
      {"isinf(x) = false where x is finite", neverInfinite},
      {"a cast there and back", castThereAndBack},
      {"tanh(softplus(x)) by one exponential", tanhOfSoftplus},
  };
  return rules;
}

Expr applyRules(const Expr &expr, FactsOf factsOf, RuleApplied applied) {
  return rewrite(expr, [&](const Expr &node) {
    Expr current = node;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto [number, rule] : llvm::enumerate(scalarRules()))
        if (std::optional<Expr> better = rule.apply(current, factsOf)) {
          current = *better;
          changed = true;
          if (applied)
            applied(number);
        }
    }
    return current;
  });
}

} // namespace kintsugi::simplify
