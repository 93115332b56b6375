//===- schedule_ahead.h - Schedules made on several threads -----------------===//
//
// Scheduling is most of a compilation's time, and what each group gives depends on the group alone.
// So before a space is built its groups are grown once more, by several threads, each from another
// root, and with nothing kept but what their scheduling gave. A thread that comes to a group which
// another is scheduling takes up another root, and comes back later: roots that are alike, as those
// of a network's layers are, would go from group to group together otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_SCHEDULE_AHEAD_H
#define KINTSUGI_SPACE_SCHEDULE_AHEAD_H

#include "space/growth.h"

namespace kintsugi::space {

/// Puts into the memo what buildSpace will look for there; nothing where options.threads is 1.
/// `parts`: the definitions, or operators that are kept whole, that groups are made of.
void scheduleAhead(const te::Program &program, Growth growth, llvm::ArrayRef<Nodes> parts,
                   const SpaceOptions &options, ScheduleMemo &memo);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_SCHEDULE_AHEAD_H
