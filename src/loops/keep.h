//===- keep.h - What a reduction joins is stored while it does ---------------===//
//
// A value that is computed point by point, joined by a reduction, and read again later (the powers
// of a softmax and their sum) would be stored by one nest and read back by the next. The reduction
// may compute each element itself and store it on the way.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_KEEP_H
#define KINTSUGI_LOOPS_KEEP_H

#include "loops/fuse.h"
#include "loops/group_values.h"

namespace kintsugi::loops {

/// Members by number.
struct KeepChoice {
  unsigned producer;  ///< Computes its value point by point.
  unsigned reduction; ///< Reads it first: each element once, at a point of its own.
};
llvm::SmallVector<KeepChoice> keepChoices(llvm::ArrayRef<Member> members);

/// The members with the reduction in place of both.
std::vector<Member> keepReduced(const GroupValues &values, llvm::ArrayRef<Member> members,
                                const KeepChoice &choice);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_KEEP_H
