//===- syntax.cpp - Reading a PTX text --------------------------------------===//

#include "syntax.h"

#include "fault.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string>

namespace kintsugi::emulator {
namespace {

/// Words, numbers and single characters.
class Tokens {
public:
  explicit Tokens(std::string_view text) : text(text) { next(); }

  std::string_view now; ///< "": the end.
  unsigned line = 1;

  std::string_view take() {
    std::string_view taken = now;
    next();
    return taken;
  }
  bool takeIf(std::string_view wanted) {
    if (now != wanted)
      return false;
    next();
    return true;
  }
  void expect(std::string_view wanted) {
    if (!takeIf(wanted))
      fail("expected '" + std::string(wanted) + "'");
  }
  [[noreturn]] void fail(const std::string &what) const {
    throw Fault{Fault::InvalidText,
                "line " + std::to_string(line) + ": " + what + " at '" + std::string(now) + "'"};
  }

private:
  static bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
           c == '.';
  }

  void skipBlanks() {
    while (at < text.size()) {
      if (text[at] == '\n')
        ++line;
      if (std::isspace(static_cast<unsigned char>(text[at])))
        ++at;
      else if (text.substr(at, 2) == "//")
        at = std::min(text.find('\n', at), text.size());
      else
        break;
    }
  }

  void next() {
    skipBlanks();
    size_t begin = at;
    while (at < text.size() && (isWord(text[at]) || text.substr(at, 2) == "::"))
      at += isWord(text[at]) ? 1 : 2;
    if (at == begin && at < text.size())
      ++at;
    now = text.substr(begin, at - begin);
  }

  std::string_view text;
  size_t at = 0;
};

unsigned bitsOfType(std::string_view type) {
  if (type == ".pred")
    return 1;
  size_t digit = type.find_first_of("0123456789");
  return digit == type.npos ? 0 : unsigned(std::strtoul(type.data() + digit, nullptr, 10));
}

class Parser {
public:
  explicit Parser(std::string_view text) : tokens(text) {}

  ModuleText parse() {
    while (!tokens.now.empty())
      parseTopLevel();
    return std::move(module);
  }

private:
  uint64_t number() {
    std::string word(tokens.take());
    char *end = nullptr;
    uint64_t value = std::strtoull(word.c_str(), &end, 0);
    if (word.empty() || (*end != 0 && *end != 'U'))
      tokens.fail("expected a number, not '" + word + "',");
    return value;
  }

  void parseTopLevel() {
    std::string_view word = tokens.take();
    if (word == ".version" || word == ".address_size") {
      tokens.take();
    } else if (word == ".target") {
      module.architecture = tokens.take();
      while (tokens.takeIf(","))
        tokens.take();
    } else if (word == ".entry") {
      parseEntry();
    } else if (word == ".shared") {
      module.shared.push_back(variable());
    } else if (word == ".global" || word == ".const") {
      module.global.push_back(variable());
    } else if (word != ".visible" && word != ".extern" && word != ".weak") {
      tokens.fail("this is not known of a module: '" + std::string(word) + "',");
    }
  }

  /// Behind its space, up to the semicolon.
  Variable variable() {
    Variable result;
    uint64_t each = 1;
    while (tokens.now.starts_with(".")) {
      std::string_view word = tokens.take();
      if (word == ".align")
        result.alignment = number();
      else if (unsigned bits = bitsOfType(word))
        each = bits / 8;
    }
    result.name = tokens.take();
    result.bytes = each;
    while (tokens.takeIf("[")) {
      if (tokens.takeIf("]")) {
        result.isOpen = true;
        result.bytes = 0;
        continue;
      }
      result.bytes *= number();
      tokens.expect("]");
    }
    if (tokens.takeIf("="))
      result.start = initializer(each);
    tokens.expect(";");
    return result;
  }

  std::vector<std::byte> initializer(uint64_t each) {
    std::vector<std::byte> bytes;
    bool isList = tokens.takeIf("{");
    do {
      Operand value = operand();
      auto *from = reinterpret_cast<const std::byte *>(&value.bits);
      bytes.insert(bytes.end(), from, from + each);
    } while (tokens.takeIf(","));
    if (isList)
      tokens.expect("}");
    return bytes;
  }

  void parseEntry() {
    EntryText entry;
    entry.name = tokens.take();
    tokens.expect("(");
    while (!tokens.takeIf(")")) {
      entry.parameters.push_back(parameter());
      tokens.takeIf(",");
    }
    while (!tokens.takeIf("{"))
      parseDirective(entry);
    for (unsigned depth = 1; depth > 0;) {
      depth += tokens.now == "{";
      depth -= tokens.now == "}";
      if (depth > 0)
        parseStatement(entry.body);
    }
    tokens.expect("}");
    module.entries.push_back(std::move(entry));
  }

  Parameter parameter() {
    Parameter result{"", 1, 1};
    while (tokens.now.starts_with(".")) {
      std::string_view word = tokens.take();
      if (word == ".align")
        result.alignment = number();
      else if (unsigned bits = bitsOfType(word))
        result.bytes = bits / 8;
    }
    result.name = tokens.take();
    result.alignment = std::max(result.alignment, std::min<uint64_t>(result.bytes, 8));
    if (tokens.now == "[") {
      tokens.take();
      result.bytes *= number();
      tokens.expect("]");
    } else {
      result.alignment = result.bytes; // What ".ptr .align" says is of what it points to.
    }
    return result;
  }

  void parseDirective(EntryText &entry) {
    std::string_view word = tokens.take();
    if (word == ".maxntid")
      entry.mostThreads = unsigned(numbersInAll());
    else if (word == ".reqnctapercluster")
      entry.clusterWidth = unsigned(numbersInAll());
    else if (word == ".minnctapersm" || word == ".maxnreg")
      number();
    else if (word != ".explicitcluster")
      tokens.fail("this is not known of an entry: '" + std::string(word) + "',");
  }

  /// "4, 1, 1": their product.
  uint64_t numbersInAll() {
    uint64_t product = number();
    while (tokens.takeIf(","))
      product *= number();
    return product;
  }

  void parseStatement(std::vector<Statement> &body) {
    Statement result;
    result.line = tokens.line;
    if (tokens.now == "{" || tokens.now == "}") {
      result.kind = tokens.take() == "{" ? Statement::Kind::Open : Statement::Kind::Close;
    } else if (tokens.now == ".reg") {
      registers(result);
    } else if (tokens.now == ".local" || tokens.now == ".shared") {
      result.kind = tokens.take() == ".local" ? Statement::Kind::Local : Statement::Kind::Shared;
      result.variable = variable();
    } else if (tokens.now == ".pragma") {
      while (!tokens.takeIf(";"))
        tokens.take();
      return;
    } else {
      instruction(result);
    }
    body.push_back(std::move(result));
  }

  void registers(Statement &result) {
    tokens.take();
    result.kind = Statement::Kind::Registers;
    result.bits = bitsOfType(tokens.take());
    do {
      std::string_view name = tokens.take();
      unsigned count = 0;
      if (tokens.takeIf("<")) {
        count = unsigned(number());
        tokens.expect(">");
      }
      result.registers.push_back({name, count});
    } while (tokens.takeIf(","));
    tokens.expect(";");
  }

  void instruction(Statement &result) {
    if (tokens.takeIf("@")) {
      result.isGuardNegated = tokens.takeIf("!");
      result.guard = tokens.take();
    }
    result.name = tokens.take();
    if (tokens.takeIf(":")) {
      result.kind = Statement::Kind::Label;
      return;
    }
    while (!tokens.takeIf(";")) {
      result.operands.push_back(operand());
      if (tokens.now != ";")
        tokens.expect(",");
    }
  }

  Operand operand() {
    Operand result;
    if (tokens.takeIf("{")) {
      result.kind = Operand::Kind::Vector;
      do
        result.parts.push_back(operand());
      while (tokens.takeIf(","));
      tokens.expect("}");
    } else if (tokens.takeIf("[")) {
      address(result);
    } else if (tokens.takeIf("_")) {
      result.kind = Operand::Kind::Sink;
      if (tokens.takeIf("|"))
        result.second = tokens.take();
    } else {
      nameOrNumber(result);
    }
    return result;
  }

  void address(Operand &result) {
    result.kind = Operand::Kind::Address;
    if (std::isdigit(static_cast<unsigned char>(tokens.now[0])))
      result.offset = int64_t(number());
    else
      result.name = tokens.take();
    if (tokens.takeIf("+")) {
      bool isNegative = tokens.takeIf("-");
      result.offset = int64_t(number()) * (isNegative ? -1 : 1);
    } else if (tokens.takeIf("-")) {
      result.offset = -int64_t(number());
    }
    if (tokens.takeIf(",")) {
      tokens.expect("{");
      do
        result.parts.push_back(operand());
      while (tokens.takeIf(","));
      tokens.expect("}");
    }
    tokens.expect("]");
  }

  void nameOrNumber(Operand &result) {
    bool isNegative = tokens.takeIf("-");
    if (!std::isdigit(static_cast<unsigned char>(tokens.now[0]))) {
      result.kind = Operand::Kind::Name;
      result.isNegated = tokens.takeIf("!");
      result.name = tokens.take();
      if (tokens.takeIf("|"))
        result.second = tokens.take();
      return;
    }
    result.kind = Operand::Kind::Number;
    std::string_view word = tokens.now;
    if (word.starts_with("0f") || word.starts_with("0d")) {
      result.form = word[1] == 'f' ? Operand::NumberForm::Float : Operand::NumberForm::Double;
      result.bits = std::strtoull(std::string(word.substr(2)).c_str(), nullptr, 16);
      tokens.take();
      return;
    }
    result.bits = number();
    if (isNegative)
      result.bits = -result.bits;
  }

  Tokens tokens;
  ModuleText module;
};

} // namespace

ModuleText parse(std::string_view text) { return Parser(text).parse(); }

} // namespace kintsugi::emulator
