//===- scan_prices.h - What scans take ---------------------------------------===//
//
// Predicted seconds of scans, as their plan has them: where forms of a program differ in scans,
// what the kernels of a body take, step by step and lane by lane, is the price of the whole.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_SCAN_PRICES_H
#define KINTSUGI_ORCHESTRATE_SCAN_PRICES_H

#include "orchestrate/form.h"
#include "orchestrate/orchestrate.h"

#include <map>

namespace kintsugi::orchestrate {

class ScanPrices {
public:
  explicit ScanPrices(const OrchestrateOptions &options);

  /// Of one or of several that don't wait for each other.
  Expected<double> secondsOf(const Form &form, llvm::ArrayRef<uint32_t> scans);

private:
  Expected<double> plannedSeconds(const Form &form, llvm::ArrayRef<uint32_t> scans) const;

  OrchestrateOptions options;
  std::map<Hash128, double> ofStep; ///< By the body and which values from outside are constants.
};

/// Scans that a plan of the form would come to at once, of which none waits for another: two or
/// more each.
std::vector<llvm::SmallVector<uint32_t>> meetingScans(const Form &form);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_SCAN_PRICES_H
