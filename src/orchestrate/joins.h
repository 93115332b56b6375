//===- joins.h - Stages that share a launch ------------------------------------===//
//
// For machines whose cores run blocks of threads, where each stage is a launch. Stages of a
// sequence that don't wait for each other become one launch, whose blocks are the tiles of all of
// them, where the cost model says that this is quicker: small ones then run at the same time, and
// large ones start and end once. Such groups that follow each other share a launch as well, in
// which all blocks wait for each other in between, where that costs less than launches do
// (Souffle's partitioning). The order of arithmetic in a tile stays what it was, and so do all
// bits.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_JOINS_H
#define KINTSUGI_ORCHESTRATE_JOINS_H

#include "explain/log.h"
#include "orchestrate/plan.h"
#include "search/scheduler.h"

namespace kintsugi::orchestrate {

/// Joins stages of the main program, and gives temporaries new places, since what shares a launch
/// is alive at the same time. `options`: those that the stages' kernels were scheduled with. Tells
/// the log of what was joined or could have been.
void joinStages(Plan &plan, const search::ScheduleOptions &options, explain::Log *log);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_JOINS_H
