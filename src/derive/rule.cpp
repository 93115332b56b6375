#include "derive/rule.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

const char *nameOf(Exactness exactness) {
  return exactness == Exactness::Bitwise ? "bitwise" : "reassociates";
}

llvm::ArrayRef<const Rule *> rules() {
  static const Rule *const table[] = {
#define KINTSUGI_RULE(rule) &rule,
#include "derive/rules.inc"
#undef KINTSUGI_RULE
  };
  return table;
}

const Rule *findRule(std::string_view name) {
  const auto *found = llvm::find_if(rules(), [&](const Rule *rule) { return rule->name == name; });
  return found == rules().end() ? nullptr : *found;
}

bool runsBlocks(const machine::Machine &machine) { return machine.threads > 0; }
bool runsVectors(const machine::Machine &machine) { return machine.threads == 0; }
bool runsAnything(const machine::Machine &) { return true; }

} // namespace kintsugi::derive
