#include "pipeline/tried_values.h"

#include "space/group_names.h"

#include <algorithm>

namespace kintsugi::pipeline {

static void raise(double &magnitude, double to) { magnitude = std::max(magnitude, to); }

void TriedValues::add(const te::Program &program, const simplify::Tried &tried) {
  wasUnseen |= tried.greatest.empty();
  for (size_t value = 0; value < tried.greatest.size(); ++value)
    raise(greatest[program.values[value].name], tried.greatest[value]);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    kept[space::nameOf(program, node)] |= tried.isKept(node);
}

void TriedValues::join(const TriedValues &other) {
  wasUnseen |= other.wasUnseen;
  for (const auto &[name, magnitude] : other.greatest)
    raise(greatest[name], magnitude);
  for (const auto &[name, stays] : other.kept)
    kept[name] |= stays;
}

std::optional<simplify::Tried> TriedValues::of(const te::Program &program) const {
  if (wasUnseen && !greatest.empty())
    return std::nullopt;
  simplify::Tried result;
  for (const te::Value &value : program.values) {
    auto found = greatest.find(value.name);
    if (found != greatest.end())
      result.greatest.push_back(found->second);
    else if (!wasUnseen)
      return std::nullopt;
  }
  bool any = false;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    auto found = kept.find(space::nameOf(program, node));
    if (found == kept.end())
      return std::nullopt;
    result.kept.push_back(found->second);
    any |= found->second;
  }
  if (!any)
    result.kept.clear();
  return result;
}

} // namespace kintsugi::pipeline
