//===- kernel_search.h - Looking for a better schedule of one kernel ------------===//
//
// Measures points around the best one known, a batch at a time: tilings and ways to move data that
// the scheduler's search looked at, registers of the nests that take longest, tiles of other sizes.
// A batch is compiled and timed together. Fuel is counted in points; a search whose fuel is spent,
// or that finds nothing better in any direction, has ended.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_KERNEL_SEARCH_H
#define KINTSUGI_TUNE_KERNEL_SEARCH_H

#include "cost/measurer.h"
#include "schedule/scheduler.h"

#include <set>

namespace kintsugi::tune {

class KernelSearch {
public:
  struct Fuel {
    int64_t points = 96; ///< Measured in all.
    size_t aBatch = 7;   ///< Measured at once.
  };

  /// `best`: what is known to be better than the default so far, with its share of the default's
  /// time; the default itself where nothing is. `spent`: points measured for that. The program must
  /// outlive the search.
  KernelSearch(const te::Program &program, schedule::Group group, schedule::ScheduleOptions options,
               Fuel fuel);
  void resume(const schedule::Point &best, double share, int64_t spent);

  /// Measures one batch. An error where the kernel can't be measured.
  Status step(cost::Measurer &measurer);

  bool hasEnded() const { return ended; }
  int64_t spent() const { return pointsSpent; }
  /// Nothing where the default is the best known. A better one was confirmed.
  const std::optional<schedule::Point> &best() const { return bestPoint; }
  double share() const { return bestShare; }
  double defaultSeconds() const { return seconds; }

private:
  struct Candidate {
    schedule::Point point;
    schedule::Schedule schedule;
  };

  std::vector<Candidate> nextBatch();
  void addTilings(std::vector<Candidate> &batch, size_t most);
  void addRegisters(std::vector<Candidate> &batch, size_t most);
  void addNeighbours(std::vector<Candidate> &batch, size_t most);
  void consider(schedule::Point point, std::vector<Candidate> &batch, size_t most);
  Status take(const Candidate &candidate, cost::Measurer &measurer);
  const schedule::Point &start() const { return bestPoint ? *bestPoint : defaults.point; }

  const te::Program &program;
  schedule::Group group;
  schedule::ScheduleOptions options;
  Fuel fuel;
  schedule::ScheduleResult defaults;
  std::vector<schedule::Tried> tilings; ///< The best estimate first.
  std::set<std::string> seen;           ///< Points and schedules, as text.
  std::optional<schedule::Point> bestPoint;
  double bestShare = 1, seconds = 0;
  unsigned fruitless = 0;
  int64_t pointsSpent = 0;
  bool ended = false;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_KERNEL_SEARCH_H
