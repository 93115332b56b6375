//===- schedule_table.h - The candidates of groups --------------------------===//
//
// Makes candidates of a program's groups: each distinct group is scheduled once, or taken from a
// memo; where measuring found a better schedule, the candidate has that.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_SCHEDULE_TABLE_H
#define KINTSUGI_SPACE_SCHEDULE_TABLE_H

#include "space/space.h"

#include <unordered_map>

namespace kintsugi::space {

class ScheduleTable {
public:
  /// `log` may be null.
  ScheduleTable(const te::Program &program, const SpaceOptions &options, ScheduleMemo &memo,
                explain::Log *log);

  /// The candidate of a group; no kernel (and `reason`) where it can't be scheduled.
  Candidate candidateOf(loops::Group group, std::string &reason);

  struct Price {
    std::optional<double> seconds; ///< Rough ones; nullopt where it can't be scheduled.
    bool isKnown = true;           ///< Otherwise another thread is scheduling it.
  };
  /// What candidateOf will give costs; without waiting for others if not `waits`.
  Price priceOf(const loops::Group &group, bool waits);

  unsigned size() const { return kernels.size(); }

private:
  /// Null where another thread is at it, and not `waits`.
  const Scheduled *scheduled(const loops::Group &group, const GroupKey &key, bool waits);
  Scheduled search(const loops::Group &group, const GroupKey &key) const;
  std::shared_ptr<const KernelShape> withTunedSchedule(const loops::Group &group,
                                                       const GroupKey &key,
                                                       std::shared_ptr<const KernelShape> kernel);
  std::shared_ptr<const KernelShape> asMeasured(const loops::Group &group, const GroupKey &key,
                                                std::shared_ptr<const KernelShape> kernel);
  std::string namesOf(const loops::Group &group) const;

  const te::Program &program;
  loops::GroupKeys keys;
  search::ScheduleOptions options; ///< With the memo's choices of threads.
  const MeasuredKernels *measured;
  ScheduleMemo &memo;
  explain::Log *log;
  std::unordered_map<std::string, Scheduled> kernels; ///< By the text of the key.
};

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_SCHEDULE_TABLE_H
