//===- summary.h - Many decisions in few lines ------------------------------===//
//
// A model of hundreds of operators makes thousands of records that differ in the names of values
// alone. Here they are counted by kind, so that a person sees what happened mostly, and where to
// look in the whole log.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_EXPLAIN_SUMMARY_H
#define KINTSUGI_EXPLAIN_SUMMARY_H

#include "base/json.h"
#include "explain/log.h"

#include <optional>
#include <span>

namespace kintsugi::explain {

/// A number over the records of a kind.
struct Range {
  std::string name;
  double low = 0, high = 0;
  std::string unit;
};

/// Records of a phase whose decisions differ in quoted names and in numbers alone.
struct Kind {
  std::string phase;
  std::string subject;  ///< Of the only record, or what they are of: "group".
  std::string decision; ///< Of the only record, or with '..' for names and N for numbers.
  size_t count = 0;
  std::vector<std::pair<std::string, size_t>> reasons; ///< With names and numbers likewise.
  std::vector<Range> numbers;
  std::optional<Record> greatest; ///< Of several, the one with the greatest first number.
};

/// Phases in the order of their first record; the kinds of a phase, and the reasons of a kind, from
/// the most frequent on. Kinds of few records are told record by record.
std::vector<Kind> summarize(std::span<const Record> records);

/// [{"phase", "subject", "decision", "count", "reasons": [{"reason", "count"}],
///   "numbers": {name: {"low", "high", "unit"}}, "greatest": as a record's, or null}]. A number
///   that is
/// not finite is null.
Json renderJson(std::span<const Kind> kinds);

} // namespace kintsugi::explain

#endif // KINTSUGI_EXPLAIN_SUMMARY_H
