//===- part_clocks.h - When parts of a launch are under way on a GPU --------===//
//
// Kernels that share a launch note in a table when their first block began and their last one ended
// (abi/launch.h), by a clock that all processors of a device read. It goes in steps, which differ
// between devices: what takes but a few of them is not told.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_PART_CLOCKS_H
#define KINTSUGI_DEVICES_CUDA_PART_CLOCKS_H

#include "devices/cuda/cuda_device.h"

namespace kintsugi::devices {

class PartClocks {
public:
  explicit PartClocks(CudaDevice &device) : device(device) {}
  ~PartClocks();
  PartClocks(const PartClocks &) = delete;
  PartClocks &operator=(const PartClocks &) = delete;

  /// Room for so many parts of launches that are about to be recorded; none of an earlier recording
  /// is used any more.
  Status makeRoom(size_t parts);
  /// On a stream that is being recorded, ahead of the launches.
  Status clear(cuda::Handle stream) const;
  /// Of the entries from a part on.
  cuda::Address entryOf(size_t part) const;

  /// Gets what the last run of the recording left; when the stream is idle.
  Status read(cuda::Handle stream);
  /// What was read of a launch that took at most so long, from when its first part began; empty
  /// where that is not to be trusted.
  std::vector<runtime::PartSpan> spansOf(size_t first, size_t count, int64_t most) const;

private:
  struct Entry {
    uint64_t notBegin = 0, end = 0; ///< The first as its complement.
  };

  const cuda::Driver &driver() const { return device.driver(); }
  Status measureStep(cuda::Handle stream);
  Status runTicks(cuda::Handle module, cuda::Handle stream);

  CudaDevice &device;
  void *table = nullptr;
  size_t room = 0; ///< Entries of the table.
  std::vector<Entry> entries;
  uint64_t step = 0; ///< Of the clock, in nanoseconds; 0 until it is measured.
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_PART_CLOCKS_H
