#include "derive/rule.h"

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

bool runsBlocks(const machine::Machine &machine) { return machine.threads > 0; }
bool runsVectors(const machine::Machine &machine) { return machine.threads == 0; }
bool runsAnything(const machine::Machine &) { return true; }

} // namespace kintsugi::derive
