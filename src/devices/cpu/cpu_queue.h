//===- cpu_queue.h - Running stages on the host's threads -----------------===//
#ifndef KINTSUGI_DEVICES_CPU_CPU_QUEUE_H
#define KINTSUGI_DEVICES_CPU_CPU_QUEUE_H

#include "devices/cpu/cpu_program.h"
#include "devices/cpu/float_environment.h"
#include "runtime/host_memory.h"
#include "runtime/workers.h"

namespace kintsugi::devices {

/// Everything is done when it returns, so nothing is ever pending.
class CpuQueue final : public runtime::DeviceQueue {
public:
  static Expected<std::unique_ptr<CpuQueue>> create(const CpuProgram &program,
                                                    runtime::Workers &workers, uint32_t threads);

  void beginRun(const OpenSizes &sizesOfRun) override;
  void endRun() override;
  Status launch(uint32_t stage, void *const *buffers) override;
  /// Each lane is one worker's; its stages run on that worker alone.
  Status runLanes(uint32_t count, LaneFunction function, void *argument) override;
  Status copy(void *to, const void *from, uint64_t bytes) override;
  Status upload(void *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const void *from, uint64_t bytes) override;
  Status finish() override { return Status::success(); }

private:
  CpuQueue(const CpuProgram &program, runtime::Workers &workers, uint32_t threads)
      : program(program), workers(workers), threads(threads) {}

  friend class CpuLane;
  Status launchAlone(uint32_t stage, void *const *buffers, uint32_t worker);
  Status runCall(const runtime::Stage &stage, void *const *buffers);

  const CpuProgram &program;
  runtime::Workers &workers;
  uint32_t threads;
  bool holdsWorkers = false;
  OpenSizes sizes = {};        ///< Of the open dimensions in this run.
  runtime::HostMemory scratch; ///< One slice for each thread.
  uint64_t scratchStride = 0;
  FloatEnvironment environment; ///< Of the caller's thread.
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CPU_CPU_QUEUE_H
