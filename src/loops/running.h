//===- running.h - Sums up to each place, by one walk -----------------------===//
//
// A cumulative sum is written as a sum of all terms whose condition says that they come no later:
//
//     y[p, i] = sum[r] cases { r <= p: x[r, i]; else: 0 }
//
// Each result adds one term to the result before it. So a nest that sums over r alone stores its
// running value at each step (Member::kept, a read of the accumulator): terms once, in place of
// once for each result.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_RUNNING_H
#define KINTSUGI_LOOPS_RUNNING_H

#include "loops/fuse.h"
#include "loops/group_values.h"

namespace kintsugi::loops {

/// Whether what a nest keeps is its running value, each point's own term included.
bool keepsRunningValue(const LoopNest &nest);

struct RunningChoice {
  unsigned member;
  unsigned place; ///< The parallel iterator whose results have the terms up to it.
};
llvm::SmallVector<RunningChoice> runningChoices(llvm::ArrayRef<Member> members);

/// The members with a walk, and what is made of the running values, in place of the sum.
std::vector<Member> walkOnce(GroupValues &values, llvm::ArrayRef<Member> members,
                             const RunningChoice &choice);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_RUNNING_H
