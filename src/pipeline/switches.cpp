#include "pipeline/switches.h"

#include "derive/rule.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::pipeline {

/// The word that stands for the name of each rule.
static constexpr const char *allRules = "derivation";

static constexpr Switch switches[] = {
    {allRules,
     "Rules may make other expressions for the same values; the word stands for all rules.",
     derive::runsAnything, true},
    {"alternatives",
     "The solver may choose among the forms that rules and formats make, part by part.",
     derive::runsAnything, true},
    {"fission",
     "Kernels may have a part of an operator's definitions, and rules may leave sums of one "
     "operator to another; without, forms are not mixed either.",
     derive::runsAnything, false},
    {"formats", "Values may be stored with their dimensions in another order.",
     derive::runsAnything, true},
    {"fusion", "Several definitions may share a kernel.", derive::runsAnything, false},
    {"launch-merging", "Kernels that don't wait for each other may share a launch.",
     derive::runsBlocks, false},
    {"packing", "Constants may be packed in the order in which a kernel reads them.",
     derive::runsVectors, true},
    {"staging", "Tiles may copy operands and results on the way.", derive::runsAnything, true},
    {"bulk-copies", "A GPU's tensor copies may bring operands of products.", derive::runsBlocks,
     false},
    {"storage-scales",
     "Values of 16 bits may be stored without a power of two, which a trial run finds.",
     derive::runsAnything, false},
};

/// The targets on whose machines it changes anything.
static Json targetsOf(bool (*helps)(const machine::Machine &)) {
  Json targets = Json::array();
  for (auto [target, level] : {std::pair{"cpu", "x86-64-v3"}, std::pair{"cuda", "sm_90a"}})
    if (helps(*machine::Machine::forLevel(level)))
      targets.push_back(target);
  return targets;
}

void Disabled::add(const std::string &name) {
  assert(llvm::is_contained(switchNames(), name) && "no switch has that name");
  if (name != allRules)
    all.insert(name);
  else
    for (const derive::Rule *rule : derive::rules())
      all.insert(rule->name);
}

bool Disabled::has(std::string_view name) const {
  assert(llvm::is_contained(switchNames(), name) && name != allRules && "no switch has that name");
  return all.find(name) != all.end();
}

std::vector<std::string> switchNames() {
  std::vector<std::string> names;
  for (const derive::Rule *rule : derive::rules())
    names.push_back(rule->name);
  for (const Switch &each : switches)
    names.push_back(each.name);
  return names;
}

bool isAllowed(const derive::Rule &rule, const Disabled &disabled) {
  return !disabled.has(rule.name) && !(rule.movesAcrossOperators && disabled.has("fission"));
}

Disabled withoutSearch() {
  Disabled disabled;
  for (const Switch &each : switches)
    if (each.isOfSchedules)
      disabled.add(each.name);
  return disabled;
}

Json describeSwitches() {
  Json all = Json::array();
  for (const derive::Rule *rule : derive::rules())
    all.push_back({{"name", rule->name},
                   {"kind", "rule"},
                   {"what", rule->equation},
                   {"targets", targetsOf(rule->helps)},
                   {"exactness", nameOf(rule->exactness)},
                   {"assumes", rule->assumes},
                   {"source", rule->source},
                   {"across_operators", rule->movesAcrossOperators}});
  for (const Switch &each : switches)
    all.push_back({{"name", each.name},
                   {"kind", "switch"},
                   {"what", each.what},
                   {"targets", targetsOf(each.helps)}});
  return all;
}

} // namespace kintsugi::pipeline
