//===- device_measurer.h - Times kernels by the host's clock ---------------------------===//
//
// Compiles schedules of one group into a code object of their own and launches them in turns on
// made-up values. What flows between kernels is shared, as it is warm when a model runs; each
// schedule has constants of its own, which a model's other kernels would have pushed out.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_DEVICE_MEASURER_H
#define KINTSUGI_TUNE_DEVICE_MEASURER_H

#include "cost/measurer.h"
#include "runtime/device.h"
#include "targets/target.h"

namespace kintsugi::tune {

class DeviceMeasurer : public cost::Measurer {
public:
  /// `threads` as in runtime::QueueOptions.
  DeviceMeasurer(const targets::Target &target, targets::CompileOptions options,
                 runtime::Device &device, unsigned threads)
      : target(target), options(std::move(options)), device(device), threads(threads) {}

  Expected<std::unique_ptr<cost::Contender>> prepare(const loops::Schedule &schedule) override;
  Expected<std::vector<cost::Timed>> measure(llvm::ArrayRef<const cost::Contender *> contenders,
                                             cost::Effort effort) override;

private:
  const targets::Target &target;
  targets::CompileOptions options;
  runtime::Device &device;
  unsigned threads;
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_DEVICE_MEASURER_H
