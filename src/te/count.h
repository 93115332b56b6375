//===- count.h - Outputs whose size data decide -------------------------------===//
//
// How many elements NonZero finds is known when it has run. Until then its result has as many as
// there can be at most, and zeros behind those that there are; a scalar says how many these are. A
// program means the same at every element: only whoever runs it leaves out what lies behind the
// count of an output. That is a further output under a name of a form of its own, as a check is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_COUNT_H
#define KINTSUGI_TE_COUNT_H

#include "te/program.h"

namespace kintsugi::te {

/// A scalar i64 is the extent of a dimension of an output.
struct Count {
  unsigned dimension = 0;
  std::string output;
};

/// Of an output that is there. `extent`: a scalar i64, from 0 to what it has along the dimension.
void addCount(Program &program, const Count &count, ValueId extent);

/// The count that an output is, or nothing for others.
std::optional<Count> countOf(const Program::Output &output);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_COUNT_H
