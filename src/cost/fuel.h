//===- fuel.h - How much is priced ------------------------------------------===//
#ifndef KINTSUGI_COST_FUEL_H
#define KINTSUGI_COST_FUEL_H

#include "explain/log.h"

namespace kintsugi::cost {

/// Counts distinct forms that are priced, never seconds, and says what was left when it ran out.
class Fuel {
public:
  explicit Fuel(unsigned left) : left(left) {}

  /// False where none is left: what it was wanted for stays as it is.
  bool take() {
    bool isLeft = left > 0;
    ++(isLeft ? taken : missed);
    left -= isLeft;
    return isLeft;
  }

  /// Whether it was wanted when none was left.
  bool ranOut() const { return missed > 0; }

  /// One record if it ran out; `log` may be null. `what`: was to be priced.
  void tell(explain::Log *log, const char *phase, const char *what) const {
    if (log && ranOut())
      log->add({phase,
                what,
                "not all were looked at: the search ran out of fuel",
                {"what was not priced stays as it is"},
                {{"not priced", double(missed), ""}, {"priced", double(taken), ""}}});
  }

private:
  unsigned left, taken = 0, missed = 0;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_FUEL_H
