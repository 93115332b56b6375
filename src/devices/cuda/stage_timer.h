//===- stage_timer.h - How long launches take on a GPU ----------------------===//
//
// Around each launch that is to be timed stand two events of a recorded graph: the device passes
// them itself, with nothing of the host between, so that a short kernel does not seem to take as
// long as the host takes to ask for it. What the events add is measured once, around a kernel that
// does nothing, and taken off; so a launch counts for what it takes in a row of launches, from the
// end of the one before it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_STAGE_TIMER_H
#define KINTSUGI_DEVICES_CUDA_STAGE_TIMER_H

#include "devices/cuda/cuda_device.h"

namespace kintsugi::devices {

class StageTimer {
public:
  explicit StageTimer(const CudaDevice &device) : device(device) {}
  ~StageTimer();
  StageTimer(const StageTimer &) = delete;
  StageTimer &operator=(const StageTimer &) = delete;

  /// Around a launch, on a stream that is being recorded.
  Status before(uint32_t stage, cuda::Handle stream);
  Status after(cuda::Handle stream);
  /// What was recorded is not started any more.
  void forget() { stages.clear(); }

  /// The launches recorded since forget(), in that order, as they were when they last ran; when the
  /// stream is idle.
  Expected<std::vector<runtime::StageSpan>> read(cuda::Handle stream);

private:
  const cuda::Driver &driver() const { return device.driver(); }
  Status place(size_t number, cuda::Handle stream);
  Status measureOverhead(cuda::Handle stream);
  Expected<cuda::Handle> recordNothing(cuda::Handle module, cuda::Handle stream);
  Expected<double> runNothing(cuda::Handle graph, cuda::Handle stream) const;
  Expected<double> nanoseconds(size_t from, size_t to) const;

  const CudaDevice &device;
  std::vector<cuda::Handle> events; ///< Two for each of the launches.
  std::vector<uint32_t> stages;     ///< By launch.
  std::optional<double> overhead;   ///< Of two events, in nanoseconds.
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_STAGE_TIMER_H
