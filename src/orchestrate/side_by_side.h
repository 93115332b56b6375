//===- side_by_side.h - Groups of parts that don't wait for each other ------===//
//
// A candidate may put parts behind each other in one kernel that read nothing of each other. As
// kernels of their own, side by side in one launch, they may be as quick: such launches become
// columns beside the candidate (launch_columns.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_SIDE_BY_SIDE_H
#define KINTSUGI_ORCHESTRATE_SIDE_BY_SIDE_H

#include "space/space.h"

namespace kintsugi::orchestrate {

/// For each candidate the numbers of those that are its parts; none where it has no such parts.
std::vector<llvm::SmallVector<size_t, 2>> partsSideBySide(const space::Space &space);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_SIDE_BY_SIDE_H
