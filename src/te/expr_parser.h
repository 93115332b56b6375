//===- expr_parser.h - Scalar expressions from text -------------------------===//
//
// Reads what te/expr_printer.h prints, in two steps: a syntax tree, whose nodes know their type
// where they tell it themselves, and then the Expr, once the place gives a type to the rest.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXPR_PARSER_H
#define KINTSUGI_TE_EXPR_PARSER_H

#include "te/parse_tokens.h"
#include "te/program.h"
#include "llvm/ADT/StringMap.h"

namespace kintsugi::te {

struct ExprSyntax;

class ExprParser {
public:
  /// `iterators` are the names by number.
  ExprParser(Lexer &lexer, const Program &program, const llvm::StringMap<ValueId> &values,
             llvm::ArrayRef<std::string> iterators);
  ~ExprParser();

  /// An expression of exactly that type.
  Expected<Expr> parseAs(ElementType type);
  /// An expression of the type that it tells, or of `assumed` where it tells none.
  Expected<Expr> parse(ElementType assumed);

private:
  using Node = std::unique_ptr<ExprSyntax>;

  Expected<Node> infix(int minimum);
  Expected<Node> prefix();
  Expected<Node> primary();
  Expected<Node> parenthesized();
  Expected<Node> typed(ElementType type);
  Expected<Node> stored(ElementType type);
  Expected<Node> named();
  Expected<Node> function();
  Expected<Node> read();
  Expected<Node> cases();
  Expected<Node> braces(size_t offset);
  Expected<Node> sized(Node node);

  Expected<Index> indexSum();
  Expected<Index> indexProduct();
  Expected<Index> indexFactor();
  Expected<Index> bounded(Index index, size_t offset);
  Expected<Index> scaled(const Index &index, int64_t factor, size_t offset);

  Expected<Expr> build(const ExprSyntax &syntax, ElementType type);
  Expected<Expr> buildSelect(const ExprSyntax &syntax, ElementType type);
  Expected<Expr> buildOperation(const ExprSyntax &syntax, ElementType type);

  Status enter(size_t offset);
  std::optional<unsigned> iteratorNamed(llvm::StringRef name) const;

  Lexer &lexer;
  const Program &program;
  const llvm::StringMap<ValueId> &values;
  llvm::ArrayRef<std::string> iterators;
  unsigned nesting = 0;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_EXPR_PARSER_H
