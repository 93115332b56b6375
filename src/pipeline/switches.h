//===- switches.h - What the compiler can be told not to do -----------------===//
//
// One table of all that --disable names: the derivation rules (derive/rule.h), the choice of
// formats, and what schedules and plans can do. Help, the settings that are read, the key of the
// cache and docs/rules.md are made from it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_SWITCHES_H
#define KINTSUGI_PIPELINE_SWITCHES_H

#include "base/json.h"
#include "machine/machine.h"

#include <set>
#include <string>
#include <vector>

namespace kintsugi::derive {
struct Rule;
}

namespace kintsugi::pipeline {

/// A word of --disable that is no rule's name.
struct Switch {
  const char *name;
  const char *what;                               ///< What it allows, as a sentence.
  bool (*helps)(const machine::Machine &machine); ///< As Rule::helps.
  /// Whether all that it decides is what a kernel is like: trial runs, which are to be compiled
  /// quickly, do without.
  bool isOfSchedules;
};

/// What was switched off.
class Disabled {
public:
  /// `name` is one of switchNames(); "derivation" adds the name of each rule.
  void add(const std::string &name);
  bool has(std::string_view name) const;
  /// In alphabetical order.
  const std::set<std::string, std::less<>> &names() const { return all; }

private:
  std::set<std::string, std::less<>> all;
};

/// All names: the rules' in the order in which they are applied, then the others'.
std::vector<std::string> switchNames();

/// Whether a rule may be applied: by its name, and to operators that are to be kept whole.
bool isAllowed(const derive::Rule &rule, const Disabled &disabled);

/// All rules and what schedules search for: nothing that a plan could not do without.
Disabled withoutSearch();

/// [{"name", "kind": "rule" or "switch", "what", "targets" that it changes anything on, and of a
/// rule "exactness", "assumes", "source", "across_operators" (Rule::movesAcrossOperators)}]
Json describeSwitches();

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_SWITCHES_H
