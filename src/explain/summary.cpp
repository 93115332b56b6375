#include "explain/summary.h"

#include "explain/render.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>

namespace kintsugi::explain {

namespace {

/// So many records of a kind are told one by one: they are what a reader wants to see in full, such
/// as the solver's bounds.
constexpr size_t fewRecords = 3;

/// Where the name that is quoted at `start` ends; npos where none is: "can't" quotes nothing.
size_t endOfName(const std::string &text, size_t start) {
  bool opens = text[start] == '\'' &&
               (start == 0 || !std::isalnum(static_cast<unsigned char>(text[start - 1])));
  return opens ? text.find('\'', start + 1) : std::string::npos;
}

/// With '..' for quoted names and N for numbers; several names in a row are one.
std::string shapeOf(const std::string &text) {
  std::string shape;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t end = endOfName(text, i);
    if (end != std::string::npos) {
      shape += "'..'";
      i = end;
    } else if (std::isdigit(static_cast<unsigned char>(text[i]))) {
      shape += shape.ends_with("N") ? "" : "N";
    } else {
      shape += text[i];
    }
  }
  for (const std::string several = "'..', '..'"; shape.find(several) != std::string::npos;)
    shape.replace(shape.find(several), several.size(), "'..'");
  return shape;
}

/// From the greatest count on; equal ones in the order of their first record.
template <typename T, typename Count> void sortByCount(std::vector<T> &all, Count count) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return count(all[a]) != count(all[b]) ? count(all[a]) > count(all[b]) : a < b;
  });
  std::vector<T> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
}

std::string firstWord(const std::string &text) { return text.substr(0, text.find(' ')); }

void addNumber(std::vector<Range> &ranges, const Number &number) {
  auto range = std::find_if(ranges.begin(), ranges.end(),
                            [&](const Range &known) { return known.name == number.name; });
  if (range == ranges.end()) {
    ranges.push_back({number.name, number.value, number.value, number.unit});
    return;
  }
  range->low = std::min(range->low, number.value);
  range->high = std::max(range->high, number.value);
}

/// By its first number, which is what a phase says first of a decision.
bool isGreater(const Record &record, const std::optional<Record> &known) {
  return !record.numbers.empty() &&
         (!known || record.numbers.front().value > known->numbers.front().value);
}

Kind kindOfOne(const Record &record) {
  Kind kind{record.phase, record.subject, record.decision, 1, {}, {}, {}};
  for (const std::string &reason : record.reasons)
    kind.reasons.emplace_back(reason, 1);
  for (const Number &number : record.numbers)
    addNumber(kind.numbers, number);
  return kind;
}

Kind kindOfMany(std::span<const Record> records, const std::vector<size_t> &members) {
  const Record &first = records[members.front()];
  Kind kind{first.phase, firstWord(first.subject), shapeOf(first.decision), members.size(), {}, {}};
  std::map<std::string, size_t> places;
  for (size_t member : members) {
    for (const std::string &reason : records[member].reasons) {
      std::string shape = shapeOf(reason);
      auto [place, fresh] = places.try_emplace(shape, kind.reasons.size());
      if (fresh)
        kind.reasons.emplace_back(shape, 0);
      ++kind.reasons[place->second].second;
    }
    for (const Number &number : records[member].numbers)
      addNumber(kind.numbers, number);
    if (isGreater(records[member], kind.greatest))
      kind.greatest = records[member];
  }
  sortByCount(kind.reasons, [](const auto &reason) { return reason.second; });
  return kind;
}

std::vector<Kind> kindsOfPhase(std::span<const Record> records, const std::vector<size_t> &phase) {
  std::map<std::pair<std::string, std::string>, size_t> places;
  std::vector<std::vector<size_t>> groups;
  for (size_t i : phase) {
    auto [place, fresh] = places.try_emplace(
        {firstWord(records[i].subject), shapeOf(records[i].decision)}, groups.size());
    if (fresh)
      groups.emplace_back();
    groups[place->second].push_back(i);
  }
  std::vector<Kind> kinds;
  for (const std::vector<size_t> &group : groups) {
    if (group.size() > fewRecords) {
      kinds.push_back(kindOfMany(records, group));
      continue;
    }
    for (size_t i : group)
      kinds.push_back(kindOfOne(records[i]));
  }
  sortByCount(kinds, [](const Kind &kind) { return kind.count; });
  return kinds;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

} // namespace

std::vector<Kind> summarize(std::span<const Record> records) {
  std::vector<Kind> all;
  for (const std::vector<size_t> &phase : groupByPhase(records))
    for (Kind &kind : kindsOfPhase(records, phase))
      all.push_back(std::move(kind));
  return all;
}

Json renderJson(std::span<const Kind> kinds) {
  Json list = Json::array();
  for (const Kind &kind : kinds) {
    Json reasons = Json::array(), numbers = Json::object();
    for (const auto &[reason, count] : kind.reasons)
      reasons.push_back({{"reason", reason}, {"count", count}});
    for (const Range &range : kind.numbers)
      numbers[range.name] = {
          {"low", finite(range.low)}, {"high", finite(range.high)}, {"unit", range.unit}};
    list.push_back({{"phase", kind.phase},
                    {"subject", kind.subject},
                    {"decision", kind.decision},
                    {"count", kind.count},
                    {"reasons", std::move(reasons)},
                    {"numbers", std::move(numbers)},
                    {"greatest", kind.greatest ? renderJson({&*kind.greatest, 1})[0] : Json()}});
  }
  return list;
}

} // namespace kintsugi::explain
