//===- row_measurer.h - Times kernels in rows of launches ---------------------===//
//
// For devices with memory and a clock of their own. A launch counts for what it takes in a row of
// launches of its kernel, which the device starts as it starts those of a model, the next one early
// where it can. What flows between kernels lies at the same place for all launches, as it is warm
// when a model runs; constants come from one place after the other, so that they are as cold as
// after a run of the model.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_ROW_MEASURER_H
#define KINTSUGI_TUNE_ROW_MEASURER_H

#include "cost/measurer.h"
#include "runtime/device.h"
#include "runtime/manifest.h"
#include "targets/target.h"
#include "tune/device_block.h"

#include <map>
#include <optional>

namespace kintsugi::tune {

struct RowOptions {
  unsigned threads = 1;       ///< Of the host, each of which prepares schedules.
  uint64_t cacheBytes = 0;    ///< What stays in the device's outermost cache.
  uint64_t constantBytes = 0; ///< That a run of the model reads.
  runtime::CodeObject code;   ///< What code of the options' level asks of a device.
};

class RowMeasurer : public cost::Measurer {
public:
  RowMeasurer(const targets::Target &target, targets::CompileOptions options,
              runtime::Device &device, RowOptions row);
  ~RowMeasurer() override;

  unsigned preparers() const override { return row.threads; }
  Expected<std::unique_ptr<cost::Contender>> prepare(const loops::Schedule &schedule) override;
  Expected<std::vector<cost::Timed>> measure(llvm::ArrayRef<const cost::Contender *> contenders,
                                             cost::Effort effort) override;

private:
  class Kernel;
  class Row;
  class Contest;
  struct Pool {
    DeviceBlock block;
    uint64_t bytes;
  };

  uint64_t bytesBetween() const;
  Expected<std::byte *> poolOf(ElementType type, uint64_t bytes, runtime::DeviceQueue &queue);
  Expected<size_t> launchesFor(const Kernel &kernel, Contest &contest);
  Status checkAgreement(llvm::ArrayRef<const cost::Contender *> contenders, Contest &contest,
                        std::vector<cost::Timed> &times);

  const targets::Target &target;
  targets::CompileOptions options;
  runtime::Device &device;
  RowOptions row;
  std::map<ElementType, Pool> pools;
  std::vector<DeviceBlock> outgrown; ///< Pools that the contest under way may still read.
};

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_ROW_MEASURER_H
