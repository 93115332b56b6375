//===- space.h - Values, and the kernels that could compute them ------------===//
//
// The AND-OR hypergraph of a program: a value is available once some chosen candidate stores it; a
// candidate is a group of definitions with a schedule. Every definition alone is a candidate, so a
// plan always exists; where operators are kept whole, it is each of those. Growth adds every fused
// group that the scheduler can place, under caps and with fuel; equal groups are scheduled once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_SPACE_H
#define KINTSUGI_SPACE_SPACE_H

#include "base/memo.h"
#include "explain/log.h"
#include "loops/kernel.h"
#include "search/choice_memo.h"
#include "search/scheduler.h"
#include "space/group_names.h"
#include "te/open_axis.h"

#include <map>

namespace kintsugi::space {

using loops::GroupKey;
using loops::KernelShape;
using loops::keyOf;

/// A schedule that was measured to be quicker than the one that the search finds.
struct TunedSchedule {
  loops::Point point;
  double gain = 1; ///< Its time over the other's; less than 1.
};

/// What measuring knows of a machine's kernels.
struct MeasuredKernels {
  std::map<Hash128, TunedSchedule> schedules; ///< By tuningKey.
  std::map<Hash128, double> seconds;          ///< By timingKey.
  double bias = 1; ///< Of all that was measured, in the median: measured over predicted seconds.

  bool empty() const { return schedules.empty() && seconds.empty(); }
};

/// What a tuned schedule is kept under: the group and what schedules may do, on a machine.
Hash128 tuningKey(const GroupKey &key, const search::ScheduleOptions &options);

/// What the seconds of a kernel are kept under that is scheduled at a point.
Hash128 timingKey(const GroupKey &key, const search::ScheduleOptions &options,
                  const loops::Point &point);

struct Candidate {
  loops::Group group;
  std::shared_ptr<const KernelShape> kernel;
  /// The values behind the schedule's memory buffers, in their order.
  llvm::SmallVector<te::ValueId> operands;
  /// It has all definitions of an operator or none. Not known where groups don't grow by operators.
  bool keepsOperators = false;
};

struct Caps {
  unsigned nodes = 24;           ///< Definitions in one candidate.
  unsigned outputs = 3;          ///< Values that one candidate stores.
  unsigned inputs = 24;          ///< Values that one candidate reads.
  unsigned candidatesARoot = 24; ///< That grow along edges to producers.
  unsigned siblingsARoot = 8;    ///< That grow through shared inputs, besides.
  /// Groups grow further that take at most so many times what their parts take.
  double detour = 1.15;
  bool byOperators = true; ///< Groups grow by whole operators as well.
};

/// What scheduling a group gave: the kernel that the search finds, or why there is none.
struct Scheduled {
  std::shared_ptr<const KernelShape> kernel;
  std::string reason;
};
/// By the texts of groups' keys; for whoever plans programs more than once under equal options.
struct ScheduleMemo : Memo<Scheduled> {
  search::ChoiceMemo choices; ///< What the groups' nests have in common.
};

/// Of which elements runs below the greatest of these sizes ask for the first ones, by value.
struct OpenValues {
  const std::vector<te::Validity> *validity;
  OpenDimension sizes;
};

struct SpaceOptions {
  search::ScheduleOptions schedule;
  Caps caps;
  bool fuse = true; ///< Otherwise only single definitions, or operators that are kept whole.
  bool keepsOperators = false; ///< No group has a part of an operator: whole_operators.h.
  unsigned fuel = 60000;       ///< Groups that are looked at.
  unsigned threads = 1;        ///< That schedule. The space is the same with any number of them.
  /// By value: known when the model is compiled, so that kernels may have it packed. May be short.
  std::vector<bool> constants;
  std::vector<OpenValues> open; ///< None: there is one size.
  /// Its schedules are used where they can be made, in place of what the search finds, and its
  /// seconds in place of what is predicted; may be null.
  const MeasuredKernels *measured = nullptr;
  ScheduleMemo *memo = nullptr; ///< Read and added to; may be null.
  /// Groups of several definitions are these alone; null: those that growth finds.
  const GroupNames *likely = nullptr;
  /// Told which groups have no schedule, and why.
  explain::Log *log = nullptr;
};

struct Space {
  const te::Program *program = nullptr;
  std::vector<Candidate> candidates;
  unsigned scheduled = 0; ///< Distinct groups that were scheduled.
  bool outOfFuel = false;

  /// The text form, which space/space_text.h describes and reads.
  std::string print() const;
};

/// The space of the given definitions of a program. An internal error names a definition that has
/// no schedule even alone.
Expected<Space> buildSpace(const te::Program &program, llvm::ArrayRef<uint32_t> nodes,
                           const SpaceOptions &options);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_SPACE_H
