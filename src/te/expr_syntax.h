//===- expr_syntax.h - The syntax tree of an expression ---------------------===//
//
// What te/expr_parser.h builds before it knows all types.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXPR_SYNTAX_H
#define KINTSUGI_TE_EXPR_SYNTAX_H

#include "te/expr.h"

#include <string>

namespace kintsugi::te {

struct ExprSyntax {
  ExprKind kind;
  size_t offset;
  std::optional<ElementType> told; ///< The type, where the node tells it by itself.
  std::string literal = {};        ///< Literal, with its sign
  Index index = {};                ///< Index
  ValueId value = {};              ///< Read
  llvm::SmallVector<Index> indices = {};
  UnaryOp unary = UnaryOp::Neg;
  BinaryOp binary = BinaryOp::Add;
  bool stored = false; ///< Cast
  /// Operands; of a Read its fill, if any; of a Select condition and value of each case, then the
  /// rest's value.
  llvm::SmallVector<std::unique_ptr<ExprSyntax>, 2> children = {};
  unsigned depth = 1;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_EXPR_SYNTAX_H
