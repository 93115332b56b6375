//===- bounds.h - Loops that end where a table says -------------------------===//
//
// A sum over b of `b < count[j] ? x : 0` need not go past count[j], and what only such sums read
// need not be computed past it either. A loop nest then runs to a number that it looks up once for
// each tile: sparse patterns that are known ahead need no padding. Likewise a nest whose body
// chooses by `b < count[j]` is two nests, one for each side.
//
// In expressions all extents stay what they are: the condition is the whole meaning, and a schedule
// without these loops is right too.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_BOUNDS_H
#define KINTSUGI_LOOPS_BOUNDS_H

#include "loops/fuse.h"
#include "loops/group_values.h"

namespace kintsugi::loops {

/// Takes such conditions out of the members' sums and gives the members bounds instead; whether
/// there were any.
bool boundLoops(std::vector<Member> &members);

/// The nest, or its parts where it chooses by a parallel iterator, whose points lie apart, against
/// a number that a tile looks up.
llvm::SmallVector<LoopNest, 2> splitAtConditions(LoopNest nest);

/// Whether every span's bounds are the same all over a tile, which loops need.
bool areSpansUniform(const LoopNest &nest);

/// Notes which share of their extents the spans cover, as far as their tables are known.
void setShares(LoopNest &nest, llvm::ArrayRef<Buffer> buffers, const GroupValues &values);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_BOUNDS_H
