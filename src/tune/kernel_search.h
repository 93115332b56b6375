//===- kernel_search.h - Looking for a better schedule of one kernel ------------===//
//
// Measures points around the best one known, a batch at a time: tilings and ways to move data that
// the scheduler's search looked at, other choices of the nests that take longest, tiles of other
// sizes. Fuel is counted in points; a search whose fuel is spent, or that finds nothing better in
// any direction, has ended.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_KERNEL_SEARCH_H
#define KINTSUGI_TUNE_KERNEL_SEARCH_H

#include "cost/measurer.h"
#include "search/scheduler.h"

#include <set>

namespace kintsugi::tune {

class KernelSearch {
public:
  struct Fuel {
    int64_t points = 96; ///< Measured in all.
    size_t aBatch = 7;   ///< Measured at once.
  };

  struct Candidate {
    loops::Point point;
    loops::Schedule schedule;
    std::unique_ptr<cost::Contender> ready; ///< Null: not prepared yet, or it can't be.
    std::string problem;                    ///< Why it can't.

    /// Where nobody has tried before.
    void prepare(cost::Measurer &measurer);
  };
  /// The default, what is best so far where that is another, and then what is to be measured.
  using Batch = std::vector<std::shared_ptr<Candidate>>;

  /// `best`: what is known to be better than the default so far, with its share of the default's
  /// time; the default itself where nothing is. `spent`: points measured for that. The program must
  /// outlive the search.
  KernelSearch(const te::Program &program, loops::Group group, search::ScheduleOptions options,
               Fuel fuel);
  void resume(const loops::Point &best, double share, int64_t spent);

  /// What to measure next; nothing where no point is left. Then whoever asked prepares it, and has
  /// it judged.
  Batch propose();
  /// Measures it. An error where the kernel can't be measured.
  Status judge(const Batch &batch, cost::Measurer &measurer);

  bool hasEnded() const { return ended; }
  int64_t spent() const { return pointsSpent; }
  /// Nothing where the default is the best known. A better one was confirmed.
  std::optional<loops::Point> best() const {
    return better ? std::optional(better->point) : std::nullopt;
  }
  double share() const { return bestShare; }
  double defaultSeconds() const { return seconds; }
  /// Those that were quicker and computed something else: a fault of the compiler's.
  const std::vector<loops::Point> &wrongPoints() const { return wrong; }

private:
  void addTilings(Batch &batch, size_t most);
  void addChoices(Batch &batch, size_t most);
  void addNeighbours(Batch &batch, size_t most);
  void addStages(Batch &batch, size_t most);
  void consider(loops::Point point, Batch &batch, size_t most);
  Status take(const std::shared_ptr<Candidate> &candidate, cost::Measurer &measurer);
  const Candidate &start() const { return better ? *better : *usual; }
  size_t known() const { return better ? 2 : 1; } ///< That a batch starts with.

  const te::Program &program;
  loops::Group group;
  search::ScheduleOptions options;
  Fuel fuel;
  std::shared_ptr<Candidate> usual;   ///< The default; null where the group has no schedule.
  std::shared_ptr<Candidate> better;  ///< Null where the default is the best known.
  std::vector<search::Tried> tilings; ///< The best estimate first.
  std::set<std::string> seen;         ///< Points and schedules, as text.
  std::vector<loops::Point> wrong;
  double bestShare = 1, seconds = 0;
  unsigned fruitless = 0;
  int64_t pointsSpent = 0;
  bool ended = false;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_KERNEL_SEARCH_H
