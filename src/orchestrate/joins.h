//===- joins.h - Stages that share a launch ------------------------------------===//
//
// Stages of a plan that share launches (launch_sharing.h). The order of arithmetic in a tile stays
// what it was, and so do all bits.
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
