//===- cuda_queue.h - Running stages on a GPU's stream --------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_CUDA_QUEUE_H
#define KINTSUGI_DEVICES_CUDA_CUDA_QUEUE_H

#include "devices/cuda/cuda_program.h"
#include "devices/cuda/stage_timer.h"
#include "devices/cuda/tensor_map.h"
#include "devices/cuda/trace.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace kintsugi::devices {

/// The steps of a queue's first run are waited for one by one, so that a fault is known to be a
/// stage's; the second run's are noted, shortened and recorded into a graph, which that and all
/// later runs start. Runs of other sizes, or with tensors in other places, have graphs of their
/// own, so many of them; from then on what has none is launched step by step, until it comes a
/// second time since some graph was used, whose place it takes. Runs whose stages are timed have
/// another graph. Recording is done on the queue's own stream, whatever stream a run is put on.
class CudaQueue final : public runtime::DeviceQueue {
public:
  /// `stream`: another queue's, which outlives this one; null for one of its own.
  static Expected<std::unique_ptr<CudaQueue>> create(CudaDevice &device, const CudaProgram &program,
                                                     cuda::Handle stream);
  ~CudaQueue() override;

  Status workOn(std::optional<void *> callers) override;
  Status mark(uint32_t number) override;
  Expected<bool> hasPassed(uint32_t number) override;
  Status waitForMark(uint32_t number) override;
  void beginRun(const OpenSizes &sizesOfRun) override;
  void endRun() override;
  Expected<bool> beginSteps(std::span<const runtime::MemoryRange> lasting,
                            std::span<std::byte *const> places) override;
  Status endSteps(bool complete) override;
  void timeSteps(bool wanted) override { timesSteps = wanted; }
  std::optional<double> secondsOfSteps() override;
  bool timeStages(bool wanted) override;
  Expected<std::vector<runtime::StageSpan>> stageSpans() override;
  Status launch(uint32_t stage, void *const *buffers) override;
  Status copy(void *to, const void *from, uint64_t bytes) override;
  Status upload(void *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const void *from, uint64_t bytes) override;
  Status send(void *to, const void *from, uint64_t bytes) override;
  Status fetch(void *to, const void *from, uint64_t bytes) override;
  Status finish() override;
  void *native() const override { return own; }

private:
  using Clock = std::chrono::steady_clock;

  /// What decides a run's steps: its sizes, and where its caller's tensors are.
  struct RunKey {
    OpenSizes sizes = {};
    std::vector<std::byte *> places;

    bool isOf(const OpenSizes &itsSizes, std::span<std::byte *const> itsPlaces) const {
      return sizes == itsSizes && std::ranges::equal(places, itsPlaces);
    }
  };

  struct Met {
    RunKey key;
    uint64_t lastRun = 0;
  };

  /// The steps of runs that are alike.
  struct Recorded {
    RunKey key;
    cuda::Handle graph = nullptr; ///< Ready to start; or null.
    void *added = nullptr;        ///< Memory that the graph uses beside the caller's.
    uint64_t addedBytes = 0;
    uint64_t lastUsed = 0; ///< The number of a run.
  };

  CudaQueue(CudaDevice &device, const CudaProgram &program)
      : device(device), program(program), timer(device) {}

  const cuda::Driver &driver() const { return device.driver(); }
  static std::string describe(const runtime::Stage &stage);
  Status runCall(const runtime::Stage &stage, void *const *buffers);
  Status startGraph();
  Status launchNow(uint32_t stage, void *const *buffers);
  uint32_t blocksOf(uint32_t stage) const;
  Status setParameters(uint32_t stage, void *const *buffers);
  Status launchBetweenEvents(uint32_t stage, void *const *buffers);
  Status launchTimed(uint32_t stage, void *const *buffers);
  Status runCallTimed(uint32_t stage, void *const *buffers);
  void addAlone(runtime::StageSpan span, Clock::time_point began);
  Recorded *recordedFor(std::span<std::byte *const> places);
  bool wasMetSince(uint64_t run, std::span<std::byte *const> places);
  void drop(Recorded &recorded);
  void dropTimedGraph();
  size_t partsOfTrace() const;
  Status copyNow(cuda::Address to, cuda::Address from, uint64_t bytes);
  Status fillNow(cuda::Address to, const std::byte *from, uint64_t bytes);
  void noteLaunch(uint32_t stage, void *const *buffers);
  Status makeCounter();
  Status recordTrace();
  Status askForTrace();
  Status placeTrace();
  Status askFor(const cuda::TraceStep &step);

  CudaDevice &device;
  const CudaProgram &program;
  cuda::Handle own = nullptr;    ///< The queue's stream,
  cuda::Handle stream = nullptr; ///< and that of the run under way, which may be a caller's.
  cuda::Handle start = nullptr, end = nullptr; ///< Events.
  bool ownsStream = false;
  std::array<cuda::Handle, mostMarks> marks = {}; ///< Events, made when they are set first.
  cuda::Handle behind = nullptr; ///< The last one set, where nobody waited since; or null.
  std::vector<Recorded> graphs;  ///< Some, of which the one that was used last longest ago goes.
  std::vector<Met> met;          ///< Runs that had no graph, some of the last ones.
  uint64_t lastReplaced = 0;     ///< The run that took a graph's place last.
  Recorded timed;                ///< With the launches timed one by one.
  Recorded *ofRun = nullptr;     ///< That of the run under way, one of these; or null.
  OpenSizes sizes = {};          ///< Of the open dimensions in the run under way.
  uint64_t numRuns = 0;
  bool isWatched = true;              ///< Each launch is waited for; until a run was seen through.
  bool hasFixedSteps = false;         ///< The run under way.
  std::unique_ptr<cuda::Trace> trace; ///< While a run's steps are noted.
  void *counter = nullptr;            ///< Of blocks that meet; null where none do.
  bool isAfterKernel = false;         ///< While steps are recorded: of the one ahead.
  bool timesSteps = false;            ///< Whether the events are wanted,
  bool isTimed = false;               ///< and whether they are of this run.
  bool isTiming = false;              ///< Whether runs' launches are timed one by one.
  StageTimer timer;                   ///< Of the timed graph.
  cuda::Address clocks = 0;           ///< What the launch asked for is given for its parts.
  Clock::time_point runBegan;
  std::vector<runtime::StageSpan> alone; ///< What this run timed one by one.
  std::vector<void *> parameters;        ///< Addresses of a launch's operands and the rest.
  size_t given = 0;                      ///< Of the last launch.
  std::vector<cuda::EncodedMap> encoded; ///< A launch's tensor maps.
  cuda::EncodedMap none = {};            ///< In place of parameters that nobody gave.
  std::vector<void *> placesOfStep;      ///< A recorded launch's operands.
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_CUDA_QUEUE_H
