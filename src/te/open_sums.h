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

/// What an open dimension's size decides in a program.
struct SizedParts {
  llvm::ArrayRef<OpenSum> sums; ///< They leave out what lies behind it.
  const SizedNumbers &numbers;  ///< It picks them.
  const OpenDimension &open;
};

/// The program with a size of each, a scalar i64, as one more input, in order. Values keep their
/// numbers; those that are new come after them. No body has numbers of two.
Program withSizes(const Program &greatest, llvm::ArrayRef<SizedParts> parts);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_OPEN_SUMS_H
