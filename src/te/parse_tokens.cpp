#include "te/parse_tokens.h"

#include "te/syntax.h"

#include <array>
#include <charconv>

namespace kintsugi::te {

Error unexpected(const Lexer &lexer, const Token &token, llvm::StringRef expected) {
  if (token.kind == TokenKind::Invalid)
    return lexer.errorAt(token.offset, token.value);
  std::string found = token.kind == TokenKind::End      ? "end of the text"
                      : token.kind == TokenKind::Quoted ? token.text.str()
                                                        : "'" + token.text.str() + "'";
  return lexer.errorAt(token.offset, "unexpected " + found + "; expected " + expected.str());
}

bool acceptSign(Lexer &lexer, llvm::StringRef sign) {
  if (!lexer.peek().isSign(sign))
    return false;
  lexer.take();
  return true;
}

Status expectSign(Lexer &lexer, llvm::StringRef sign) {
  if (acceptSign(lexer, sign))
    return Status::success();
  return unexpected(lexer, lexer.peek(), "'" + sign.str() + "'");
}

Expected<std::string> expectName(Lexer &lexer, llvm::StringRef what) {
  const Token &token = lexer.peek();
  if (token.kind == TokenKind::Quoted)
    return lexer.take().value;
  if (token.kind != TokenKind::Word)
    return unexpected(lexer, token, what);
  if (isReservedWord(token.text))
    return lexer.errorAt(token.offset, "'" + token.text.str() +
                                           "' is a word of the language; expected " + what.str() +
                                           " (a name of this spelling must be quoted)");
  return lexer.take().text.str();
}

Expected<int64_t> expectInteger(Lexer &lexer, llvm::StringRef what, int64_t low, int64_t high) {
  const Token &token = lexer.peek();
  if (token.kind != TokenKind::Number)
    return unexpected(lexer, token, what);
  int64_t value = 0;
  auto end = std::from_chars(token.text.begin(), token.text.end(), value);
  if (end.ec != std::errc() || end.ptr != token.text.end() || value < low || value > high)
    return lexer.errorAt(token.offset, "'" + token.text.str() + "' is not usable here; expected " +
                                           what.str() + ", an integer from " + std::to_string(low) +
                                           " to " + std::to_string(high));
  lexer.take();
  return value;
}

Expected<ElementType> expectType(Lexer &lexer) {
  const Token &token = lexer.peek();
  auto type = token.kind == TokenKind::Word ? elementTypeFromName(token.text) : std::nullopt;
  if (!type)
    return unexpected(lexer, token, "an element type such as f32");
  lexer.take();
  return *type;
}

bool acceptWord(Lexer &lexer, llvm::StringRef word) {
  if (!lexer.peek().isWord(word))
    return false;
  lexer.take();
  return true;
}

Status expectWord(Lexer &lexer, llvm::StringRef word) {
  if (acceptWord(lexer, word))
    return Status::success();
  return unexpected(lexer, lexer.peek(), "'" + word.str() + "'");
}

Expected<std::string> expectQuoted(Lexer &lexer, llvm::StringRef what) {
  if (lexer.peek().kind != TokenKind::Quoted)
    return unexpected(lexer, lexer.peek(), what);
  return lexer.take().value;
}

Expected<double> expectReal(Lexer &lexer, llvm::StringRef what) {
  const Token &token = lexer.peek();
  if (token.kind != TokenKind::Number)
    return unexpected(lexer, token, what);
  double value = 0;
  auto end = std::from_chars(token.text.begin(), token.text.end(), value);
  if (end.ec != std::errc() || end.ptr != token.text.end())
    return lexer.errorAt(token.offset,
                         "'" + token.text.str() + "' is no number; expected " + what.str());
  lexer.take();
  return value;
}

std::string spellReal(double value) {
  std::array<char, 32> digits;
  auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return std::string(digits.data(), end.ptr);
}

Status expectList(Lexer &lexer, llvm::function_ref<Status()> element) {
  KINTSUGI_RETURN_IF_ERROR(expectSign(lexer, "["));
  if (acceptSign(lexer, "]"))
    return Status::success();
  do {
    KINTSUGI_RETURN_IF_ERROR(element());
  } while (acceptSign(lexer, ","));
  return expectSign(lexer, "]");
}

} // namespace kintsugi::te
