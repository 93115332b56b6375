#include "derive/multiply_adds.h"

#include <algorithm>

namespace kintsugi::derive {

/// What saves a smaller share is not worth a form, whatever margins are.
static constexpr double leastShare = 0.05;

double MultiplyAdds::rateOn(const machine::Machine &machine) const {
  double rate = machine.flopsPerSecond * machine.cores / 2;
  if (!areNarrow || machine.threads == 0)
    return rate;
  return rate / machine.core.multiplyAdds * machine.core.matrixMultiplyAdds;
}

bool MultiplyAdds::saveLaunches(const machine::Machine &machine, double margin) const {
  return (before - after) / rateOn(machine) > margin * machine.stageSeconds * definitions;
}

bool MultiplyAdds::areFewer(const machine::Machine &machine, double margin) const {
  return after < (1 - leastShare) * before && saveLaunches(machine, margin);
}

bool MultiplyAdds::areDominant(const machine::Machine &machine) const {
  constexpr double reached = 0.5; ///< Of the rate at which a core could compute.
  double moving = 2 * bytes / std::max(1e9, machine.memory().bytesPerSecondAll);
  double most = std::max(0.0, after) / (reached * rateOn(machine)) + moving +
                machine.stageSeconds * definitions;
  return after < (1 - leastShare) * before && before / rateOn(machine) > most;
}

bool isLikeConstants(double elements, double elementsOfOthers) {
  constexpr double few = 1 << 16, growth = 2;
  return elements <= std::max(few, growth * elementsOfOthers);
}

} // namespace kintsugi::derive
