#include "te/expr_printer.h"

#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

/// Whether a reader learns the type from the expression itself, whatever stands around it.
static bool tellsType(const Expr &expr) {
  switch (expr.kind()) {
  case ExprKind::Literal:
    return expr.type() == ElementType::Bool;
  case ExprKind::Index:
    return false;
  case ExprKind::Read:
  case ExprKind::Cast:
    return true;
  case ExprKind::Unary:
    return expr.unaryOp() == UnaryOp::IsNaN || expr.unaryOp() == UnaryOp::IsInf ||
           tellsType(expr.operand(0));
  case ExprKind::Binary:
    return isComparison(expr.binaryOp()) || tellsType(expr.operand(0)) ||
           tellsType(expr.operand(1));
  case ExprKind::Select:
    return tellsType(expr.operand(1)) || tellsType(expr.operand(2));
  }
  return false;
}

/// Whether a reader that would else take `expected` knows the expression's type.
static bool isTyped(const Expr &expr, ElementType expected) {
  return expr.type() == expected || tellsType(expr);
}

std::string ExprPrinter::print(const Expr &e, ElementType expected) const {
  return expr(e, 0, isTyped(e, expected));
}

std::string ExprPrinter::expr(const Expr &e, int binding, bool typed) const {
  switch (e.kind()) {
  case ExprKind::Literal:
  case ExprKind::Index:
    return leaf(e, typed);
  case ExprKind::Read:
    return read(e);
  case ExprKind::Unary:
    return unary(e, typed);
  case ExprKind::Binary:
    return binary(e, binding, typed);
  case ExprKind::Select:
    return cases(e, typed);
  case ExprKind::Cast: {
    // A literal there carries its own type: "f32(3)" is a literal, "f32(i64(3))" a cast.
    const Expr &operand = e.operand(0);
    bool known = !operand.isLiteral() && isTyped(operand, ElementType::I64);
    return (e.isStored() ? "stored " : "") + std::string(nameOf(e.type())) + "(" +
           expr(operand, 0, known || operand.type() == ElementType::Bool) + ")";
  }
  }
  return "";
}

std::string ExprPrinter::leaf(const Expr &e, bool typed) const {
  std::string type(nameOf(e.type()));
  if (e.isLiteral())
    return typed ? spellLiteral(e) : type + "(" + spellLiteral(e) + ")";
  int iterator = e.indexValue().asIterator();
  if (typed && iterator >= 0 && !isFunctionWord(iterators[iterator]))
    return spellName(iterators[iterator]);
  return (typed ? "" : type) + "{" + print(e.indexValue()) + "}";
}

std::string ExprPrinter::read(const Expr &e) const {
  std::string text = spellName(program.value(e.readValue()).name) + "[";
  for (auto [number, index] : llvm::enumerate(e.readIndices()))
    text += (number ? ", " : "") + print(index);
  text += "]";
  if (const Expr *fill = e.readFill())
    text = "(" + text + " | " + expr(*fill, 0, true) + ")";
  return text;
}

std::string ExprPrinter::unary(const Expr &e, bool typed) const {
  const Expr &operand = e.operand(0);
  if (e.unaryOp() == UnaryOp::Neg) {
    std::string text = expr(operand, unaryPrecedence, typed);
    bool looksSigned = operand.isLiteral() && typed; // "-3" would be a literal.
    return looksSigned ? "-(" + text + ")" : "-" + text;
  }
  if (e.unaryOp() == UnaryOp::IsNaN || e.unaryOp() == UnaryOp::IsInf)
    typed = isTyped(operand, ElementType::I64);
  return std::string(nameOf(e.unaryOp())) + "(" + expr(operand, 0, typed) + ")";
}

std::string ExprPrinter::binary(const Expr &e, int binding, bool typed) const {
  const Expr &left = e.operand(0), &right = e.operand(1);
  bool leftTyped = typed || tellsType(left) || tellsType(right);
  if (isComparison(e.binaryOp()))
    leftTyped = isTyped(left, ElementType::I64) || tellsType(right);
  int precedence = precedenceOf(e.binaryOp());
  std::string name = nameOf(e.binaryOp());
  if (precedence ==
      0) // Where the left operand had to carry its type, the right takes it from there.
    return name + "(" + expr(left, 0, leftTyped) + ", " + expr(right, 0, true) + ")";
  int leftBinding = isComparison(e.binaryOp()) ? precedence + 1 : precedence;
  std::string text =
      expr(left, leftBinding, leftTyped) + " " + name + " " + expr(right, precedence + 1, true);
  return precedence < binding ? "(" + text + ")" : text;
}

std::string ExprPrinter::cases(const Expr &e, bool typed) const {
  std::string text = "cases { ";
  // One branch that tells its type is enough for all; else the first one carries it.
  bool branchTyped = typed || tellsType(e);
  const Expr *rest = &e;
  for (; rest->kind() == ExprKind::Select; rest = &rest->operand(2)) {
    text += expr(rest->operand(0), 0, true) + ": " + expr(rest->operand(1), 0, branchTyped) + "; ";
    branchTyped = true;
  }
  return text + "else: " + expr(*rest, 0, true) + " }";
}

std::string ExprPrinter::atom(const Atom &a, bool scaled) const {
  switch (a.kind) {
  case AtomKind::Iterator:
    return spellName(iterators[a.iterator]);
  case AtomKind::FloorDiv:
  case AtomKind::Mod: {
    bool single = a.operand.asIterator() >= 0;
    std::string text = (single ? print(a.operand) : "(" + print(a.operand) + ")") +
                       (a.kind == AtomKind::FloorDiv ? "//" : "%") + std::to_string(a.divisor);
    return scaled ? "(" + text + ")" : text;
  }
  case AtomKind::Data: {
    const Expr &data = *a.data;
    if (data.kind() == ExprKind::Read && !data.readFill())
      return read(data);
    return "{" + print(data, ElementType::I64) + "}";
  }
  }
  return "";
}

std::string ExprPrinter::print(const Index &index) const {
  std::string text;
  int64_t constant = index.constantTerm();
  if (constant > 0 && !index.terms().empty() && index.terms()[0].factor < 0) {
    text = std::to_string(constant); // "7-i" instead of "-i+7".
    constant = 0;
  }
  for (const Term &term : index.terms()) {
    uint64_t magnitude = term.factor < 0 ? 0 - static_cast<uint64_t>(term.factor) : term.factor;
    text += term.factor < 0 ? "-" : text.empty() ? "" : "+";
    if (magnitude != 1)
      text += std::to_string(magnitude) + "*";
    text += atom(term.atom, magnitude != 1);
  }
  if (text.empty())
    return std::to_string(constant);
  if (constant != 0)
    text += (constant > 0 ? "+" : "") + std::to_string(constant);
  return text;
}

} // namespace kintsugi::te
