//===- measurer.h - What corrects the roofline -------------------------------===//
//
// Times schedules where they will run. The cost model only says which are worth it; tune/ has those
// that compile and run kernels on a device, and tests have theirs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_MEASURER_H
#define KINTSUGI_COST_MEASURER_H

#include "loops/schedule.h"

namespace kintsugi::cost {

struct Timed {
  double seconds = 0; ///< Of one run: the median.
  double share = 1;   ///< Of the first schedule's time, on a quiet machine.
  bool agrees = true; ///< Whether it computes what the first does, where that was looked at.
};

/// How sure the answer has to be.
enum class Effort : uint8_t {
  Compare, ///< Which of many are worth another look.
  Confirm, ///< Whether one is quicker indeed, and no worse otherwise.
};

/// A schedule that is ready to be timed.
class Contender {
public:
  virtual ~Contender() = default;
};

class Measurer {
public:
  virtual ~Measurer() = default;

  /// How many threads may prepare schedules while others are timed. 0: none, it would disturb.
  virtual unsigned preparers() const { return 0; }

  /// The schedule outlives what is made of it. An error where it can't be run. Any thread.
  virtual Expected<std::unique_ptr<Contender>> prepare(const loops::Schedule &schedule) = 0;

  /// Times schedules of one group side by side, each run of the one beside runs of the others. An
  /// error where they can't be run.
  virtual Expected<std::vector<Timed>> measure(llvm::ArrayRef<const Contender *> contenders,
                                               Effort effort) = 0;
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_MEASURER_H
