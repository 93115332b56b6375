//===- on_gpu.h - What tests of rules for GPUs share --------------------------===//
#ifndef KINTSUGI_TEST_UNIT_DERIVE_ON_GPU_H
#define KINTSUGI_TEST_UNIT_DERIVE_ON_GPU_H

#include "../te/random_program.h"
#include "../te/testing.h"
#include "search/scheduler.h"

namespace kintsugi::derive {

inline search::ScheduleOptions onHopper() {
  search::ScheduleOptions options;
  options.machine = *machine::Machine::forLevel("sm_90a");
  options.scratchLimit = 88 << 10;
  options.copies = false;
  return options;
}

/// Both give the same for an input of whole numbers of at most `most`, whose sums are exact.
inline void expectSameOfWholeNumbers(const te::Program &after, const te::Program &before,
                                     int64_t most, uint64_t seed) {
  const te::Value &input = before.value(before.inputs[0]);
  te::ExactTensor tensor{input.type, {}, {}, {}};
  int64_t count = 1;
  for (te::Extent extent : input.shape) {
    tensor.shape.push_back(extent.constant());
    count *= extent.constant();
  }
  te::Chance chance(seed);
  for (int64_t k = 0; k < count; ++k)
    tensor.floats.push_back(double(chance.between(-most, most)));
  te::expectSame(te::evaluated(after, {tensor}), te::evaluated(before, {tensor}));
}

} // namespace kintsugi::derive

#endif // KINTSUGI_TEST_UNIT_DERIVE_ON_GPU_H
