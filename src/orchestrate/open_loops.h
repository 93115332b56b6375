//===- open_loops.h - Kernels whose loops end at a run's size -------------===//
#ifndef KINTSUGI_ORCHESTRATE_OPEN_LOOPS_H
#define KINTSUGI_ORCHESTRATE_OPEN_LOOPS_H

#include "orchestrate/plan.h"

namespace kintsugi::orchestrate {

/// Has loops over steps of open dimensions end at their sizes, which are operands more of their
/// stages: loops/end_at_size.h. Nothing where the plan may leave nothing out.
void endLoopsAtSize(Plan &plan, llvm::ArrayRef<te::OpenInputs> open);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_OPEN_LOOPS_H
