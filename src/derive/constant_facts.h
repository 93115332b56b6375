//===- constant_facts.h - What rules know of constant factors --------------===//
//
// The elements of a constant are looked at once for all forms of a program: a few first, since most
// weights have no pattern, and no more than a budget allows.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_CONSTANT_FACTS_H
#define KINTSUGI_DERIVE_CONSTANT_FACTS_H

#include "derive/alike_rows.h"
#include "derive/nonzeros.h"

#include <map>

namespace kintsugi::derive {

struct FactorFacts {
  FactorElements elements;
  std::optional<Nonzeros> nonzeros;
  std::vector<std::optional<AlikeRows>> alike; ///< By row iterator.
};

/// Keeps what was found, by constant and by the way in which it is read.
class ConstantFacts {
public:
  /// Null where a factor is no constant, and where it would take too long to look at it.
  std::shared_ptr<const FactorFacts> of(const SumFactor &factor, const te::Definition &sum,
                                        const te::Program &program,
                                        const std::vector<bool> &constantNodes);

private:
  std::shared_ptr<const FactorFacts> look(FactorElements elements);
  static bool take(int64_t &budget, double amount);

  std::map<FactorElements, std::shared_ptr<const FactorFacts>> known;
  int64_t elements = int64_t(1) << 26; ///< That may still be looked at,
  int64_t bytes = int64_t(1) << 30;    ///< loaded,
  int64_t computed = int64_t(1) << 20; ///< or computed from other constants.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_CONSTANT_FACTS_H
