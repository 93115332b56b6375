//===- measurer.h - What corrects the roofline -------------------------------===//
//
// Times schedules where they will run. The cost model only says which are worth it; tune/ has the
// one that compiles and runs kernels on a device, and tests have theirs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_MEASURER_H
#define KINTSUGI_COST_MEASURER_H

#include "schedule/schedule.h"

namespace kintsugi::cost {

struct Timed {
  double seconds = 0; ///< Of one run: the median.
  double share = 1;   ///< Of the first schedule's time, on a quiet machine.
};

/// How sure the answer has to be.
enum class Effort : uint8_t {
  Compare, ///< Which of many are worth another look.
  Confirm, ///< Whether one is quicker indeed.
};

class Measurer {
public:
  virtual ~Measurer() = default;

  /// Times schedules of one group side by side, each run of the one beside runs of the others. An
  /// error where they can't be run.
  virtual Expected<std::vector<Timed>> measure(llvm::ArrayRef<const schedule::Schedule *> schedules,
                                               Effort effort) = 0;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_MEASURER_H
