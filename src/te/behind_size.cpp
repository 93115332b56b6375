#include "te/behind_size.h"

#include "te/open_axis.h"
#include "te/scalar.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace kintsugi::te {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Behind number(double value) { return {Behind::Kind::Number, value}; }
Behind proper() { return {Behind::Kind::Proper, 0}; }

class Evaluation {
public:
  Evaluation(const Program &program, const Definition &definition, unsigned iterator,
             const KnownBehind &known, int64_t high)
      : program(program), ranges(definition.ranges()), iterator(iterator), known(known),
        high(high) {}

  Behind of(const Expr &expr) const {
    if (!isFloat(expr.type()) && expr.type() != ElementType::Bool)
      return isFixed(expr) ? proper() : Behind();
    switch (expr.kind()) {
    case ExprKind::Literal:
      return number(expr.literalFloat());
    case ExprKind::Index:
      return proper();
    case ExprKind::Read:
      return ofRead(expr);
    case ExprKind::Unary:
      return ofUnary(expr.unaryOp(), of(expr.operand(0)));
    case ExprKind::Binary:
      return ofBinary(expr.binaryOp(), of(expr.operand(0)), of(expr.operand(1)));
    case ExprKind::Select:
      return ofSelect(expr);
    case ExprKind::Cast:
      return ofCast(expr);
    }
    return {};
  }

private:
  bool isFixed(const Expr &expr) const { return !expr.uses(iterator); }

  Behind ofRead(const Expr &read) const {
    if (isFixed(read))
      return proper();
    for (auto [dimension, index] : llvm::enumerate(read.readIndices()))
      if (auto found = known.find({read.readValue(), dimension}); found != known.end()) {
        int64_t step = program.shape(read.readValue())[dimension].constant() / high;
        bool isFilled = read.readFill() && !of(*read.readFill()).is(found->second);
        if (!isFilled && isBehind(index, step, iterator, ranges, high))
          return number(found->second);
      }
    return {};
  }

  static Behind ofUnary(UnaryOp op, Behind operand) {
    if (operand.kind != Behind::Kind::Number)
      return operand;
    if (op == UnaryOp::IsNaN || op == UnaryOp::IsInf)
      return number(applyTest(op, operand.number));
    if (op == UnaryOp::Not)
      return number(operand.number == 0);
    if (op == UnaryOp::Bits || op == UnaryOp::FromBits)
      return {};
    return number(applyUnary(op, operand.number));
  }

  static Behind ofBinary(BinaryOp op, Behind left, Behind right) {
    if (left.kind == Behind::Kind::Anything || right.kind == Behind::Kind::Anything)
      return {};
    bool areNumbers = left.kind == right.kind && left.kind == Behind::Kind::Number;
    if (areNumbers && isComparison(op))
      return number(applyComparison(op, left.number, right.number));
    if (areNumbers && op >= BinaryOp::Add && op <= BinaryOp::Min)
      return number(applyBinary(op, left.number, right.number));
    if (areNumbers)
      return {};
    switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Min:
      return left.is(-infinity) || right.is(-infinity) ? number(-infinity) : proper();
    case BinaryOp::Sub:
      return left.is(-infinity) || right.is(infinity) ? number(-infinity) : proper();
    case BinaryOp::Mul:
      return left.is(0) || right.is(0) ? number(0) : proper();
    case BinaryOp::Div:
      return left.is(0) ? number(0) : proper();
    default:
      return proper();
    }
  }

  Behind ofSelect(const Expr &select) const {
    Behind condition = of(select.operand(0));
    if (condition.kind == Behind::Kind::Number)
      return of(select.operand(condition.number != 0 ? 1 : 2));
    Behind a = of(select.operand(1)), b = of(select.operand(2));
    bool isAnything = condition.kind == Behind::Kind::Anything ||
                      a.kind == Behind::Kind::Anything || b.kind == Behind::Kind::Anything;
    if (a.kind == Behind::Kind::Number && b.is(a.number))
      return a;
    return isAnything ? Behind() : proper();
  }

  Behind ofCast(const Expr &cast) const {
    Behind operand = of(cast.operand(0));
    if (operand.kind != Behind::Kind::Number)
      return operand;
    return number(cast.type() == ElementType::Bool ? operand.number != 0
                                                   : roundedTo(cast.type(), operand.number));
  }

  const Program &program;
  llvm::SmallVector<Interval> ranges;
  unsigned iterator;
  const KnownBehind &known;
  int64_t high;
};

} // namespace

Behind behindSize(const Expr &expr, const Program &program, const Definition &definition,
                  unsigned iterator, const KnownBehind &known, int64_t high) {
  return Evaluation(program, definition, iterator, known, high).of(expr);
}

} // namespace kintsugi::te
