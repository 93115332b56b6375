//===- decisions.h - What was decided by prices, once each ------------------===//
//
// Twelve equal layers are one decision. Whoever prices what a part of a program could become keeps
// what came of it here, by a key that equal parts share, and prices no more of them than it has
// fuel for.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_DECISIONS_H
#define KINTSUGI_COST_DECISIONS_H

#include "cost/fuel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <string>

namespace kintsugi::cost {

template <typename Decision> class Decisions {
public:
  /// At most `fuel` of them are made.
  explicit Decisions(unsigned fuel) : fuel(fuel) {}

  /// What `decide` gives, or gave for this key before; a Decision() where no fuel was left for it.
  /// It stays where it is.
  const Decision &at(const std::string &key, llvm::function_ref<Decision()> decide) {
    auto [entry, isNew] = known.try_emplace(key);
    if (isNew && fuel.take())
      entry->second = decide();
    return entry->second;
  }

  /// One record of `phase` if the fuel ran out; `log` may be null. `what`: was to be decided.
  void tell(explain::Log *log, const char *phase, const char *what) const {
    fuel.tell(log, phase, what);
  }

private:
  Fuel fuel;
  std::map<std::string, Decision> known;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_DECISIONS_H
