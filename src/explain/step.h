//===- step.h - How definitions came about, step by step --------------------===//
//
// Whoever replaces definitions by equal ones tells the log of a step: both as programs of their
// own, so that a reader can follow what became what, and a test can evaluate them. Steps that go on
// with what others made are a chain.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_EXPLAIN_STEP_H
#define KINTSUGI_EXPLAIN_STEP_H

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace kintsugi::explain {

struct Step {
  std::string rule;     ///< By which it was made.
  std::string equation; ///< What the rule says is equal.
  /// Programs, as text, that have equal outputs for equal inputs; either may read less than the
  /// other.
  std::string before, after;
  std::vector<std::string> values;            ///< Names of the outputs.
  std::vector<std::string> replaced, defined; ///< Names of all that either of them defines.

  std::string refusal = {}; ///< Why it was not taken; empty: it was.

  bool operator==(const Step &) const = default;
};

/// Numbers of steps that were taken, each chain in order: a step is in the chain of those whose
/// definitions it replaces.
std::vector<std::vector<size_t>> chainsOf(std::span<const Step> steps);

/// Numbers of the steps that led to definitions of some names: those that define them, and whatever
/// made what these replace.
std::vector<size_t> stepsTo(std::span<const Step> steps, const std::vector<std::string> &names);

} // namespace kintsugi::explain

#endif // KINTSUGI_EXPLAIN_STEP_H
