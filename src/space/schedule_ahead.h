//===- schedule_ahead.h - Schedules made on several threads -----------------===//
//
// Scheduling is most of a compilation's time, and what each group gives depends on the group alone.
// So before a space is built its groups are grown by several threads, each from another root, as if
// each root had all the fuel. A thread that comes to a group which another is scheduling takes up
// another root, and comes back later: roots that are alike, as those of a network's layers are,
// would go from group to group together otherwise, and so would spaces of programs that are alike
// and share a memo.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_SCHEDULE_AHEAD_H
#define KINTSUGI_SPACE_SCHEDULE_AHEAD_H

#include "space/growth.h"

namespace kintsugi::space {

/// The groups of one root in the order in which they were offered, and the fuel that it took.
struct GrownAhead {
  std::vector<Nodes> offers;
  unsigned fuel = 0;
  bool isDone = false;
};

/// Puts into the memo what buildSpace will look for there, and gives the groups of each part; none
/// where one thread builds a space with a memo of its own. `parts`: the definitions, or operators
/// that are kept whole, that groups are made of.
std::vector<GrownAhead> scheduleAhead(const te::Program &program, Growth growth,
                                      llvm::ArrayRef<Nodes> parts, const SpaceOptions &options,
                                      ScheduleMemo &memo);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_SCHEDULE_AHEAD_H
