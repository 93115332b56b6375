#include "derive/multiply_adds.h"

#include <algorithm>

namespace kintsugi::derive {

/// What saves a smaller share is not worth a form, whatever margins are.
static constexpr double leastShare = 0.05;

static double rateOf(const machine::Machine &machine) {
  return machine.flopsPerSecond * machine.cores / 2;
}

bool MultiplyAdds::areFewer(const machine::Machine &machine, double margin) const {
  return after < (1 - leastShare) * before &&
         (before - after) / rateOf(machine) > margin * machine.stageSeconds * definitions;
}

bool MultiplyAdds::areDominant(const machine::Machine &machine) const {
  constexpr double reached = 0.5; ///< Of the rate at which a core could compute.
  double moving = 2 * bytes / std::max(1e9, machine.memory().bytesPerSecondAll);
  double most = std::max(0.0, after) / (reached * rateOf(machine)) + moving +
                machine.stageSeconds * definitions;
  return after < (1 - leastShare) * before && before / rateOf(machine) > most;
}

} // namespace kintsugi::derive
