//===- problem_text.cpp - The text form of a problem: print and parse -----===//

#include "solve/problem.h"

#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

namespace kintsugi::solve {
namespace {

constexpr std::array<std::string_view, 5> clauseWords = {"cost", "takes", "covers", "consumes",
                                                         "produces"};

bool isClauseWord(std::string_view word) {
  for (std::string_view clause : clauseWords)
    if (word == clause)
      return true;
  return false;
}

bool isBare(std::string_view name) {
  if (name.empty() || isClauseWord(name))
    return false;
  for (char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '#' || c == '\\' || c == 127)
      return false;
  return true;
}

void printName(std::string &out, const std::string &name) {
  out += ' ';
  if (isBare(name)) {
    out += name;
    return;
  }
  out += '"';
  for (char c : name) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  out += '"';
}

void printNumber(std::string &out, double number) {
  std::array<char, 32> digits;
  auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out += ' ';
  out.append(digits.data(), end);
}

/// Finite and at least 0. The error has no place yet.
Expected<double> parseNumber(const std::string &what, const std::string &text) {
  double number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(number) ||
      number < 0)
    return inputError(what + " '" + text + "' is not a finite number of at least 0");
  return number;
}

struct Token {
  std::string text;
  bool quoted = false;
};

/// One line into words. The error has no place yet.
Expected<std::vector<Token>> split(std::string_view line) {
  std::vector<Token> tokens;
  size_t at = 0;
  while (at < line.size()) {
    char c = line[at];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '#') {
      break;
    } else if (c == '"') {
      Token token{"", true};
      for (++at; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] != '\\') {
          token.text += line[at];
          continue;
        }
        char escape = ++at < line.size() ? line[at] : ' ';
        size_t which = std::string_view("ntr\"\\").find(escape);
        if (which == std::string_view::npos)
          return inputError("a backslash in a quoted name is followed by none of n t r \" \\");
        token.text += "\n\t\r\"\\"[which];
      }
      if (at == line.size())
        return inputError("a quoted name has no closing quote on its line");
      ++at;
      tokens.push_back(std::move(token));
    } else {
      size_t end = line.find_first_of(" \t\r#\"", at);
      end = end == std::string_view::npos ? line.size() : end;
      tokens.push_back({std::string(line.substr(at, end - at)), false});
      at = end;
    }
  }
  return tokens;
}

using Names = std::unordered_map<std::string, int32_t>;

class Parser {
public:
  Status statement(const std::vector<Token> &tokens);
  Problem problem;

private:
  Status declare(Names &names, const char *kind, const std::string &name, size_t id);
  Status header(const std::vector<Token> &tokens);
  Status room(const std::vector<Token> &tokens);
  Status column(const std::vector<Token> &tokens);
  Status refer(const Names &names, const char *kind, const Token &token,
               std::vector<int32_t> &into);

  bool named = false, hasRoom = false;
  Names items, resources, columns;
};

Status Parser::declare(Names &names, const char *kind, const std::string &name, size_t id) {
  if (name.empty())
    return inputError("a name is empty");
  if (!names.emplace(name, static_cast<int32_t>(id)).second)
    return inputError(std::string(kind) + " '" + name + "' is declared twice");
  return Status::success();
}

Status Parser::refer(const Names &names, const char *kind, const Token &token,
                     std::vector<int32_t> &into) {
  auto found = names.find(token.text);
  if (found == names.end())
    return inputError(std::string(kind) + " '" + token.text + "' is not declared above");
  into.push_back(found->second);
  return Status::success();
}

Status Parser::header(const std::vector<Token> &tokens) {
  if (named)
    return inputError("a second 'problem' line");
  named = true;
  problem.name = tokens[1].text;
  return Status::success();
}

Status Parser::room(const std::vector<Token> &tokens) {
  if (hasRoom)
    return inputError("a second 'room' line");
  hasRoom = true;
  KINTSUGI_ASSIGN(problem.room, parseNumber("the room", tokens[1].text));
  return Status::success();
}

Status Parser::column(const std::vector<Token> &tokens) {
  Column column;
  column.name = tokens[1].text;
  KINTSUGI_RETURN_IF_ERROR(declare(columns, "column", column.name, problem.columns.size()));
  if (tokens.size() < 4 || tokens[2].quoted || tokens[2].text != "cost")
    return inputError("a column needs 'cost' and a number after its name");
  KINTSUGI_ASSIGN(column.cost, parseNumber("the cost", tokens[3].text));
  size_t clause = 0, first = 4; // Index into clauseWords of the list being read.
  if (tokens.size() > 4 && !tokens[4].quoted && tokens[4].text == "takes") {
    if (tokens.size() == 5)
      return inputError("'takes' needs a number");
    KINTSUGI_ASSIGN(column.takes, parseNumber("what it takes", tokens[5].text));
    clause = 1, first = 6;
  }
  for (size_t i = first; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    if (!token.quoted && isClauseWord(token.text)) {
      size_t next = 0;
      while (clauseWords[next] != token.text)
        ++next;
      if (next <= clause)
        return inputError("'" + token.text +
                          "' is out of place: the order is cost, takes, covers, "
                          "consumes, produces, each at most once");
      clause = next;
    } else if (clause < 2) {
      return inputError("'" + token.text + "' stands where covers, consumes or produces should");
    } else if (clause == 2) {
      KINTSUGI_RETURN_IF_ERROR(refer(items, "item", token, column.covers));
    } else {
      KINTSUGI_RETURN_IF_ERROR(
          refer(resources, "resource", token, clause == 3 ? column.consumes : column.produces));
    }
  }
  KINTSUGI_RETURN_IF_ERROR(problem.checkColumn(column));
  problem.addColumn(std::move(column));
  return Status::success();
}

Status Parser::statement(const std::vector<Token> &tokens) {
  const std::string &word = tokens[0].text;
  if (tokens[0].quoted)
    return inputError("a line starts with a word, not a quoted name");
  if (tokens.size() < 2)
    return inputError("'" + word + "' needs a name");
  if (word == "column")
    return column(tokens);
  if (tokens.size() > 2)
    return inputError("'" + word + "' takes one name, here are " +
                      std::to_string(tokens.size() - 1));
  const std::string &name = tokens[1].text;
  if (word == "problem")
    return header(tokens);
  if (word == "room")
    return room(tokens);
  if (word == "item") {
    KINTSUGI_RETURN_IF_ERROR(declare(items, "item", name, problem.items.size()));
    problem.addItem(name);
    return Status::success();
  }
  if (word == "output") {
    std::vector<int32_t> found;
    KINTSUGI_RETURN_IF_ERROR(refer(resources, "resource", tokens[1], found));
    problem.setOutput(found[0]);
    return Status::success();
  }
  if (word != "input" && word != "value" && word != "derived")
    return inputError("unknown statement '" + word +
                      "'; known: problem, room, item, input, value, derived, output, column");
  KINTSUGI_RETURN_IF_ERROR(declare(resources, "resource", name, problem.resources.size()));
  problem.addResource(name, word == "input"   ? ResourceKind::Input
                            : word == "value" ? ResourceKind::Value
                                              : ResourceKind::Derived);
  return Status::success();
}

} // namespace

std::string Problem::print() const {
  std::string out = "problem";
  printName(out, name);
  out += '\n';
  if (std::isfinite(room)) {
    out += "room";
    printNumber(out, room);
    out += '\n';
  }
  for (const Item &item : items) {
    out += "item";
    printName(out, item.name);
    out += '\n';
  }
  for (const Resource &resource : resources) {
    out += resource.kind == ResourceKind::Input   ? "input"
           : resource.kind == ResourceKind::Value ? "value"
                                                  : "derived";
    printName(out, resource.name);
    out += '\n';
    if (resource.output) {
      out += "output";
      printName(out, resource.name);
      out += '\n';
    }
  }
  for (const Column &column : columns) {
    out += "column";
    printName(out, column.name);
    out += " cost";
    printNumber(out, column.cost);
    if (column.takes > 0) {
      out += " takes";
      printNumber(out, column.takes);
    }
    auto list = [&](const char *word, const std::vector<int32_t> &ids, const auto &names) {
      if (ids.empty())
        return;
      (out += ' ') += word;
      for (int32_t id : ids)
        printName(out, names[static_cast<size_t>(id)].name);
    };
    list("covers", column.covers, items);
    list("consumes", column.consumes, resources);
    list("produces", column.produces, resources);
    out += '\n';
  }
  return out;
}

Expected<Problem> parseProblem(std::string_view text, const std::string &file) {
  Parser parser;
  size_t number = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    std::string place = file + ":" + std::to_string(++number);
    auto tokens = split(line);
    if (!tokens.ok())
      return at(place, tokens.takeError());
    if (tokens->empty())
      continue;
    if (Status status = parser.statement(*tokens); !status.ok())
      return at(place, status.takeError());
  }
  if (Status status = parser.problem.check(); !status.ok())
    return at(file, status.takeError());
  return std::move(parser.problem);
}

} // namespace kintsugi::solve
