//===- diagnostics.cpp - What a library has to say, collected -------------===//

#include "base/diagnostics.h"

#include <algorithm>

using namespace kintsugi;

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
  return line + message;
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
