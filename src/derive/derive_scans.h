//===- derive_scans.h - Where scans pay side by side ------------------------===//
//
// Cuts each chain of scans (scan_chain.h) into groups that run side by side, a worker each, in
// blocks of steps (merge_scans.h), and scans that stay as they are: the cut of the least predicted
// time. It pays where the steps are so small that all workers together are no quicker at one than a
// single worker is; where a step's weights want the caches of all cores it does not. On a machine
// whose kernels are launched, scans of equal cells become one scan over waves (wave_scans.h) where
// that saves launches.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_DERIVE_SCANS_H
#define KINTSUGI_DERIVE_DERIVE_SCANS_H

#include "cost/margins.h"
#include "explain/log.h"
#include "space/space.h"

namespace kintsugi::derive {

struct ScanOptions {
  space::SpaceOptions space;
  double margin = cost::Margins().sideBySideScans;
  /// Told of each chain which of its scans were merged, in blocks of how many steps, and why.
  explain::Log *log = nullptr;
};

/// The program with the scans of each chain in their cheapest form.
te::Program deriveScans(const te::Program &program, const ScanOptions &options);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_DERIVE_SCANS_H
