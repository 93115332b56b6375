#include "te/neutral.h"

#include "te/scalar.h"

#include <limits>

namespace kintsugi::te {

Expr neutralOf(Combiner combiner, ElementType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto literal = [&](double real, int64_t integer) {
    return isFloat(type) ? Expr::literal(type, real) : Expr::literal(type, integer);
  };
  switch (combiner) {
  case Combiner::Sum:
  case Combiner::Or:
    return literal(0, 0);
  case Combiner::Prod:
    return literal(1, 1);
  case Combiner::And:
    return literal(1, wrapInteger(type, -1));
  case Combiner::Min:
  case Combiner::ArgMin:
    return isFloat(type) ? literal(infinity, 0) : literal(0, highestInteger(type));
  case Combiner::Max:
  case Combiner::ArgMax:
  case Combiner::SoftmaxStats:
    break;
  }
  return isFloat(type) ? literal(-infinity, 0) : literal(0, lowestInteger(type));
}

bool isNeutral(const Expr &expr, Combiner combiner) {
  if (!expr.isLiteral())
    return false;
  Expr neutral = neutralOf(combiner, expr.type());
  return isFloat(expr.type()) ? expr.literalFloat() == neutral.literalFloat()
                              : expr.literalInteger() == neutral.literalInteger();
}

} // namespace kintsugi::te
