#include "pipeline/tried_values.h"

#include <algorithm>

namespace kintsugi::pipeline {

static const std::string &nameOf(const te::Program &program, uint32_t node) {
  return program.value(program.resultsOf(node)[0]).name;
}

void TriedValues::add(const te::Program &program, const simplify::Tried &tried) {
  if (tried.greatest.empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  for (uint32_t value = 0; value < program.values.size(); ++value) {
    double &its = greatest[program.values[value].name];
    its = std::max(its, tried.greatest[value]);
  }
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    kept[nameOf(program, node)] |= tried.isKept(node);
}

void TriedValues::join(const TriedValues &other) {
  std::scoped_lock lock(mutex, other.mutex);
  for (const auto &[name, magnitude] : other.greatest) {
    double &its = greatest[name];
    its = std::max(its, magnitude);
  }
  for (const auto &[name, stays] : other.kept)
    kept[name] |= stays;
}

std::optional<simplify::Tried> TriedValues::of(const te::Program &program) const {
  simplify::Tried result;
  for (const te::Value &value : program.values) {
    auto found = greatest.find(value.name);
    if (found == greatest.end())
      return std::nullopt;
    result.greatest.push_back(found->second);
  }
  bool any = false;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    auto found = kept.find(nameOf(program, node));
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
