//===- expr_parser.h - Scalar expressions from text -------------------------===//
//
// Reads what te/expr_printer.h prints, in two steps: a syntax tree, whose nodes know their type
// where they tell it themselves, and then the Expr, once the place gives a type to the rest.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXPR_PARSER_H
#define KINTSUGI_TE_EXPR_PARSER_H

#include "te/lexer.h"
#include "te/program.h"
#include "llvm/ADT/StringMap.h"

namespace kintsugi::te {

/// Bounds on what a text may ask for: deeper expressions could exhaust the stack of the phases that
/// walk them, larger numbers could overflow when indices are combined.
inline constexpr unsigned maxNesting = 400;    ///< Of brackets.
inline constexpr unsigned maxExprDepth = 1000; ///< Of an expression, cases counted each.
inline constexpr unsigned maxIndexTerms = 64;  ///< Of one sum.
inline constexpr int64_t maxIndexNumber = int64_t(1) << 40; ///< Extents, too.

/// "unexpected 'x'; expected ...", or what is wrong with the token itself.
Error unexpected(const Lexer &lexer, const Token &token, llvm::StringRef expected);
/// Takes the token if it is that sign, else the error.
Status expectSign(Lexer &lexer, llvm::StringRef sign);
/// Takes the token if it is that sign.
bool acceptSign(Lexer &lexer, llvm::StringRef sign);
/// A plain or quoted name; `what` is what it names.
Expected<std::string> expectName(Lexer &lexer, llvm::StringRef what);
Expected<int64_t> expectInteger(Lexer &lexer, llvm::StringRef what, int64_t low, int64_t high);
Expected<ElementType> expectType(Lexer &lexer);

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
