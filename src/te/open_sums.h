//===- open_sums.h - Sums over a dimension whose size a run says ---------------===//
//
// A program is imported at the greatest size of its open dimension. Where it sums over that, or
// takes the greatest along it, the model means the elements before the run's size: the program gets
// the size as one more input, and a condition for what lies behind it. One on attention's scores is
// enough for all that follows of them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_OPEN_SUMS_H
#define KINTSUGI_TE_OPEN_SUMS_H

#include "te/open_axis.h"
#include "te/sized_numbers.h"

namespace kintsugi::te {

/// Where the extents of two imports differ, in the order of nodes. Programs whose nodes are not
/// alike have none.
std::vector<OpenSum> openSums(const Program &greatest, const Program &smaller);

/// The program whose sums leave out what lies behind the size, its last input, a scalar i64, which
/// also picks `numbers`. Values keep their numbers; those that are new come after them.
Program withSize(const Program &greatest, llvm::ArrayRef<OpenSum> sums, const SizedNumbers &numbers,
                 const OpenDimension &open);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_OPEN_SUMS_H
