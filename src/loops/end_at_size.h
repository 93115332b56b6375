//===- end_at_size.h - Loops over steps of an open dimension ----------------===//
//
// A kernel is scheduled for the greatest size of an open dimension. Which tiles a run needs the
// runtime knows; within a tile, a loop along rows that belong to steps need not go on where the
// run's size ends: what lies behind is never looked at.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_END_AT_SIZE_H
#define KINTSUGI_LOOPS_END_AT_SIZE_H

#include "loops/schedule.h"
#include "te/open_axis.h"

namespace kintsugi::loops {

/// What is stored in a schedule's memory buffer.
struct OpenBuffer {
  llvm::ArrayRef<te::Extent> shape;
  const te::Validity &validity;
};

/// A worker's schedule whose loops end at the size, which is its first operand, or at least one of
/// them does; nullopt: none can. `buffers`: of memory, in order.
std::optional<Schedule> endAtSize(const Schedule &schedule, llvm::ArrayRef<OpenBuffer> buffers);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_END_AT_SIZE_H
