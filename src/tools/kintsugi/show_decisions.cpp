//===- show_decisions.cpp - Why the compiler did what it did --------------===//

#include "base/diagnostics.h"
#include "tools/kintsugi/report_text.h"
#include "tools/kintsugi/show.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::tool {

namespace {

/// Of a phase, and of a kind of decision; how many more there are is said.
constexpr size_t mostKinds = 12, mostReasons = 5;
/// Groups of many definitions have long names.
constexpr size_t mostCharacters = 160;

std::string clipped(std::string line) {
  if (line.size() <= mostCharacters)
    return line;
  line.resize(mostCharacters);
  // Not in the middle of a character: names are UTF-8.
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80)
    line.pop_back();
  if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xC0)
    line.pop_back();
  return line + "...";
}

std::string withUnit(double value, const std::string &unit) {
  if (unit == "s")
    return milliseconds(value * 1e3);
  if (unit == "bytes")
    return bytes(value);
  return format(unit.empty() ? "%.6g%s" : "%.6g %s", value, unit.c_str());
}

/// "objective 12.5 us, gap 0"; ranges as "4 to 7".
std::string numbersOf(const Json &numbers) {
  std::string all;
  for (const auto &[name, entry] : numbers.items()) {
    std::string unit = text(entry, "unit");
    bool range = entry.contains("low");
    double low = number(entry, range ? "low" : "value"), high = range ? number(entry, "high") : low;
    all += (all.empty() ? "" : ", ") + name + " " + withUnit(low, unit);
    if (high != low)
      all += " to " + withUnit(high, unit);
  }
  return all.empty() ? all : "    " + all + "\n";
}

std::string showKind(const Json &kind) {
  double count = number(kind, "count");
  std::string subject = text(kind, "subject");
  if (count > 1)
    subject = format("%.0f times, ", count) + subject;
  std::string all = clipped("  " + subject + ": " + text(kind, "decision")) + "\n";
  const Json &reasons = kind["reasons"];
  for (size_t i = 0; i < std::min(reasons.size(), mostReasons); ++i) {
    std::string times = count > 1 ? format("%.0f ", number(reasons[i], "count")) : "";
    all += clipped("    " + times + "because " + text(reasons[i], "reason")) + "\n";
  }
  if (reasons.size() > mostReasons)
    all += format("    and %zu other reasons\n", reasons.size() - mostReasons);
  all += numbersOf(kind["numbers"]);
  const Json &greatest = kind["greatest"];
  if (!greatest.is_object())
    return all;
  return all +
         clipped("    greatest: " + text(greatest, "subject") + ": " + text(greatest, "decision")) +
         "\n  " + numbersOf(greatest["numbers"]);
}

std::string showSummary(const Json &kinds) {
  std::string all, phase;
  size_t shown = 0, left = 0;
  auto endPhase = [&] {
    if (left > 0)
      all += format("  and %zu other kinds of decision\n", left);
    shown = left = 0;
  };
  for (const Json &kind : kinds) {
    if (text(kind, "phase") != phase) {
      endPhase();
      phase = text(kind, "phase");
      all += phase + ":\n";
    }
    if (shown == mostKinds) {
      ++left;
      continue;
    }
    ++shown;
    all += showKind(kind);
  }
  endPhase();
  return all;
}

std::string showRecords(const Json &records) {
  std::string all, phase;
  for (const Json &record : records) {
    if (text(record, "phase") != phase) {
      phase = text(record, "phase");
      all += phase + ":\n";
    }
    all += "  " + text(record, "subject") + ": " + text(record, "decision") + "\n";
    for (const Json &reason : record["reasons"])
      all += "    because " + printable(reason.get<std::string>()) + "\n";
    all += numbersOf(record["numbers"]);
  }
  return all;
}

} // namespace

std::string showDecisions(const Json &decisions, bool all) {
  if (!decisions.is_object())
    return "An artifact does not say what was decided; explain the model that it was made of.\n";
  std::string derivations = showDerivations(decisions, all);
  if (all)
    return derivations + showRecords(decisions["records"]);
  return derivations + showSummary(decisions["summary"]) + "--decisions shows each decision.\n";
}

} // namespace kintsugi::tool
