#include "te/syntax.h"

#include "base/diagnostics.h"
#include "base/utf8.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>

namespace kintsugi::te {

bool isReservedWord(llvm::StringRef word) {
  static constexpr llvm::StringRef words[] = {"program", "input", "const", "output", "scan", "call",
                                              "cases",   "else",  "facts", "as",     "inf",  "nan",
                                              "true",    "false", "and",   "or",     "xor"};
  return llvm::is_contained(words, word) || combinerFromName(word).has_value();
}

static bool isPlain(llvm::StringRef name) {
  if (name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_'))
    return false;
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
}

std::string quote(llvm::StringRef text) {
  std::string result = "\"";
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view before = rest;
    std::optional<uint32_t> point = takeCodePoint(rest);
    if (!point)
      rest.remove_prefix(1);
    std::string_view spelled = before.substr(0, before.size() - rest.size());
    if (point == '"' || point == '\\') {
      (result += '\\') += spelled;
    } else if (point == '\n') {
      result += "\\n";
    } else if (point == '\t') {
      result += "\\t";
    } else if (!point || isControl(*point)) {
      for (unsigned char byte : spelled)
        result += "\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, 2);
    } else {
      result += spelled;
    }
  }
  return result + "\"";
}

std::string spellName(llvm::StringRef name) {
  return isPlain(name) && !isReservedWord(name) ? name.str() : quote(name);
}

std::string spellWhile(const Scan &scan) {
  if (!scan.goesOnWhile)
    return "";
  return *scan.goesOnWhile ? " while true" : " while false";
}

int precedenceOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return 1;
  case BinaryOp::Xor:
    return 2;
  case BinaryOp::And:
    return 3;
  case BinaryOp::Less:
  case BinaryOp::LessEqual:
  case BinaryOp::Equal:
  case BinaryOp::NotEqual:
    return 4;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return 5;
  case BinaryOp::Mul:
  case BinaryOp::Div:
    return 6;
  default:
    return 0;
  }
}

/// The first of the enumerators up to `last` that has this name.
template <typename Enum> static std::optional<Enum> fromName(llvm::StringRef name, Enum last) {
  for (unsigned number = 0; number <= static_cast<unsigned>(last); ++number)
    if (name == nameOf(static_cast<Enum>(number)))
      return static_cast<Enum>(number);
  return std::nullopt;
}

std::optional<UnaryOp> unaryFromName(llvm::StringRef name) {
  auto op = fromName(name, UnaryOp::FromBits);
  return op == UnaryOp::Neg ? std::nullopt : op; // Written as a sign.
}

std::optional<BinaryOp> binaryFromName(llvm::StringRef name) {
  auto op = fromName(name, BinaryOp::NotEqual);
  return op && precedenceOf(*op) != 0 ? std::nullopt : op;
}

bool isFunctionWord(llvm::StringRef word) {
  return unaryFromName(word) || binaryFromName(word) || elementTypeFromName(word);
}

std::optional<Combiner> combinerFromName(llvm::StringRef name) {
  return fromName(name, Combiner::SoftmaxStats);
}

bool hasLiterals(ElementType type) {
  return isFloat(type) || isInteger(type) || type == ElementType::Bool;
}

template <typename T> static std::string shortest(T value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

static std::string spellFloat(double value, ElementType type) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  if (type == ElementType::F64)
    return shortest(value);
  if (type == ElementType::F32)
    return shortest(static_cast<float>(value));
  char buffer[64]; // Narrower ones: the fewest digits that are read back as the same.
  for (int digits = 1;; ++digits) {
    auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, digits);
    std::string text(buffer, end.ptr);
    std::optional<Expr> back = readLiteral(text, type);
    std::string plain = shortest(static_cast<float>(value));
    if (digits == 9 || (back && back->literalFloat() == value))
      return text.size() < plain.size() ? text : plain;
  }
}

std::string spellLiteral(const Expr &literal) {
  ElementType type = literal.type();
  if (isFloat(type))
    return spellFloat(literal.literalFloat(), type);
  int64_t value = literal.literalInteger();
  if (type == ElementType::Bool)
    return value ? "true" : "false";
  return isSigned(type) ? shortest(value) : shortest(static_cast<uint64_t>(value));
}

/// All of `text` as a number; `text` has no sign.
template <typename T> static std::optional<T> readNumber(llvm::StringRef text) {
  T value;
  std::from_chars_result end;
  if constexpr (std::is_floating_point_v<T>) {
    bool hex = text.consume_front("0x");
    end = std::from_chars(text.begin(), text.end(), value,
                          hex ? std::chars_format::hex : std::chars_format::general);
  } else {
    end = std::from_chars(text.begin(), text.end(), value);
  }
  return end.ec == std::errc() && end.ptr == text.end() ? std::optional(value) : std::nullopt;
}

static std::optional<Expr> readInteger(llvm::StringRef digits, bool negative, ElementType type) {
  auto magnitude = readNumber<uint64_t>(digits);
  if (!magnitude)
    return std::nullopt;
  unsigned valueBits = bitsOf(type) - (isSigned(type) ? 1 : 0);
  uint64_t largest = valueBits == 64 ? ~uint64_t(0) : (uint64_t(1) << valueBits) - 1;
  uint64_t limit = !negative ? largest : isSigned(type) ? largest + 1 : 0;
  if (*magnitude > limit)
    return std::nullopt;
  return Expr::literal(type, static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude));
}

std::optional<Expr> readLiteral(llvm::StringRef text, ElementType type) {
  if (type == ElementType::Bool)
    return text == "true"    ? std::optional(Expr::boolean(true))
           : text == "false" ? std::optional(Expr::boolean(false))
                             : std::nullopt;
  bool negative = text.consume_front("-");
  if (isInteger(type))
    return readInteger(text, negative, type);
  if (!isFloat(type))
    return std::nullopt;
  std::optional<double> value;
  if (text == "inf")
    value = INFINITY;
  else if (text == "nan")
    value = NAN;
  else if (!text.empty() && llvm::isDigit(text[0]) && type == ElementType::F32)
    value = readNumber<float>(text);
  else if (!text.empty() && llvm::isDigit(text[0]))
    value = readNumber<double>(text);
  if (!value)
    return std::nullopt;
  Expr literal = Expr::literal(type, negative ? -*value : *value);
  bool overflows = std::isfinite(*value) && !std::isfinite(literal.literalFloat());
  return overflows ? std::nullopt : std::optional(literal);
}

} // namespace kintsugi::te
