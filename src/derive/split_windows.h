//===- split_windows.h - Windows as products of all places, then sums -------===//
//
// A convolution with few channels of results gives matrix units few columns, and reads each point
// of what it slides over once for every place of the window. A phase of a transposed convolution
// multiplies its taps with what lies around the input. Such products are made for the places of a
// window along dimensions of their own, as if those were channels, and summed where the window
// says:
//
//     y[c, x] = sum[k, w:9] v[k, x + w] * f[c, k, w]
//   =>  t[x, c, w:9] = sum[k] v[k, x] * f[c, k, w]
//       y[c, x] = sum[w:9] t[x + w, c, w]
//
// (OLLIE, Zheng et al. 2021, section 2: a convolution as a product and a sum at offsets.) That is
// done along one dimension of the window, or along all.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SPLIT_WINDOWS_H
#define KINTSUGI_DERIVE_SPLIT_WINDOWS_H

#include "cost/margins.h"
#include "derive/assumptions.h"
#include "explain/log.h"
#include "search/scheduler.h"

namespace kintsugi::derive {

struct SplitWindowsOptions {
  search::ScheduleOptions schedule;
  unsigned fuel = 32; ///< Distinct definitions that are priced.
  double margin = cost::Margins().windowProducts;
  /// Told which windows were split, and what that saves.
  explain::Log *log = nullptr;
  /// Told where zeros that pad are multiplied with what may be infinite.
  Assumptions *assumed = nullptr;
};

/// The program with each window split for which two kernels cost clearly less than one.
te::Program splitWindows(const te::Program &program, const SplitWindowsOptions &options);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SPLIT_WINDOWS_H
