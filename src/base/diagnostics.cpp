//===- diagnostics.cpp - What a library has to say, collected -------------===//

#include "base/diagnostics.h"

#include "base/utf8.h"

#include <algorithm>
#include <cstdio>

using namespace kintsugi;

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

bool kintsugi::isControl(uint32_t point) {
  bool isCode = point < 0x20 || (point >= 0x7f && point < 0xa0);
  bool isSeparator = point == 0x2028 || point == 0x2029;
  bool turnsDirection = point == 0x61c || point == 0x200e || point == 0x200f ||
                        (point >= 0x202a && point <= 0x202e) ||
                        (point >= 0x2066 && point <= 0x2069);
  return isCode || isSeparator || turnsDirection || point == 0xfeff;
}

std::string kintsugi::printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::string_view before = text;
    std::optional<uint32_t> point = takeCodePoint(text);
    char spelled[16];
    if (!point) {
      std::snprintf(spelled, sizeof(spelled), "\\x%02x", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    } else if (isControl(*point)) {
      std::snprintf(spelled, sizeof(spelled), *point < 0x100 ? "\\x%02x" : "\\u%04x", *point);
    } else {
      result += before.substr(0, before.size() - text.size());
      continue;
    }
    result += spelled;
  }
  return result;
}

/// At most `most` bytes of a text, its ends and "..." in the place of its middle; no character is
/// cut in two.
static std::string withoutMiddle(std::string_view text, size_t most) {
  if (text.size() <= most)
    return std::string(text);
  auto continues = [&](size_t at) { return (text[at] & 0xc0) == 0x80; };
  size_t head = most / 2 - 3, tail = text.size() - head;
  while (head > 0 && continues(head))
    --head;
  while (tail < text.size() && continues(tail))
    ++tail;
  return std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
}

std::string kintsugi::oneLine(std::string_view message) {
  constexpr size_t longestWord = 300, longestMessage = 4000;
  std::string text = printable(message), result;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find(' ', start), text.size());
    result += withoutMiddle(std::string_view(text).substr(start, end - start), longestWord);
    if (end < text.size())
      result += ' ';
    start = end + 1;
  }
  return withoutMiddle(result, longestMessage);
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

static std::string_view wordFor(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    return "error";
  }
  return "";
}

std::string Diagnostic::str() const {
  std::string line;
  if (!where.empty())
    line += where + ": ";
  line += wordFor(severity);
  line += ": ";
  if (!node.empty())
    line += "node '" + node + "': ";
  return oneLine(line + message);
}

void Diagnostics::add(Diagnostic diagnostic) {
  std::lock_guard lock(mutex);
  entries.push_back(std::move(diagnostic));
}

void Diagnostics::note(std::string where, std::string node, std::string message) {
  add({Severity::Note, std::move(where), std::move(node), std::move(message)});
}

void Diagnostics::warning(std::string where, std::string node, std::string message) {
  add({Severity::Warning, std::move(where), std::move(node), std::move(message)});
}

void Diagnostics::error(std::string where, std::string node, std::string message) {
  add({Severity::Error, std::move(where), std::move(node), std::move(message)});
}

std::vector<Diagnostic> Diagnostics::take() {
  std::lock_guard lock(mutex);
  return std::exchange(entries, {});
}

std::vector<Diagnostic> Diagnostics::list() const {
  std::lock_guard lock(mutex);
  return entries;
}

size_t Diagnostics::count(Severity severity) const {
  std::lock_guard lock(mutex);
  return std::count_if(entries.begin(), entries.end(),
                       [&](const Diagnostic &entry) { return entry.severity == severity; });
}

Status Diagnostics::status() const {
  std::lock_guard lock(mutex);
  const Diagnostic *first = nullptr;
  size_t errors = 0;
  for (const Diagnostic &entry : entries)
    if (entry.severity == Severity::Error && ++errors == 1)
      first = &entry;
  if (!first)
    return Status::success();
  std::string message = first->where.empty() ? "" : first->where + ": ";
  if (!first->node.empty())
    message += "node '" + first->node + "': ";
  message += first->message;
  if (errors > 1)
    message += " (and " + std::to_string(errors - 1) + " more)";
  return inputError(std::move(message));
}
