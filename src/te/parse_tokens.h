//===- parse_tokens.h - Steps that parsers of text forms share --------------===//
//
// Taking one expected token, with the error that says what was expected instead, and the bounds on
// what a text may ask for. The parsers of .te, spaces and plans are made of these.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_PARSE_TOKENS_H
#define KINTSUGI_TE_PARSE_TOKENS_H

#include "base/element_type.h"
#include "te/lexer.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kintsugi::te {

/// Bounds on what a text may ask for: deeper expressions could exhaust the stack of the phases that
/// walk them, indices have their own bound (maxIndexNumber).
inline constexpr unsigned maxNesting = 400;    ///< Of brackets.
inline constexpr unsigned maxExprDepth = 1000; ///< Of an expression, cases counted each.
inline constexpr unsigned maxIndexTerms = 64;  ///< Of one sum.

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

/// Takes the token if it is that word, else the error.
Status expectWord(Lexer &lexer, llvm::StringRef word);
/// Takes the token if it is that word.
bool acceptWord(Lexer &lexer, llvm::StringRef word);
Expected<std::string> expectQuoted(Lexer &lexer, llvm::StringRef what);
/// A finite number of at least 0, as spellReal writes it.
Expected<double> expectReal(Lexer &lexer, llvm::StringRef what);
/// The shortest text that reads back as the same number.
std::string spellReal(double value);

/// "[", then whatever `element` takes, separated by commas, then "]".
Status expectList(Lexer &lexer, llvm::function_ref<Status()> element);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_PARSE_TOKENS_H
