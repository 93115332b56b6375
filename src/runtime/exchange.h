//===- exchange.h - What crosses to a device and back with one run --------===//
//
// Small tensors of the host's go to a device together, and what the host has to look at comes back
// behind a run's work, all of it through memory that the device reads and writes while the host
// goes on: nobody waits for any single one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_EXCHANGE_H
#define KINTSUGI_RUNTIME_EXCHANGE_H

#include "runtime/device.h"

#include <cstddef>
#include <vector>

namespace kintsugi::runtime {

/// Memory of Device::allocateForTransfers(), of a device that outlives it.
class TransferMemory {
public:
  TransferMemory() = default;
  TransferMemory(TransferMemory &&other);
  TransferMemory &operator=(TransferMemory &&) = delete;
  ~TransferMemory();

  /// Has at least so many bytes; what was in it is lost where it had fewer.
  Status ensure(Device &device, uint64_t bytes);
  std::byte *data() const { return start; }

private:
  Device *owner = nullptr;
  std::byte *start = nullptr;
  uint64_t size = 0;
};

/// What the host looks at when a run has done its work.
struct Returned {
  enum class Kind : uint8_t {
    Checked, ///< The elements of an input, for the manifest's check `number`.
    Report,  ///< What the check `number` reports.
    Extent,  ///< Of the dynamic dimension `part` of output `number`.
    Output,  ///< Output `number`, which goes on to the caller's memory.
  };
  Kind kind;
  uint32_t number = 0, part = 0;
  const void *from = nullptr; ///< On the device.
  uint64_t bytes = 0;
  uint64_t offset = 0; ///< In Exchange::returned.
};

struct Exchange {
  TransferMemory sent, returned;
  std::vector<Returned> items; ///< In the order in which they are looked at.
  OpenSizes sizes = {};        ///< Of the open dimensions in the run.
  bool isUnderWay = false;     ///< A run that nobody has waited for has it.

  /// Forgets the items of the run before.
  void clear();
  /// Ahead of makeRoom().
  void add(Returned item);
  Status makeRoom(Device &device) { return returned.ensure(device, bytesReturned); }
  std::byte *placeOf(const Returned &item) const { return returned.data() + item.offset; }

private:
  uint64_t bytesReturned = 0;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_EXCHANGE_H
