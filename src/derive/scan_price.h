//===- scan_price.h - What a scan's steps take ------------------------------===//
//
// Predicted seconds of a step and of the products for some steps, from the kernels that would be
// chosen for them: those that cover the definitions at the least cost.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SCAN_PRICE_H
#define KINTSUGI_DERIVE_SCAN_PRICE_H

#include "derive/wave_scans.h"
#include "space/space.h"

namespace kintsugi::derive {

struct StepSeconds {
  double together = 0; ///< With all workers at it.
  double alone = 0;    ///< Of one worker, who needs no barriers.
};

class ScanPricer {
public:
  /// Where the options have no memo, the pricer has its own.
  ScanPricer(const te::Program &program, const space::SpaceOptions &options);

  /// Infinite where the definitions are too many to look at.
  StepSeconds step(const ChainedScan &scan);
  /// The products ahead of a scan, for so many steps.
  double products(const ChainedScan &scan, int64_t steps);
  /// One wave of merged scans, with all workers at it.
  double wave(const WaveScan &wave);

private:
  using Kernels = std::vector<std::shared_ptr<const loops::KernelShape>>;

  te::Program productsAlone(const ChainedScan &scan, int64_t steps) const;
  /// nullopt where there are too many definitions.
  std::optional<Kernels> cheapest(const te::Program &program, const std::vector<bool> &constants);

  const te::Program &program;
  space::SpaceOptions options;
  space::ScheduleMemo memo;
  std::map<std::string, std::optional<Kernels>> chosen; ///< By what equal definitions share.
  std::vector<bool> constantNodes;
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SCAN_PRICE_H
