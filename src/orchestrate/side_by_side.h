//===- side_by_side.h - Groups that merged launches make needless -----------===//
//
// Launches are merged after candidates are chosen: what doesn't wait for each other then runs side
// by side. Candidates that put such parts one behind the other are compared with that here.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_SIDE_BY_SIDE_H
#define KINTSUGI_ORCHESTRATE_SIDE_BY_SIDE_H

#include "space/space.h"

namespace kintsugi::orchestrate {

/// Drops candidates whose parts, which read nothing of each other, are as quick in a launch that
/// they share.
void leaveOutSideBySide(space::Space &space, const machine::Machine &machine);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_SIDE_BY_SIDE_H
