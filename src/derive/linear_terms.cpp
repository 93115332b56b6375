#include "derive/linear_terms.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

class Collector {
public:
  using Test = llvm::function_ref<bool(ValueId)>;

  Collector(const Program &program, Test isOpened, Test isSum)
      : program(program), isOpened(isOpened), isSum(isSum) {}

  void add(const Expr &expr, const std::optional<Expr> &scale, bool isSubtracted) {
    if (fuel == 0)
      return;
    --fuel;
    if (expr.kind() == ExprKind::Unary && expr.unaryOp() == UnaryOp::Neg)
      return add(expr.operand(0), scale, !isSubtracted);
    if (expr.kind() == ExprKind::Read && !expr.readFill() && isOpened(expr.readValue())) {
      const Definition &map = *program.definitionOf(expr.readValue());
      return add(substitute(map.bodies[0], expr.readIndices()), scale, isSubtracted);
    }
    if (expr.kind() == ExprKind::Binary && addBinary(expr, scale, isSubtracted))
      return;
    terms.push_back({expr, scale, isSubtracted});
  }

  std::vector<LinearTerm> terms;
  unsigned fuel = 200; ///< Expressions that are looked at.

private:
  static constexpr double leastDivisor = 1e-30;

  bool addBinary(const Expr &expr, const std::optional<Expr> &scale, bool isSubtracted) {
    const Expr &a = expr.operand(0), &b = expr.operand(1);
    switch (expr.binaryOp()) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
      add(a, scale, isSubtracted);
      add(b, scale, isSubtracted != (expr.binaryOp() == BinaryOp::Sub));
      return true;
    case BinaryOp::Mul:
      if (hasSum(a) == hasSum(b))
        return false;
      add(hasSum(a) ? a : b, times(scale, hasSum(a) ? b : a), isSubtracted);
      return true;
    case BinaryOp::Div:
      // The reciprocal of what is tiny would be infinite.
      if (!hasSum(a) || !b.isLiteral() || !(std::abs(b.literalFloat()) >= leastDivisor))
        return false;
      add(a, times(scale, Expr::literal(ElementType::F32, 1.0) / b), isSubtracted);
      return true;
    default:
      return false;
    }
  }

  static Expr times(const std::optional<Expr> &scale, const Expr &factor) {
    return scale ? *scale * factor : factor;
  }

  /// Whether it is read somewhere in the expression, through what is opened too.
  bool hasSum(const Expr &expr) const {
    bool found = false;
    expr.walk([&](const Expr &e) {
      found |= e.kind() == ExprKind::Read && (isOpened(e.readValue()) || isSum(e.readValue()));
    });
    return found;
  }

  const Program &program;
  Test isOpened, isSum;
};

} // namespace

std::vector<LinearTerm> linearTermsOf(const Expr &expr, const Program &program,
                                      llvm::function_ref<bool(ValueId)> isOpened,
                                      llvm::function_ref<bool(ValueId)> isSum) {
  Collector collector(program, isOpened, isSum);
  collector.add(expr, std::nullopt, false);
  if (collector.fuel == 0)
    return {};
  return std::move(collector.terms);
}

Expr sumOf(llvm::ArrayRef<LinearTerm> terms) {
  std::optional<Expr> sum;
  for (const LinearTerm &term : terms)
    if (!term.isSubtracted)
      sum = sum ? *sum + term.value() : term.value();
  for (const LinearTerm &term : terms)
    if (term.isSubtracted)
      sum = sum ? *sum - term.value() : -term.value();
  return *sum;
}

} // namespace kintsugi::derive
