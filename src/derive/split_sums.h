//===- split_sums.h - Long sums of few results in two phases ----------------===//
//
// Where a machine's cores run blocks of threads, a sum of few results keeps few of them busy: the
// threads that share its terms are one block's. Its terms are then cut into runs that blocks sum
// each for itself, and what comes of those, in memory, is summed by another kernel:
//
//     y[j] = sum[i:65536] x[i, j]    =>    t[p:512, j] = sum[i:128] x[128*p + i, j]
//                                          y[j] = sum[p:512] t[p, j]
//
// So are greatest and least elements, products, and what is true of all or any. The order of the
// terms is fixed, so results are the same in every run. Equal definitions are priced once, and only
// those that take much longer than their bytes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SPLIT_SUMS_H
#define KINTSUGI_DERIVE_SPLIT_SUMS_H

#include "cost/margins.h"
#include "explain/log.h"
#include "search/scheduler.h"

namespace kintsugi::derive {

struct SplitSumsOptions {
  search::ScheduleOptions schedule;
  double margin = cost::Margins().splitReduction;
  double marginSeconds = cost::Margins().splitReductionSeconds;
  unsigned fuel = 64; ///< Distinct definitions for which splits are priced.
  /// Told which definitions were split, and what that saves.
  explain::Log *log = nullptr;
};

/// The program with each reduction split for which that costs clearly less.
te::Program splitSums(const te::Program &program, const SplitSumsOptions &options);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SPLIT_SUMS_H
