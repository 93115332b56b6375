//===- device_calls.h - Which calls the device does itself ------------------===//
//
// A call of the plan is one stage. Where the target has code for it, it becomes launches, with
// memory between them that the plan gives a place like any other; otherwise the host does it, and
// the log says why.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LINK_DEVICE_CALLS_H
#define KINTSUGI_LINK_DEVICE_CALLS_H

#include "orchestrate/plan.h"
#include "targets/target.h"

namespace kintsugi::link {

/// Looks at all calls of the main program, and gives temporaries new places. For targets whose code
/// does not run on the host; equal calls share their code.
void placeCalls(orchestrate::Plan &plan, const targets::Target &target,
                const machine::Machine &machine, explain::Log *log);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_DEVICE_CALLS_H
