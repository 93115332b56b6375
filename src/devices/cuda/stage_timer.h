//===- stage_timer.h - How long launches take on a GPU ----------------------===//
//
// Around each launch that is to be timed stand two events of a recorded graph: the device passes
// them itself, with nothing of the host between, so that a short kernel does not seem to take as
// long as the host takes to ask for it. What the events add is measured once, around a kernel that
// does nothing, and taken off; so a launch counts for what it takes in a row of launches, from the
// end of the one before it. When its parts were under way they say themselves (part_clocks).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_STAGE_TIMER_H
#define KINTSUGI_DEVICES_CUDA_STAGE_TIMER_H

#include "devices/cuda/part_clocks.h"

namespace kintsugi::devices {

class StageTimer {
public:
  explicit StageTimer(CudaDevice &device) : device(device), clocks(device) {}
  ~StageTimer();
  StageTimer(const StageTimer &) = delete;
  StageTimer &operator=(const StageTimer &) = delete;

  /// Before launches with so many parts in all are recorded.
  Status makeRoom(size_t parts) { return clocks.makeRoom(parts); }
  /// On the stream that is being recorded, ahead of the launches.
  Status start(cuda::Handle stream) const { return clocks.clear(stream); }
  /// Around a launch of a stage with so many parts. The address is what the launch is given for
  /// them; 0 for none.
  Expected<cuda::Address> before(uint32_t stage, size_t parts, cuda::Handle stream);
  Status after(cuda::Handle stream);
  /// What was recorded is not started any more.
  void forget() { launches.clear(); }

  /// The launches recorded since forget(), in that order, as they were when they last ran; when the
  /// stream is idle.
  Expected<std::vector<runtime::StageSpan>> read(cuda::Handle stream);

private:
  struct Launch {
    uint32_t stage;
    size_t firstPart, parts; ///< In the clocks' table.
  };

  const cuda::Driver &driver() const { return device.driver(); }
  Status place(size_t number, cuda::Handle stream);
  Status measureOverhead(cuda::Handle stream);
  Expected<cuda::Handle> recordNothing(cuda::Handle module, cuda::Handle stream);
  Expected<double> runNothing(cuda::Handle graph, cuda::Handle stream) const;
  Expected<double> nanoseconds(size_t from, size_t to) const;
  Expected<runtime::StageSpan> spanOf(size_t launch) const;

  CudaDevice &device;
  PartClocks clocks;
  std::vector<cuda::Handle> events; ///< Two for each of the launches.
  std::vector<Launch> launches;
  std::optional<double> overhead; ///< Of two events, in nanoseconds.
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_STAGE_TIMER_H
