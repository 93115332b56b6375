// The part of te/expr_parser.h that reads indices: sums, products and gathers.

#include "base/checked.h"
#include "te/expr_parser.h"
#include "te/expr_syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

Expected<Index> ExprParser::bounded(Index index, size_t offset) {
  auto small = [](int64_t number) { return -maxIndexNumber <= number && number <= maxIndexNumber; };
  if (!small(index.constantTerm()) ||
      !llvm::all_of(index.terms(), [&](const Term &term) { return small(term.factor); }))
    return lexer.errorAt(offset, "a number of the index is too large; expected at most " +
                                     std::to_string(maxIndexNumber));
  if (index.terms().size() > maxIndexTerms)
    return lexer.errorAt(offset, "the index has too many terms; expected at most " +
                                     std::to_string(maxIndexTerms));
  return index;
}

Expected<Index> ExprParser::scaled(const Index &index, int64_t factor, size_t offset) {
  auto fits = [&](int64_t number) { return checkedMul(number, factor).has_value(); };
  if (!fits(index.constantTerm()) ||
      !llvm::all_of(index.terms(), [&](const Term &term) { return fits(term.factor); }))
    return bounded(Index(maxIndexNumber + 1), offset); // The error.
  return bounded(index * factor, offset);
}

Expected<Index> ExprParser::indexSum() {
  KINTSUGI_RETURN_IF_ERROR(enter(lexer.peek().offset));
  ++nesting;
  KINTSUGI_ASSIGN(Index sum, indexProduct());
  while (lexer.peek().isSign("+") || lexer.peek().isSign("-")) {
    Token sign = lexer.take();
    KINTSUGI_ASSIGN(Index term, indexProduct());
    KINTSUGI_ASSIGN(sum, bounded(sign.text == "+" ? sum + term : sum - term, sign.offset));
  }
  --nesting;
  return sum;
}

Expected<Index> ExprParser::indexProduct() {
  bool negative = acceptSign(lexer, "-");
  KINTSUGI_ASSIGN(Index product, indexFactor());
  while (lexer.peek().isSign("*") || lexer.peek().isSign("//") || lexer.peek().isSign("%")) {
    Token sign = lexer.take();
    if (sign.text == "*") {
      KINTSUGI_ASSIGN(Index factor, indexFactor());
      if (!product.isConstant() && !factor.isConstant())
        return lexer.errorAt(sign.offset, "an index multiplies two iterators or reads; expected a "
                                          "constant on one side");
      KINTSUGI_ASSIGN(product, factor.isConstant()
                                   ? scaled(product, factor.constantTerm(), sign.offset)
                                   : scaled(factor, product.constantTerm(), sign.offset));
    } else {
      KINTSUGI_ASSIGN(int64_t divisor,
                      expectInteger(lexer, "a positive divisor", 1, maxIndexNumber));
      product = sign.text == "//" ? product.floorDiv(divisor) : product.mod(divisor);
    }
  }
  return negative ? product * -1 : product;
}

Expected<Index> ExprParser::indexFactor() {
  const Token &token = lexer.peek();
  if (token.kind == TokenKind::Number) {
    KINTSUGI_ASSIGN(int64_t number, expectInteger(lexer, "an index", 0, maxIndexNumber));
    return Index(number);
  }
  if (acceptSign(lexer, "(")) {
    KINTSUGI_ASSIGN(Index inner, indexSum());
    KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, ")"));
    return inner;
  }
  if (token.isSign("{") || lexer.peek(1).isSign("[")) {
    size_t offset = token.offset;
    KINTSUGI_RETURN_IF_ERROR(enter(offset));
    ++nesting;
    bool inBraces = acceptSign(lexer, "{");
    KINTSUGI_ASSIGN(Node syntax, inBraces ? infix(1) : read());
    if (inBraces)
      KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "}"));
    --nesting;
    KINTSUGI_ASSIGN(Expr data, build(*syntax, syntax->told.value_or(ElementType::I64)));
    if (!isInteger(data.type()))
      return lexer.errorAt(offset, "an index of type " + std::string(nameOf(data.type())) +
                                       "; expected an integer");
    return Index::data(std::move(data));
  }
  size_t offset = token.offset;
  KINTSUGI_ASSIGN(std::string name, expectName(lexer, "an index"));
  auto iterator = iteratorNamed(name);
  if (!iterator)
    return lexer.errorAt(offset, "'" + name +
                                     "' is no iterator here; expected one of the "
                                     "definition's iterators");
  return Index::iterator(*iterator);
}

} // namespace kintsugi::te
