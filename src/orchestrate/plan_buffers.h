//===- plan_buffers.h - What a plan's buffers are needed for --------------===//
#ifndef KINTSUGI_ORCHESTRATE_PLAN_BUFFERS_H
#define KINTSUGI_ORCHESTRATE_PLAN_BUFFERS_H

#include "orchestrate/plan.h"

namespace kintsugi::orchestrate {

/// Which buffers the main program's stages use, or the caller.
std::vector<bool> buffersOfRoot(const Plan &plan);

/// Whether a run below the greatest size of an open dimension may leave anything out: what it needs
/// is known of all buffers. What it does not need holds anything then, where otherwise all inputs'
/// elements are ones that a model may have, and so are those of what is made of them.
bool mayLeaveOut(const Plan &plan);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_PLAN_BUFFERS_H
