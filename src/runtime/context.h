//===- context.h - Running a model ----------------------------------------===//
//
// A context owns the memory that a run needs besides the caller's: the arena, workers' scratch. Its
// first run may allocate; the ones after do not, but for what calls of host functions need.
// Contexts are independent; one context serves one run at a time and others wait for it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_CONTEXT_H
#define KINTSUGI_RUNTIME_CONTEXT_H

#include "base/status.h"
#include "runtime/binding.h"
#include "runtime/exchange.h"
#include "runtime/model.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace kintsugi::runtime {

struct ContextOptions {
  uint32_t threads = 0;          ///< As in QueueOptions.
  DeviceQueue *joined = nullptr; ///< As in QueueOptions.
};

/// Looks at the work of a run stage by stage.
class StageObserver {
public:
  virtual ~StageObserver() = default;

  /// After a launch of a stage; `buffers` are the device addresses of its operands in the
  /// manifest's order, which `queue` downloads from. An error ends the run.
  virtual Status launched(uint32_t stage, std::span<void *const> buffers, DeviceQueue &queue) = 0;
};

struct RunOptions {
  /// Looked at between stages; a run that finds it raised ends with a usage error.
  const std::atomic<bool> *cancel = nullptr;
  /// Whether to time each stage; see stageTimes() and stageSpans().
  bool profile = false;
  StageObserver *observer = nullptr;
  /// Whether the device's clock is to be read around the run's stages; see deviceSeconds().
  bool timesSteps = false;
  /// The caller's stream that the run is put on (DeviceQueue::workOn()).
  std::optional<void *> stream = std::nullopt;
  /// Whether run() returns when all is done. Otherwise it does when all is asked for, where outputs
  /// are on the device: its tensors stay until it is done, which whoever works with the same stream
  /// comes behind, and what the host finds wrong with it is said by a later run or by wait().
  bool waits = true;
};

/// How long the launches of a stage took, added up over the runs that were profiled.
struct StageTime {
  uint64_t launches = 0;
  uint64_t nanoseconds = 0;
};

class Context;

/// The tensors of runs that come again, looked at once. Context::bind() makes it; the context
/// outlives it, and so does the memory of the tensors.
class Binding {
public:
  Binding(const Binding &) = delete;
  Binding &operator=(const Binding &) = delete;

private:
  friend class Context;
  Binding() = default;

  std::vector<InputTensor> inputs;   ///< In the model's order, without names and shapes.
  std::vector<OutputTensor> outputs; ///< In the model's order.
  BoundTensors tensors;              ///< These.
  Context *runner = nullptr;         ///< Which of a context's runs them.
};

class Context {
public:
  /// A machine error where there is not enough memory.
  static Expected<std::unique_ptr<Context>> create(std::shared_ptr<const Model> model,
                                                   ContextOptions options = {});
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  /// Runs the model. Every input and output must be given, in any order where named. A usage error
  /// names the tensor that is missing, unknown, or wrong in type, shape, size or alignment.
  Status run(std::span<const InputTensor> inputs, std::span<const OutputTensor> outputs,
             RunOptions options = {});

  /// The same in two steps, of which the second may be taken again and again. What is in the
  /// tensors is looked at by run(), everything else by bind(). Runs are profiled or observed as
  /// `options` say here.
  Expected<std::unique_ptr<Binding>> bind(std::span<const InputTensor> inputs,
                                          std::span<const OutputTensor> outputs,
                                          const RunOptions &options = {});
  Status run(Binding &binding, RunOptions options = {});

  /// Whose plan runs of such inputs have: the model's, or that of one of its parts for some sizes.
  /// A context of that runs them alike, and tells of that plan's stages.
  Expected<std::shared_ptr<const Model>> modelFor(std::span<const InputTensor> inputs);

  /// Waits for runs that nobody has waited for; an error of one of them.
  Status wait();

  /// By stage of the manifest: runs that are profiled or observed are the whole model's, whatever
  /// their size. Not during a run.
  std::span<const StageTime> stageTimes() const { return times; }
  void clearStageTimes();

  /// Every launch of the last run that was profiled. Not during a run.
  std::span<const StageSpan> stageSpans() const { return spans; }
  /// Whether they are what the device's clock says, not the host's. Not during a run.
  bool timesByDevice() const { return isTimedByDevice; }

  /// How long the device took for the last run's stages, by its own clock; nothing where it does
  /// not tell, the run was not to be timed, or the stages depend on data. Not during a run.
  std::optional<double> deviceSeconds() { return ofLastRun->queue->secondsOfSteps(); }

  /// Whether a tensor of the caller's is in the device's own memory; else it is in the host's.
  bool isOnDevice(const void *data) const;
  /// The device's own handle of what the context's work is ordered by, or null.
  void *nativeQueue() const { return queue->native(); }

  const Model &model() const { return *shared; }

private:
  /// Where in `operands` the address of a buffer of the caller's goes.
  struct Patch {
    size_t operand;
    uint32_t buffer;
  };

  Context(std::shared_ptr<const Model> model)
      : shared(std::move(model)), order(shared->manifest()) {}

  Status setUp(ContextOptions options);
  Status placePorts();
  Expected<std::byte *> allocate(uint64_t bytes);
  void placeBuffers();
  void findLasting();
  void collectOperands();

  Status bindTensors(std::span<const InputTensor> inputs, std::span<const OutputTensor> outputs,
                     BoundTensors &tensors);
  Status makeRoomApart(const BoundTensors &tensors);
  Expected<Context *> contextFor(std::span<const InputTensor> inputs, const RunOptions &options);
  Status runBound(const BoundTensors &tensors, const RunOptions &options);
  Status runWith(Exchange &exchange, const RunOptions &options);
  Status askFor(Exchange &exchange, const RunOptions &options);
  bool mustWait(const RunOptions &options) const;
  Expected<Exchange *> freeExchange();
  Status settle(bool areDone);
  Status waitHere();
  void patchOperands();
  std::byte *portAddress(const Buffer &buffer) const;
  void choosePlaces();
  bool isStaged(size_t place) const { return places[place] == staged[place]; }
  const Port &portAt(size_t place) const;
  static bool isPart(const Port &port, const OpenSizes &sizes);
  Status clearOpenInputs();
  OpenPart piecesOf(const Port &port, const OpenSizes &sizes) const;
  bool isGathered(size_t input) const;
  Status uploadInputs(Exchange &exchange);
  Status gatherInputs(Exchange &exchange);
  Status upload(size_t input, const InputTensor &tensor);
  Status download(size_t output, const std::byte *from, void *to);
  std::byte *roomOf(size_t output) const { return staged[offsets.size() + output]; }
  bool isDelivered(size_t output) const;
  Expected<std::span<const std::byte>> wholeOf(const Check &check, const OpenSizes &sizes,
                                               std::span<const std::byte> given);
  Status checkInputs();
  Status checkOutputs() const;
  Status downloadOutputs();
  void reportShapes() const;
  void compactOutputs() const;

  bool isExchanged(size_t output) const;
  Status planReturns(Exchange &exchange) const;
  Status fetchReturns(const Exchange &exchange, bool areInputs);
  Status lookAt(const Exchange &exchange);
  Status lookAtChecked(const Check &check, const OpenSizes &sizes,
                       std::span<const std::byte> bytes);
  Status lookAtReport(const Check &check, std::span<const std::byte> bytes) const;
  Status lookAtExtent(const Returned &item, std::span<const std::byte> bytes) const;

  /// Where the work of a part of the plan goes.
  struct Walk {
    DeviceQueue &queue;
    const RunOptions &options;
    uint32_t lane = 0;
  };
  Status runSteps(const RunOptions &options);
  Status collectSpans();
  Status walk(const Plan &plan, Walk to);
  Status repeat(const Plan &plan, Walk to);
  Status runLanes(const Plan &plan, Walk to);
  Status launch(uint32_t stage, Walk to);
  Status launchTimed(uint32_t stage, void *const *buffers, Walk to);
  Status checkCancelled(const RunOptions &options) const;
  Status copyBuffers(const std::vector<BufferCopy> &copies, uint64_t iteration, DeviceQueue &queue);
  Expected<bool> readFlag(int64_t buffer, DeviceQueue &queue);

  struct DeviceBlock {
    void *memory;
    uint64_t bytes;
  };

  std::shared_ptr<const Model> shared;
  PlanOrder order;
  std::vector<std::unique_ptr<Context>> smaller; ///< Of the model's, in the same order.
  Context *ofLastRun = this;
  std::mutex running;
  std::vector<DeviceBlock> blocks; ///< Owned device memory.
  std::byte *arena = nullptr;
  /// Of inputs, then of outputs: all on a device with its own memory, else those of an open
  /// dimension and outputs that overlapped an input.
  std::vector<std::byte *> staged;
  /// Where kernels that ask for the sizes of open dimensions read them; null: none does.
  std::byte *sizesOnDevice = nullptr;
  OpenSizes sizesThere = {};
  /// Of inputs that are small enough to go to the device together, where they are staged behind
  /// `gathered`; none for others.
  std::vector<int64_t> offsets;
  std::byte *gathered = nullptr;
  uint64_t gatheredBytes = 0;
  BoundTensors given;                    ///< Room for those of runs that bind none ahead.
  const BoundTensors *tensors = nullptr; ///< Of the run under way.
  /// Those of runs that are under way, in their order, and others. A run's mark has its number.
  std::array<Exchange, DeviceQueue::mostMarks> exchanges;
  uint32_t nextExchange = 0, numUnderWay = 0;
  /// Where this run's tensors are on the device: the caller's own memory, or what is staged.
  std::vector<std::byte *> places;
  std::vector<std::byte *> patched; ///< What the places were when operands were patched.
  /// Where tensors of earlier runs could have been, some of the last ones.
  std::vector<std::vector<std::byte *>> asked;
  size_t nextAsked = 0; ///< Which of them goes.
  std::unique_ptr<DeviceQueue> queue;
  std::vector<MemoryRange> lasting;  ///< What is read after fixed steps.
  std::vector<std::byte> wholeInput; ///< Room for what the host looks at of smaller inputs.
  bool hasFixedSteps = false;        ///< Whether a run's steps depend on nothing but the plan.

  std::vector<std::byte *> addresses; ///< Of each buffer on the device.
  std::vector<void *> operands;       ///< Of all stages, one after another.
  std::vector<size_t> firstOperand;   ///< By stage.
  std::vector<Patch> patches;
  std::vector<StageTime> times;
  std::vector<StageSpan> spans;
  std::mutex addingSpans; ///< By lanes.
  bool isTimedByDevice = false;
  std::chrono::steady_clock::time_point stepsBegan;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_CONTEXT_H
