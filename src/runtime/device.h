//===- device.h - What a driver of some hardware implements ---------------===//
//
// The runtime walks plans; a device owns memory, understands code objects and runs stages. A new
// one is a folder in devices/ with these three classes; devices/null shows the least that is
// needed, and test/unit/devices runs every device through the same conformance tests.
//
// Pointers that a device hands out mean something to that device only, unless it shares the host's
// memory. All work of one queue happens in the order it was asked for; only download() and finish()
// wait, and upload() may.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_DEVICE_H
#define KINTSUGI_RUNTIME_DEVICE_H

#include "base/open_dimension.h"
#include "base/status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kintsugi::runtime {

class Artifact;

/// What a device made of an artifact: code ready to run and constants in place. Immutable, shared
/// by all queues; the artifact outlives it.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;

  /// Where the constants section is in device memory; null where it is empty.
  virtual const void *constants() const = 0;

  /// The section of the code that runs, where the device may choose between several; or "".
  virtual std::string_view codeSection() const { return {}; }
};

class DeviceQueue;

struct QueueOptions {
  /// Threads that work on one stage, the calling one included; 0 for as many as the process may
  /// use. Ignored where the work is not done by the host's threads.
  uint32_t threads = 0;
  /// The queue whose order of work the new one joins (DeviceQueue::native), and which outlives it;
  /// or null.
  DeviceQueue *joined = nullptr;
};

/// Of a device's memory.
struct MemoryRange {
  const void *begin = nullptr;
  uint64_t bytes = 0;
};

/// When a part of a launch was under way, from the first of its blocks to the last.
struct PartSpan {
  int64_t begin = 0; ///< In nanoseconds since the launch began.
  int64_t nanoseconds = 0;
};

/// When a launch of a stage was under way.
struct StageSpan {
  uint32_t stage = 0;
  uint32_t lane = 0; ///< Of several that run side by side; spans of one don't overlap.
  int64_t begin = 0; ///< In nanoseconds since the steps of the run began.
  int64_t nanoseconds = 0;
  /// As the stage has; those of parts that run side by side overlap. Empty where that is not known:
  /// there is no clock inside of launches, or none fine enough for this one.
  std::vector<PartSpan> parts = {};
};

/// Runs work in order. Belongs to one context and is used by one thread at a time. After the first
/// run of a plan nothing here allocates host memory, but for calls of host functions.
class DeviceQueue {
public:
  virtual ~DeviceQueue() = default;

  /// Around the work of one run: what the queue needs for long (worker threads) it holds between.
  /// `sizes`: of the open dimensions.
  virtual void beginRun(const OpenSizes &sizes) {}
  virtual void endRun() {}

  /// Ahead of a run: its work goes to a stream of the caller's (what native() is of), or to the
  /// queue's own for none. It comes behind what is there, and behind what the queue was asked for
  /// before, wherever that went. A usage error where there are no such streams.
  virtual Status workOn(std::optional<void *> callers) {
    if (callers)
      return usageError("the device has no streams that a run could be put on");
    return Status::success();
  }

  /// A mark is a place behind all that the queue was asked for so far. There are few, by number.
  static constexpr uint32_t mostMarks = 16;
  virtual Status mark(uint32_t number) { return finish(); }
  /// Whether all ahead of it is done.
  virtual Expected<bool> hasPassed(uint32_t number) { return true; }
  virtual Status waitForMark(uint32_t number) { return Status::success(); }

  /// Around all launches, copies and uploads of a plan that has the same ones in each run. True
  /// where the queue kept them from an earlier run and started them again: they are not to be asked
  /// for then, and endSteps() is not called. What they write is read afterwards in `lasting` alone.
  /// `places` is where they read and write the caller's tensors: runs of the same sizes that have
  /// the same ones have the same steps.
  virtual Expected<bool> beginSteps(std::span<const MemoryRange> lasting,
                                    std::span<std::byte *const> places) {
    return false;
  }
  /// `complete`: whether none of them failed.
  virtual Status endSteps(bool complete) { return Status::success(); }
  /// Whether the device's clock is read before and after them from now on, outside of a run.
  virtual void timeSteps(bool wanted) {}
  /// How long the device took for them in the last run that was timed, by its own clock; to be
  /// asked for when the run is over. Nothing where it does not tell.
  virtual std::optional<double> secondsOfSteps() { return std::nullopt; }

  /// Whether launches from now on are timed one by one, outside of a run. False where the device
  /// has no clock of its own: whoever wants to know then times launches and waits.
  virtual bool timeStages(bool wanted) { return false; }
  /// Of the last run, in the order in which they began; to be asked for when the run is over. How
  /// a queue finds them is its own business: events around launches, clocks inside of them.
  virtual Expected<std::vector<StageSpan>> stageSpans() { return std::vector<StageSpan>(); }

  /// Runs a stage of the artifact's manifest. `buffers` are device addresses of its operands in the
  /// manifest's order; the array may be reused when the call returns. Calls of host functions may
  /// fail with an input error (an index out of range); kernels can't.
  virtual Status launch(uint32_t stage, void *const *buffers) = 0;

  /// Asks for the work of one lane, of `lane` and nothing else. May be called by any thread.
  using LaneFunction = Status (*)(void *argument, DeviceQueue &lane, uint32_t number);

  /// Runs lanes 0 to `count` - 1, none of which waits for another. A queue that can't do several
  /// things at a time does one after the other. The first error found is returned.
  virtual Status runLanes(uint32_t count, LaneFunction function, void *argument) {
    for (uint32_t number = 0; number < count; ++number)
      KINTSUGI_RETURN_IF_ERROR(function(argument, *this, number));
    return Status::success();
  }

  /// Device to device; the ranges are the same or do not overlap.
  virtual Status copy(void *to, const void *from, uint64_t bytes) = 0;

  /// Host to device; the host's bytes may be reused when the call returns.
  virtual Status upload(void *to, const void *from, uint64_t bytes) = 0;

  /// Device to host; the bytes are there when the call returns.
  virtual Status download(void *to, const void *from, uint64_t bytes) = 0;

  /// The same as upload(), from memory of Device::allocateForTransfers(), which is left as it is
  /// until the queue has come to it: nobody waits.
  virtual Status send(void *to, const void *from, uint64_t bytes) {
    return upload(to, from, bytes);
  }

  /// The same as download(), where the bytes are there when finish() returns. Nobody waits where
  /// the memory is of Device::allocateForTransfers().
  virtual Status fetch(void *to, const void *from, uint64_t bytes) {
    return download(to, from, bytes);
  }

  /// What the device's own interface calls the queue (a CUstream), so that others can order their
  /// work with it; null where there is nothing.
  virtual void *native() const { return nullptr; }

  /// Waits until everything asked for is done.
  virtual Status finish() = 0;
};

/// Any thread may call any member at any time.
class Device {
public:
  virtual ~Device() = default;

  /// "cpu", "null", ...
  virtual std::string_view name() const = 0;

  /// Whether it runs artifacts compiled for that target.
  virtual bool runsTarget(std::string_view target) const = 0;

  /// Whether it runs code that uses the instructions of a feature, as the manifest's code objects
  /// name them; anything, where code is not for the processor.
  virtual bool supports(std::string_view feature) const { return true; }

  /// Whether host pointers are device pointers: then the caller's inputs and outputs are used where
  /// they are, otherwise they are copied.
  virtual bool sharesHostMemory() const = 0;

  /// Whether memory of a caller's tensor is a device's, as other libraries of the process hand it
  /// out, and not the host's. Asked only where the host's is not shared.
  virtual bool ownsMemory(const void *memory) const { return false; }

  /// Memory aligned to KIN_BUFFER_ALIGNMENT; null for no bytes. A machine error where there is not
  /// enough.
  virtual Expected<void *> allocate(uint64_t bytes) = 0;

  /// Gives back what allocate() gave for that many bytes.
  virtual void release(void *memory, uint64_t bytes) = 0;

  /// Memory of the host that queues read and write while the host goes on, aligned and null as
  /// allocate()'s.
  virtual Expected<void *> allocateForTransfers(uint64_t bytes);
  virtual void releaseForTransfers(void *memory, uint64_t bytes);

  /// A machine error that names what is missing where no code object suits this machine, an input
  /// error where the artifact's code is not what its manifest says.
  /// `whole`: of another variant of the artifact, whose constants are these and more, and which the
  /// program may use as long as it lives; or null.
  virtual Expected<std::unique_ptr<DeviceProgram>> load(const Artifact &artifact,
                                                        const DeviceProgram *whole = nullptr) = 0;

  /// The program is of this device and outlives the queue.
  virtual Expected<std::unique_ptr<DeviceQueue>> createQueue(const DeviceProgram &program,
                                                             QueueOptions options) = 0;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_DEVICE_H
