//===- lexer.h - Words of a .te text ----------------------------------------===//
//
// Splits a text into tokens on demand, with as much lookahead as is asked for. Spaces and lines
// only separate; '#' starts a comment up to the end of the line.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_LEXER_H
#define KINTSUGI_TE_LEXER_H

#include "base/status.h"
#include "llvm/ADT/StringRef.h"

#include <deque>
#include <string>

namespace kintsugi::te {

enum class TokenKind : uint8_t {
  End,
  Word,    ///< An unquoted word: a name or a word of the language.
  Quoted,  ///< A quoted name or string; `value` holds it without quotes and escapes.
  Number,  ///< Without a sign; not checked further.
  Sign,    ///< Operators and brackets.
  Invalid, ///< `value` says why.
};

struct Token {
  TokenKind kind = TokenKind::End;
  llvm::StringRef text; ///< As written.
  size_t offset = 0;
  std::string value;

  bool isSign(llvm::StringRef sign) const { return kind == TokenKind::Sign && text == sign; }
  bool isWord(llvm::StringRef word) const { return kind == TokenKind::Word && text == word; }
};

class Lexer {
public:
  /// `file` only names the text in errors.
  Lexer(llvm::StringRef text, llvm::StringRef file) : text(text), file(file) {}

  /// The token `ahead` places after the next one.
  const Token &peek(size_t ahead = 0);
  Token take();

  /// The text from the next token, which must be '{', to the '}' that closes it: a JSON object. An
  /// Error where there is none.
  Expected<llvm::StringRef> takeObject();

  /// "file:line:column: reason".
  Error errorAt(size_t offset, const std::string &reason) const;

private:
  Token next();
  Token quoted(size_t start);
  Token invalid(size_t start, std::string reason);
  void skipSpace();

  llvm::StringRef text;
  std::string file;
  size_t position = 0;
  std::deque<Token> ahead;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_LEXER_H
