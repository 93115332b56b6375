#include "simplify/facts.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::simplify {

using namespace te;

namespace {

Facts exactly(double value) {
  Facts facts;
  facts.neverNaN = !std::isnan(value);
  facts.finite = std::isfinite(value);
  if (facts.neverNaN)
    facts.low = facts.high = value;
  return facts;
}

Facts ofType(ElementType type) {
  Facts facts;
  facts.neverNaN = facts.finite = !isFloat(type);
  if (type == ElementType::Bool) {
    facts.low = 0;
    facts.high = 1;
  }
  return facts;
}

Facts within(double low, double high, const Facts &operand) {
  Facts facts;
  facts.low = low;
  facts.high = high;
  facts.neverNaN = operand.neverNaN;
  facts.finite = operand.neverNaN;
  return facts;
}

/// What holds whichever of the two it is.
Facts either(const Facts &a, const Facts &b) {
  Facts facts;
  if (a.low && b.low)
    facts.low = std::min(*a.low, *b.low);
  if (a.high && b.high)
    facts.high = std::max(*a.high, *b.high);
  facts.neverNaN = a.neverNaN && b.neverNaN;
  facts.finite = a.finite && b.finite;
  return facts;
}

/// The greatest x whose exponential is finite in a type, rounded down; none where that is not
/// known.
std::optional<double> expLimit(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::F32:
  case ElementType::BF16:
    return 80;
  case ElementType::F16:
    return 11;
  default:
    return std::nullopt;
  }
}

/// A conversion to a float type. Rounding is monotone, so rounded bounds stay bounds; but what is
/// finite in one type may be an infinity in the next.
Facts ofCastToFloat(ElementType type, const Facts &operand) {
  Facts facts;
  facts.neverNaN = operand.neverNaN;
  auto rounded = [&](double bound) { return Expr::literal(type, bound).literalFloat(); };
  if (operand.low)
    facts.low = rounded(*operand.low);
  if (operand.high)
    facts.high = rounded(*operand.high);
  facts.finite = operand.finite && facts.low && facts.high && std::isfinite(*facts.low) &&
                 std::isfinite(*facts.high);
  return facts;
}

Facts ofUnary(const Expr &expr, const Facts &operand) {
  Facts facts = ofType(expr.type());
  switch (expr.unaryOp()) {
  case UnaryOp::Neg:
    facts.neverNaN = operand.neverNaN;
    facts.finite = operand.finite;
    break;
  case UnaryOp::Abs:
    facts.neverNaN = operand.neverNaN;
    facts.finite = operand.finite;
    if (isFloat(expr.type()))
      facts.low = 0;
    break;
  case UnaryOp::Exp:
    facts.neverNaN = operand.neverNaN;
    facts.low = 0;
    if (std::optional<double> limit = expLimit(expr.type());
        limit && operand.neverNaN && operand.high && *operand.high <= *limit)
      facts.finite = true;
    break;
  case UnaryOp::Tanh:
  case UnaryOp::Erf:
  case UnaryOp::Sign:
    return within(-1, 1, operand);
  case UnaryOp::Ceil:
  case UnaryOp::Floor:
  case UnaryOp::Round:
    facts.neverNaN = operand.neverNaN;
    facts.finite = operand.finite;
    break;
  case UnaryOp::Sqrt:
    facts.neverNaN = operand.neverNaN && operand.low && *operand.low >= 0;
    facts.finite = facts.neverNaN && operand.finite;
    facts.low = 0;
    break;
  default:
    break;
  }
  return facts;
}

Facts ofBinary(const Expr &expr, const Facts &a, const Facts &b) {
  Facts facts = ofType(expr.type());
  if (!isFloat(expr.type()))
    return facts;
  bool tame = a.neverNaN && b.neverNaN;
  switch (expr.binaryOp()) {
  case BinaryOp::Max:
    facts.neverNaN = tame;
    facts.finite = a.finite && b.finite;
    if (tame && (a.low || b.low))
      facts.low = std::max(a.low.value_or(-INFINITY), b.low.value_or(-INFINITY));
    if (a.high && b.high)
      facts.high = std::max(*a.high, *b.high);
    break;
  case BinaryOp::Min:
    facts.neverNaN = tame;
    facts.finite = a.finite && b.finite;
    if (tame && (a.high || b.high))
      facts.high = std::min(a.high.value_or(INFINITY), b.high.value_or(INFINITY));
    if (a.low && b.low)
      facts.low = std::min(*a.low, *b.low);
    break;
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
    // Finite operands may overflow to an infinity, but not to NaN.
    facts.neverNaN = a.finite && b.finite;
    break;
  default:
    break;
  }
  return facts;
}

} // namespace

Facts factsOf(const Expr &expr, const Program &program) {
  switch (expr.kind()) {
  case ExprKind::Literal:
    return exactly(expr.literalFloat());
  case ExprKind::Index: {
    Facts facts;
    facts.neverNaN = facts.finite = true;
    return facts;
  }
  case ExprKind::Read: {
    Facts facts = program.value(expr.readValue()).facts;
    if (!isFloat(expr.type()))
      facts = ofType(expr.type());
    if (const Expr *fill = expr.readFill())
      facts = either(facts, factsOf(*fill, program));
    return facts;
  }
  case ExprKind::Unary:
    return ofUnary(expr, factsOf(expr.operand(0), program));
  case ExprKind::Binary:
    return ofBinary(expr, factsOf(expr.operand(0), program), factsOf(expr.operand(1), program));
  case ExprKind::Select:
    return either(factsOf(expr.operand(1), program), factsOf(expr.operand(2), program));
  case ExprKind::Cast: {
    if (!isFloat(expr.type()))
      return ofType(expr.type());
    ElementType from = expr.operand(0).type();
    Facts operand = factsOf(expr.operand(0), program);
    Facts facts = ofCastToFloat(expr.type(), operand);
    // All integers are less than 2^64, which these types hold.
    bool wide = expr.type() == ElementType::F64 || expr.type() == ElementType::F32 ||
                expr.type() == ElementType::BF16;
    facts.finite |= wide && !isFloat(from);
    return facts;
  }
  }
  return {};
}

Facts factsOf(const Definition &definition, const Program &program) {
  Facts body = factsOf(definition.bodies[0], program);
  if (!definition.reduction)
    return body;
  ElementType type = program.value(definition.results[0]).type;
  Facts facts = ofType(type);
  // What is said of the body holds for the result where nothing is converted on the way.
  bool converts = definition.bodies[0].type() != type || definition.reduction->accumulator != type;
  if (!isFloat(type) || converts || definition.results.size() != 1)
    return facts;
  switch (definition.reduction->combiner) {
  case Combiner::Max:
  case Combiner::Min:
    facts = body;
    for (const Iterator &iterator : definition.reduction->iterators)
      if (iterator.extent.constant() == 0)
        return {};
    break;
  case Combiner::Sum:
    // Partial sums that overflow to infinities of both signs would meet as NaN.
    facts.neverNaN = body.neverNaN && body.low && *body.low >= 0;
    if (body.low && *body.low >= 0)
      facts.low = 0;
    break;
  default:
    break;
  }
  return facts;
}

} // namespace kintsugi::simplify
