#include "explain/render.h"

#include <cmath>
#include <cstdio>
#include <map>

namespace kintsugi::explain {

namespace {

struct Unit {
  double size;
  const char *name;
};

constexpr Unit times[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
constexpr Unit sizes[] = {
    {1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024, "KiB"}, {1, "B"}};

std::string withUnit(double value, const char *unit) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.4g%s%s", value, *unit ? " " : "", unit);
  return text;
}

/// By the largest unit that leaves at least 1, or the smallest.
template <size_t N> std::string scaled(double value, const Unit (&units)[N]) {
  for (const Unit &unit : units)
    if (std::abs(value) >= unit.size)
      return withUnit(value / unit.size, unit.name);
  return withUnit(value / units[N - 1].size, units[N - 1].name);
}

} // namespace

std::string show(const Number &number) {
  if (number.unit == "s")
    return scaled(number.value, times);
  if (number.unit == "bytes")
    return scaled(number.value, sizes);
  return withUnit(number.value, number.unit.c_str());
}

std::vector<std::vector<size_t>> groupByPhase(std::span<const Record> records) {
  std::map<std::string, size_t> places;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < records.size(); ++i) {
    auto [place, fresh] = places.try_emplace(records[i].phase, groups.size());
    if (fresh)
      groups.emplace_back();
    groups[place->second].push_back(i);
  }
  return groups;
}

std::string renderText(std::span<const Record> records) {
  std::string text;
  for (const std::vector<size_t> &group : groupByPhase(records)) {
    text += (text.empty() ? "" : "\n") + records[group.front()].phase + ":\n";
    for (size_t i : group) {
      const Record &record = records[i];
      text += "  " + record.subject + ": " + record.decision + "\n";
      for (const std::string &reason : record.reasons)
        text += "    because " + reason + "\n";
      std::string numbers;
      for (const Number &number : record.numbers)
        numbers += (numbers.empty() ? "" : ", ") + number.name + " " + show(number);
      if (!numbers.empty())
        text += "    " + numbers + "\n";
    }
  }
  return text;
}

Json renderJson(std::span<const Record> records) {
  Json list = Json::array();
  for (const std::vector<size_t> &group : groupByPhase(records))
    for (size_t i : group) {
      const Record &record = records[i];
      Json numbers = Json::object();
      for (const Number &number : record.numbers) {
        Json value = std::isfinite(number.value) ? Json(number.value) : Json();
        numbers[number.name] = {{"value", std::move(value)}, {"unit", number.unit}};
      }
      list.push_back({{"phase", record.phase},
                      {"subject", record.subject},
                      {"decision", record.decision},
                      {"reasons", record.reasons},
                      {"numbers", std::move(numbers)}});
      if (!record.rule.empty())
        list.back()["rule"] = record.rule;
    }
  return list;
}

} // namespace kintsugi::explain
