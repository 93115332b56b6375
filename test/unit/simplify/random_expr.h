//===- random_expr.h - Scalar expressions that rules apply to ---------------===//
//
// Random expressions over a few inputs of each type, rich in what rules look for: neutral elements,
// equal operands, casts there and back, known conditions. The inputs hold ordinary and extreme
// numbers; one float input of each type is tame, and says so in its facts.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_SIMPLIFY_RANDOM_EXPR_H
#define KINTSUGI_TEST_UNIT_SIMPLIFY_RANDOM_EXPR_H

#include "../te/random_program.h"
#include "../te/testing.h"

namespace kintsugi::simplify {

class ExprMaker {
public:
  static constexpr int64_t points = 48; ///< Elements of every input.

  explicit ExprMaker(uint64_t seed);

  te::Program program;

  ElementType type();
  /// Over one iterator in [0, points).
  te::Expr expr(ElementType type, unsigned depth);
  void addOutput(te::Expr body);
  /// The definition behind an output, as text.
  std::string show(size_t output) const;
  std::vector<te::ExactTensor> inputs();

private:
  te::Expr literal(ElementType type);
  te::Expr leaf(ElementType type);
  te::Expr unary(ElementType type, unsigned depth);
  te::Expr binary(ElementType type, unsigned depth);
  te::Expr boolean(unsigned depth);
  te::Expr cast(ElementType type, unsigned depth);
  double extremeFloat(ElementType type);
  int64_t extremeInteger(ElementType type);

  te::Chance chance;
};

} // namespace kintsugi::simplify

#endif // KINTSUGI_TEST_UNIT_SIMPLIFY_RANDOM_EXPR_H
