//===- imagined.h - Measurers that run nothing -----------------------------------===//
#ifndef KINTSUGI_TEST_TUNE_IMAGINED_H
#define KINTSUGI_TEST_TUNE_IMAGINED_H

#include "cost/measurer.h"

#include <functional>

namespace kintsugi::tune {

/// Says what it is told of schedules.
class ImaginedMeasurer : public cost::Measurer {
public:
  Expected<std::unique_ptr<cost::Contender>> prepare(const loops::Schedule &schedule) override {
    return std::unique_ptr<cost::Contender>(std::make_unique<Known>(schedule));
  }
  Expected<std::vector<cost::Timed>> measure(llvm::ArrayRef<const cost::Contender *> contenders,
                                             cost::Effort effort) override {
    std::vector<const loops::Schedule *> schedules;
    for (const cost::Contender *contender : contenders)
      schedules.push_back(&static_cast<const Known *>(contender)->schedule);
    return timesOf(schedules, effort);
  }

private:
  struct Known : cost::Contender {
    explicit Known(const loops::Schedule &schedule) : schedule(schedule) {}
    const loops::Schedule &schedule;
  };

  virtual Expected<std::vector<cost::Timed>>
  timesOf(const std::vector<const loops::Schedule *> &schedules, cost::Effort effort) = 0;
};

/// Says what a rule says that a schedule takes.
class Imagined : public ImaginedMeasurer {
public:
  explicit Imagined(std::function<double(const loops::Schedule &)> rule) : rule(std::move(rule)) {}

  size_t measured = 0, largest = 0;

private:
  Expected<std::vector<cost::Timed>> timesOf(const std::vector<const loops::Schedule *> &schedules,
                                             cost::Effort effort) override {
    std::vector<cost::Timed> times;
    for (const loops::Schedule *schedule : schedules)
      times.push_back({rule(*schedule), rule(*schedule) / rule(*schedules[0])});
    measured += effort == cost::Effort::Compare ? schedules.size() - 1 : 0;
    largest = std::max(largest, schedules.size());
    return times;
  }

  std::function<double(const loops::Schedule &)> rule;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TEST_TUNE_IMAGINED_H
