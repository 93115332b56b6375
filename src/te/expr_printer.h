//===- expr_printer.h - Scalar expressions as text --------------------------===//
//
// The part of the text form that stands right of a definition's '='. A literal or an index carries
// its type only where the place it stands in doesn't give one: an operand takes the type of its
// operation, the operands of a comparison or a cast the type that one of them tells by itself (a
// read, a cast), and i64 where none does.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXPR_PRINTER_H
#define KINTSUGI_TE_EXPR_PRINTER_H

#include "te/program.h"

namespace kintsugi::te {

class ExprPrinter {
public:
  /// `iterators` are the names by number.
  ExprPrinter(const Program &program, llvm::ArrayRef<std::string> iterators)
      : program(program), iterators(iterators) {}

  /// `expected` is the type that a reader assumes where the expression doesn't tell its own.
  std::string print(const Expr &expr, ElementType expected) const;
  std::string print(const Index &index) const;

private:
  /// `binding`: what stands around binds that strongly; `typed`: the reader knows the type.
  std::string expr(const Expr &expr, int binding, bool typed) const;
  std::string leaf(const Expr &expr, bool typed) const;
  std::string read(const Expr &expr) const;
  std::string unary(const Expr &expr, bool typed) const;
  std::string binary(const Expr &expr, int binding, bool typed) const;
  std::string cases(const Expr &expr, bool typed) const;
  std::string atom(const Atom &atom, bool scaled) const;

  const Program &program;
  llvm::ArrayRef<std::string> iterators;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_EXPR_PRINTER_H
