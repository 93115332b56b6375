#include "te/lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace kintsugi::te {

const Token &Lexer::peek(size_t places) {
  while (ahead.size() <= places)
    ahead.push_back(next());
  return ahead[places];
}

Token Lexer::take() {
  Token token = peek();
  ahead.pop_front();
  return token;
}

Error Lexer::errorAt(size_t offset, const std::string &reason) const {
  llvm::StringRef before = text.take_front(offset);
  size_t line = before.count('\n') + 1;
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0.
  return inputError(file + ":" + std::to_string(line) + ":" +
                    std::to_string(offset - lineStart + 1) + ": " + reason);
}

void Lexer::skipSpace() {
  while (position < text.size()) {
    if (text[position] == '#')
      position = std::min(text.find('\n', position), text.size());
    else if (llvm::isSpace(text[position]))
      ++position;
    else
      return;
  }
}

Token Lexer::invalid(size_t start, std::string reason) {
  position = text.size();
  return {TokenKind::Invalid, text.substr(start, 1), start, std::move(reason)};
}

Token Lexer::quoted(size_t start) {
  std::string value;
  for (position = start + 1; position < text.size(); ++position) {
    char c = text[position];
    if (c == '"') {
      ++position;
      return {TokenKind::Quoted, text.slice(start, position), start, std::move(value)};
    }
    if (c == '\n')
      break;
    if (c != '\\') {
      value += c;
      continue;
    }
    char escape = ++position < text.size() ? text[position] : '\0';
    if (escape == '"' || escape == '\\') {
      value += escape;
    } else if (escape == 'n') {
      value += '\n';
    } else if (escape == 't') {
      value += '\t';
    } else if (escape == 'x' && position + 2 < text.size() &&
               llvm::isHexDigit(text[position + 1]) && llvm::isHexDigit(text[position + 2])) {
      value += static_cast<char>(llvm::hexFromNibbles(text[position + 1], text[position + 2]));
      position += 2;
    } else {
      return invalid(position - 1, "unknown escape in a quoted name; expected one of \\\" \\\\ \\n "
                                   "\\t or \\x and two hexadecimal digits");
    }
  }
  return invalid(start, "a quoted name is not closed on its line; expected '\"'");
}

/// The length of the number that `text` starts with: digits, letters and points, and the sign of an
/// exponent.
static size_t numberLength(llvm::StringRef text) {
  bool hex = text.starts_with("0x");
  size_t length = 0;
  for (; length < text.size(); ++length) {
    char c = text[length];
    char before = length ? llvm::toLower(text[length - 1]) : '\0';
    bool exponentSign = (c == '+' || c == '-') && before == (hex ? 'p' : 'e');
    if (!llvm::isAlnum(c) && c != '.' && !exponentSign)
      break;
  }
  return length;
}

Token Lexer::next() {
  skipSpace();
  size_t start = position;
  if (start >= text.size())
    return {TokenKind::End, "", text.size(), ""};
  char c = text[start];
  if (c == '"')
    return quoted(start);
  if (llvm::isDigit(c)) {
    position += numberLength(text.substr(start));
    return {TokenKind::Number, text.slice(start, position), start, ""};
  }
  if (llvm::isAlpha(c) || c == '_') {
    position = std::min(
        text.find_if_not([](char d) { return llvm::isAlnum(d) || d == '_' || d == '.'; }, start),
        text.size());
    return {TokenKind::Word, text.slice(start, position), start, ""};
  }
  static constexpr llvm::StringRef signs[] = {"//", "==", "!=", "<=", ">=", "[", "]", "(",
                                              ")",  "{",  "}",  ":",  ";",  ",", "=", "<",
                                              ">",  "+",  "-",  "*",  "/",  "%", "|", "@"};
  for (llvm::StringRef sign : signs)
    if (text.substr(start).starts_with(sign)) {
      position += sign.size();
      return {TokenKind::Sign, text.slice(start, position), start, ""};
    }
  std::string shown = llvm::isPrint(c)
                          ? std::string(1, c)
                          : "\\x" + llvm::utohexstr(static_cast<unsigned char>(c), true, 2);
  return invalid(start, "unexpected character '" + shown + "'");
}

Expected<llvm::StringRef> Lexer::takeObject() {
  size_t start = peek().offset;
  assert(peek().isSign("{") && "an object starts with a brace");
  ahead.clear();
  size_t depth = 0;
  bool inString = false;
  for (position = start; position < text.size(); ++position) {
    char c = text[position];
    if (inString) {
      if (c == '\\')
        ++position;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      ++position;
      return text.slice(start, position);
    }
  }
  return errorAt(start, "the attributes are not closed; expected '}'");
}

} // namespace kintsugi::te
