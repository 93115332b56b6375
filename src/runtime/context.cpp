//===- context.cpp - Running a model --------------------------------------===//

#include "runtime/context.h"

#include "abi/stage.h"
#include "base/fill_numbers.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::runtime;

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Context>> Context::create(std::shared_ptr<const Model> model,
                                                   ContextOptions options) {
  std::unique_ptr<Context> context(new Context(std::move(model)));
  if (Status status = context->setUp(options); !status.ok())
    return at(context->shared->artifact().name(), status.takeError());
  return context;
}

Context::~Context() {
  smaller.clear(); // Their queues are joined to this one's.
  queue.reset();   // What it has under way may use the memory.
  for (const DeviceBlock &block : blocks)
    shared->device().release(block.memory, block.bytes);
}

Expected<std::byte *> Context::allocate(uint64_t bytes) {
  blocks.reserve(blocks.size() + 1);
  KINTSUGI_ASSIGN(void *memory, shared->device().allocate(bytes));
  blocks.push_back({memory, bytes});
  return static_cast<std::byte *>(memory);
}

/// No step depends on data, and none is the host's.
static bool isFixed(const Manifest &manifest, const Plan &plan) {
  if (plan.kind == Plan::Kind::Branch || plan.condition != none)
    return false;
  if (plan.kind == Plan::Kind::Stage)
    return manifest.stages[plan.stage].kind == Stage::Kind::Kernel;
  return std::all_of(plan.children.begin(), plan.children.end(),
                     [&](const Plan &child) { return isFixed(manifest, child); });
}

/// Callers take turns between a few, of a cache that is written while another is read.
constexpr size_t mostPlaces = 8;

Status Context::setUp(ContextOptions options) {
  const Manifest &manifest = shared->manifest();
  Device &device = shared->device();
  KINTSUGI_ASSIGN(queue, device.createQueue(shared->program(), {options.threads, options.joined}));
  KINTSUGI_ASSIGN(arena, allocate(manifest.arenaBytes));
  auto isSize = [](const Buffer &buffer) { return buffer.home.kind == Home::Kind::Size; };
  if (std::ranges::any_of(manifest.buffers, isSize)) {
    KINTSUGI_ASSIGN(sizeOnDevice, allocate(sizeof(sizeThere)));
  }
  boundInputs.resize(manifest.inputs.size());
  boundOutputs.resize(manifest.outputs.size());
  for (const std::vector<Port> *ports : {&manifest.inputs, &manifest.outputs})
    for (const Port &port : *ports) {
      bool isNeeded = !device.sharesHostMemory() || port.open;
      uint64_t bytes = isNeeded ? manifest.buffers[port.buffer].bytes : 0;
      KINTSUGI_ASSIGN(std::byte * memory, allocate(bytes));
      staged.push_back(memory);
    }
  KINTSUGI_RETURN_IF_ERROR(clearOpenInputs());
  places = staged;
  onDevice.resize(boundInputs.size() + boundOutputs.size());
  asked.assign(mostPlaces, staged);
  times.resize(manifest.stages.size());
  for (const Check &check : manifest.checks)
    if (!check.range)
      reported.resize(std::max<size_t>(reported.size(), manifest.buffers[check.buffer].bytes / 8));
  hasFixedSteps = !device.sharesHostMemory() && isFixed(manifest, manifest.plan);
  placeBuffers();
  collectOperands();
  ContextOptions joining{options.threads, options.joined ? options.joined : queue.get()};
  for (const std::shared_ptr<const Model> &model : shared->smaller()) {
    std::unique_ptr<Context> &context = smaller.emplace_back(new Context(model));
    KINTSUGI_RETURN_IF_ERROR(context->setUp(joining));
  }
  return Status::success();
}

/// Outputs, what says how much of them is valid, and reports: nothing else is looked at after a
/// run.
void Context::findLasting() {
  const Manifest &manifest = shared->manifest();
  lasting.clear();
  auto add = [&](uint32_t buffer) {
    lasting.push_back({addresses[buffer], manifest.buffers[buffer].bytes});
  };
  for (const Port &port : manifest.outputs) {
    add(port.buffer);
    for (const DynamicDimension &dynamic : port.dynamic)
      add(dynamic.buffer);
  }
  for (const Check &check : manifest.checks)
    if (!check.range)
      add(check.buffer);
}

/// The device addresses of all buffers that are not the caller's.
void Context::placeBuffers() {
  const Manifest &manifest = shared->manifest();
  auto *constants = const_cast<std::byte *>(
      static_cast<const std::byte *>(shared->program().constants())); // Never written: validated.
  addresses.resize(manifest.buffers.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Buffer &buffer = manifest.buffers[i];
    const Buffer &owner = originOf(manifest, buffer);
    uint64_t offset = &owner == &buffer ? 0 : buffer.home.offset;
    if (owner.home.kind == Home::Kind::Constant)
      addresses[i] = constants + owner.home.offset + offset;
    else if (owner.home.kind == Home::Kind::Arena)
      addresses[i] = arena + owner.home.offset + offset;
    else if (owner.home.kind == Home::Kind::Size)
      addresses[i] = sizeOnDevice + offset;
  }
}

void Context::collectOperands() {
  const Manifest &manifest = shared->manifest();
  for (const Stage &stage : manifest.stages) {
    firstOperand.push_back(operands.size());
    for (uint32_t buffer : stage.buffers) {
      auto kind = originOf(manifest, manifest.buffers[buffer]).home.kind;
      if (kind == Home::Kind::Input || kind == Home::Kind::Output)
        patches.push_back({operands.size(), buffer});
      operands.push_back(addresses[buffer]);
    }
  }
}

void Context::clearStageTimes() { times.assign(times.size(), {}); }

//===----------------------------------------------------------------------===//
// The caller's tensors
//===----------------------------------------------------------------------===//

/// The device address of a buffer that is at home in an input or output.
std::byte *Context::portAddress(const Buffer &buffer) const {
  const Buffer &owner = originOf(shared->manifest(), buffer);
  bool isInput = owner.home.kind == Home::Kind::Input;
  std::byte *base = places[owner.home.index + (isInput ? 0 : boundInputs.size())];
  return base + (&owner == &buffer ? 0 : buffer.home.offset);
}

void Context::patchOperands() {
  const Manifest &manifest = shared->manifest();
  for (size_t i = 0; i < addresses.size(); ++i) {
    auto kind = originOf(manifest, manifest.buffers[i]).home.kind;
    if (kind == Home::Kind::Input || kind == Home::Kind::Output)
      addresses[i] = portAddress(manifest.buffers[i]);
  }
  for (const Patch &patch : patches)
    operands[patch.operand] = addresses[patch.buffer];
}

bool Context::isOnDevice(const void *data) const {
  const Device &device = shared->device();
  return !device.sharesHostMemory() && device.ownsMemory(data);
}

/// Inputs come first.
const void *Context::boundAt(size_t place) const {
  size_t numInputs = boundInputs.size();
  return place < numInputs ? boundInputs[place]->data : boundOutputs[place - numInputs]->data;
}

const Port &Context::portAt(size_t place) const {
  const Manifest &manifest = shared->manifest();
  size_t numInputs = manifest.inputs.size();
  return place < numInputs ? manifest.inputs[place] : manifest.outputs[place - numInputs];
}

/// Whether this run's tensor is smaller than what kernels know.
bool Context::isPart(const Port &port) const {
  return port.open && size != shared->manifest().open->high;
}

void Context::findTensors() {
  for (size_t place = 0; place < staged.size(); ++place)
    onDevice[place] = isOnDevice(boundAt(place));
}

Status Context::checkInputs() {
  return checkElements(
      shared->manifest(), [&](uint32_t number) -> Expected<std::span<const std::byte>> {
        const InputTensor &tensor = *boundInputs[number];
        if (!onDevice[number])
          return wholeOf(number, {static_cast<const std::byte *>(tensor.data), tensor.bytes});
        lookedAt.resize(std::max<size_t>(lookedAt.size(), tensor.bytes));
        KINTSUGI_RETURN_IF_ERROR(queue->download(lookedAt.data(), tensor.data, tensor.bytes));
        return wholeOf(number, std::span<const std::byte>(lookedAt).first(tensor.bytes));
      });
}

/// The pieces of a port's tensor in this run.
OpenPart Context::piecesOf(const Port &port) const {
  if (isPart(port))
    return partOf(port.type, port.shape, *port.open, size);
  uint64_t bytes = shared->manifest().buffers[port.buffer].bytes;
  return {1, bytes, bytes};
}

/// A tensor of the caller's and its place in the greatest one, piece by piece: `move` is given an
/// offset into each and how many bytes to move.
template <typename Move> static Status forEachPiece(const OpenPart &part, Move move) {
  for (uint64_t piece = 0; piece < part.count; ++piece)
    KINTSUGI_RETURN_IF_ERROR(move(piece * part.bytes, piece * part.pitch, part.bytes));
  return Status::success();
}

/// The bytes of an input at the greatest size, zeros behind what is given: those are in any range.
Expected<std::span<const std::byte>> Context::wholeOf(size_t input,
                                                      std::span<const std::byte> given) {
  const Port &port = portAt(input);
  if (!isPart(port))
    return given;
  wholeInput.assign(shared->manifest().buffers[port.buffer].bytes, std::byte(0));
  auto move = [&](uint64_t from, uint64_t to, uint64_t bytes) {
    std::copy_n(given.data() + from, bytes, wholeInput.data() + to);
    return Status::success();
  };
  KINTSUGI_RETURN_IF_ERROR(forEachPiece(piecesOf(port), move));
  return std::span<const std::byte>(wholeInput);
}

/// What is moved together after a run is moved by the host.
Status Context::checkOutputs() const {
  for (size_t i = 0; i < boundOutputs.size(); ++i)
    if (const Port &port = shared->manifest().outputs[i];
        !port.dynamic.empty() && onDevice[boundInputs.size() + i])
      return usageError("output '" + port.name +
                        "' has extents that depend on data: give it host memory");
  return Status::success();
}

/// Tensors on the device are used where they are once they were there in an earlier run: steps of
/// other places are recorded anew, which takes longer than copies. Kernels may touch what lies
/// behind a part of a tensor.
void Context::choosePlaces() {
  bool isShared = shared->device().sharesHostMemory();
  for (size_t place = 0; place < staged.size(); ++place) {
    // Inputs are never written: validated.
    auto *data = static_cast<std::byte *>(const_cast<void *>(boundAt(place)));
    bool isAligned = reinterpret_cast<uintptr_t>(data) % KIN_BUFFER_ALIGNMENT == 0;
    bool isUsable = isShared || (isAligned && onDevice[place]);
    places[place] = isUsable && !isPart(portAt(place)) ? data : staged[place];
  }
  if (!hasFixedSteps || std::ranges::find(asked, places) != asked.end())
    return;
  asked[nextAsked] = places;
  nextAsked = (nextAsked + 1) % asked.size();
  places = staged;
}

/// What lies behind the tensors of a run is of earlier ones, or zero: elements that kernels can
/// take.
Status Context::clearOpenInputs() {
  const Manifest &manifest = shared->manifest();
  for (size_t i = 0; i < manifest.inputs.size(); ++i)
    if (manifest.inputs[i].open) {
      std::vector<std::byte> zeros(manifest.buffers[manifest.inputs[i].buffer].bytes);
      KINTSUGI_RETURN_IF_ERROR(queue->upload(staged[i], zeros.data(), zeros.size()));
      KINTSUGI_RETURN_IF_ERROR(queue->finish());
    }
  return Status::success();
}

Status Context::uploadInputs() {
  if (sizeOnDevice && sizeThere != size) {
    sizeThere = size;
    KINTSUGI_RETURN_IF_ERROR(queue->upload(sizeOnDevice, &sizeThere, sizeof(sizeThere)));
  }
  for (size_t i = 0; i < boundInputs.size(); ++i)
    if (isStaged(i))
      KINTSUGI_RETURN_IF_ERROR(upload(i, *boundInputs[i]));
  return Status::success();
}

Status Context::upload(size_t input, const InputTensor &tensor) {
  auto *data = static_cast<const std::byte *>(tensor.data);
  auto move = [&](uint64_t from, uint64_t to, uint64_t bytes) {
    return onDevice[input] ? queue->copy(staged[input] + to, data + from, bytes)
                           : queue->upload(staged[input] + to, data + from, bytes);
  };
  return forEachPiece(piecesOf(portAt(input)), move);
}

Status Context::download(size_t output, void *to) {
  const Port &port = shared->manifest().outputs[output];
  auto *data = static_cast<std::byte *>(to);
  auto move = [&](uint64_t place, uint64_t from, uint64_t bytes) {
    const std::byte *source = addresses[port.buffer] + from;
    return onDevice[boundInputs.size() + output] ? queue->copy(data + place, source, bytes)
                                                 : queue->download(data + place, source, bytes);
  };
  return forEachPiece(piecesOf(port), move);
}

Status Context::downloadOutputs() {
  const Manifest &manifest = shared->manifest();
  for (size_t i = 0; i < boundOutputs.size(); ++i) {
    const Port &port = manifest.outputs[i];
    const Buffer &buffer = manifest.buffers[port.buffer];
    if (buffer.home == Home::output(i) && !isStaged(boundInputs.size() + i))
      continue;
    KINTSUGI_RETURN_IF_ERROR(download(i, boundOutputs[i]->data));
  }
  KINTSUGI_RETURN_IF_ERROR(queue->finish());
  for (size_t i = 0; i < boundOutputs.size(); ++i)
    KINTSUGI_RETURN_IF_ERROR(reportShape(manifest.outputs[i], *boundOutputs[i]));
  return Status::success();
}

/// Tells the caller the extents; where some are dynamic, moves the valid elements together.
Status Context::reportShape(const Port &port, const OutputTensor &tensor) {
  if (tensor.shape.empty())
    return Status::success();
  for (size_t d = 0; d < port.shape.size(); ++d)
    tensor.shape[d] = extentAt(port, d, size);
  if (port.dynamic.empty())
    return Status::success();
  for (const DynamicDimension &dynamic : port.dynamic) {
    int64_t count = 0, bound = port.shape[dynamic.dimension];
    KINTSUGI_RETURN_IF_ERROR(queue->download(&count, addresses[dynamic.buffer], sizeof(count)));
    if (count < 0 || count > bound)
      return inputError("output '" + port.name + "' has " + std::to_string(count) +
                        " elements along dimension " + std::to_string(dynamic.dimension) +
                        ", the model has room for " + std::to_string(bound));
    tensor.shape[dynamic.dimension] = count;
  }
  compact(port.type, port.shape, tensor.shape.first(port.shape.size()), tensor.data);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {
class RunScope {
public:
  RunScope(DeviceQueue &queue, int64_t size) : queue(queue) { queue.beginRun(size); }

  /// What a run that ended early has under way uses the caller's tensors, which are the caller's
  /// again now; what is wrong then was said already.
  ~RunScope() {
    if (!isDone)
      static_cast<void>(queue.finish());
    queue.endRun();
  }

  void done() { isDone = true; }

private:
  DeviceQueue &queue;
  bool isDone = false;
};
} // namespace

/// The least that takes the size.
Context &Context::contextFor(int64_t sizeOfRun, const RunOptions &options) {
  if (options.profile || options.observer)
    return *this;
  auto takes = [&](const std::unique_ptr<Context> &each) {
    const OpenDimension &open = *each->shared->manifest().open;
    return sizeOfRun >= open.low && sizeOfRun <= open.high;
  };
  auto found = std::ranges::find_if(smaller, takes);
  return found == smaller.end() ? *this : **found;
}

Status Context::run(std::span<const InputTensor> inputs, std::span<const OutputTensor> outputs,
                    RunOptions options) {
  std::lock_guard lock(running);
  ofLastRun = this;
  if (!smaller.empty()) {
    KINTSUGI_ASSIGN(int64_t sizeOfRun, bindInputs(shared->manifest(), inputs, boundInputs));
    ofLastRun = &contextFor(sizeOfRun, options);
  }
  return ofLastRun->runHere(inputs, outputs, options);
}

Status Context::runHere(std::span<const InputTensor> inputs, std::span<const OutputTensor> outputs,
                        const RunOptions &options) {
  const Manifest &manifest = shared->manifest();
  KINTSUGI_ASSIGN(size, bindInputs(manifest, inputs, boundInputs));
  KINTSUGI_RETURN_IF_ERROR(bindOutputs(manifest, outputs, size, boundOutputs));
  KINTSUGI_RETURN_IF_ERROR(checkOverlaps(manifest, boundInputs, boundOutputs, size));
  findTensors();
  KINTSUGI_RETURN_IF_ERROR(checkInputs());
  KINTSUGI_RETURN_IF_ERROR(checkOutputs());
  choosePlaces();
  patchOperands();
  isTimedByDevice = queue->timeStages(options.profile) && options.profile;
  RunScope scope(*queue, size);
  KINTSUGI_RETURN_IF_ERROR(uploadInputs());
  KINTSUGI_RETURN_IF_ERROR(runSteps(options));
  KINTSUGI_RETURN_IF_ERROR(lookAtReports());
  KINTSUGI_RETURN_IF_ERROR(downloadOutputs());
  scope.done();
  return options.profile ? collectSpans() : Status::success();
}

/// Of operands that were wrong only the device knew.
Status Context::lookAtReports() {
  const Manifest &manifest = shared->manifest();
  for (const Check &check : manifest.checks) {
    if (check.range)
      continue;
    uint64_t bytes = manifest.buffers[check.buffer].bytes;
    KINTSUGI_RETURN_IF_ERROR(queue->download(reported.data(), addresses[check.buffer], bytes));
    std::span<const int64_t> report = std::span(reported).first(bytes / sizeof(int64_t));
    if (report[0] == 0)
      continue;
    return failureOf(check, report.subspan(report.size() > 1 ? 1 : 0));
  }
  return Status::success();
}

/// The plan, as a whole where it has the same steps in each run and nobody looks at single ones.
Status Context::runSteps(const RunOptions &options) {
  const Plan &plan = shared->manifest().plan;
  if (options.profile) {
    spans.clear();
    stepsBegan = std::chrono::steady_clock::now();
  }
  bool areSeen = options.observer || (options.profile && !isTimedByDevice);
  if (!hasFixedSteps || areSeen)
    return walk(plan, {*queue, options});
  KINTSUGI_RETURN_IF_ERROR(checkCancelled(options));
  findLasting();
  KINTSUGI_ASSIGN(bool isUnderWay, queue->beginSteps(lasting, places));
  if (isUnderWay)
    return Status::success();
  Status walked = walk(plan, {*queue, options});
  Status ended = queue->endSteps(walked.ok());
  return walked.ok() ? std::move(ended) : std::move(walked);
}

Status Context::walk(const Plan &plan, Walk to) {
  switch (plan.kind) {
  case Plan::Kind::Stage:
    return launch(plan.stage, to);
  case Plan::Kind::Sequence:
    for (const Plan &child : plan.children)
      KINTSUGI_RETURN_IF_ERROR(walk(child, to));
    return Status::success();
  case Plan::Kind::Repeat:
    return repeat(plan, to);
  case Plan::Kind::Branch: {
    KINTSUGI_ASSIGN(bool condition, readFlag(plan.condition, to.queue));
    return walk(plan.children[condition ? 0 : 1], to);
  }
  case Plan::Kind::Copy:
    return copyBuffers(plan.copies, 0, to.queue);
  case Plan::Kind::Lanes:
    return runLanes(plan, to);
  }
  return Status::success();
}

Status Context::repeat(const Plan &plan, Walk to) {
  for (uint64_t i = 0; i < plan.count; ++i) {
    KINTSUGI_RETURN_IF_ERROR(checkCancelled(to.options));
    if (plan.condition != none) {
      KINTSUGI_ASSIGN(bool condition, readFlag(plan.condition, to.queue));
      if (!condition)
        break;
    }
    if (plan.step != none) {
      int64_t step = static_cast<int64_t>(i);
      KINTSUGI_RETURN_IF_ERROR(to.queue.upload(addresses[plan.step], &step, sizeof(step)));
    }
    KINTSUGI_RETURN_IF_ERROR(walk(plan.children[0], to));
    KINTSUGI_RETURN_IF_ERROR(copyBuffers(plan.copies, i, to.queue));
  }
  return Status::success();
}

/// An observer sees one stage at a time.
Status Context::runLanes(const Plan &plan, Walk to) {
  if (to.options.observer) {
    for (const Plan &child : plan.children)
      KINTSUGI_RETURN_IF_ERROR(walk(child, to));
    return Status::success();
  }
  struct Work {
    Context &context;
    const Plan &plan;
    const RunOptions &options;
  } work{*this, plan, to.options};
  auto runLane = [](void *argument, DeviceQueue &lane, uint32_t number) {
    auto &work = *static_cast<Work *>(argument);
    return work.context.walk(work.plan.children[number], {lane, work.options, number});
  };
  return to.queue.runLanes(static_cast<uint32_t>(plan.children.size()), runLane, &work);
}

Status Context::checkCancelled(const RunOptions &options) const {
  if (options.cancel && options.cancel->load(std::memory_order_relaxed))
    return usageError(shared->artifact().name() + ": the run was cancelled");
  return Status::success();
}

Status Context::launch(uint32_t stage, Walk to) {
  KINTSUGI_RETURN_IF_ERROR(checkCancelled(to.options));
  void *const *buffers = operands.data() + firstOperand[stage];
  bool isTimedHere = to.options.profile && !isTimedByDevice;
  KINTSUGI_RETURN_IF_ERROR(isTimedHere ? launchTimed(stage, buffers, to)
                                       : to.queue.launch(stage, buffers));
  if (!to.options.observer)
    return Status::success();
  size_t count = shared->manifest().stages[stage].buffers.size();
  return to.options.observer->launched(stage, {buffers, count}, to.queue);
}

Status Context::launchTimed(uint32_t stage, void *const *buffers, Walk to) {
  using Clock = std::chrono::steady_clock;
  auto nanoseconds = [](Clock::duration taken) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
  };
  auto start = Clock::now();
  KINTSUGI_RETURN_IF_ERROR(to.queue.launch(stage, buffers));
  KINTSUGI_RETURN_IF_ERROR(to.queue.finish());
  auto taken = Clock::now() - start;
  std::lock_guard lock(addingSpans);
  spans.push_back({stage, to.lane, nanoseconds(start - stepsBegan), nanoseconds(taken)});
  return Status::success();
}

Status Context::collectSpans() {
  if (isTimedByDevice) {
    KINTSUGI_ASSIGN(spans, queue->stageSpans());
  }
  for (const StageSpan &span : spans) {
    ++times[span.stage].launches;
    times[span.stage].nanoseconds += static_cast<uint64_t>(span.nanoseconds);
  }
  return Status::success();
}

Status Context::copyBuffers(const std::vector<BufferCopy> &copies, uint64_t iteration,
                            DeviceQueue &queue) {
  const std::vector<Buffer> &buffers = shared->manifest().buffers;
  for (const BufferCopy &copy : copies)
    KINTSUGI_RETURN_IF_ERROR(
        queue.copy(addresses[copy.to] + iteration * copy.toStep,
                   addresses[copy.from] + iteration * copy.fromStep,
                   std::min(buffers[copy.from].bytes, buffers[copy.to].bytes)));
  return Status::success();
}

Expected<bool> Context::readFlag(int64_t buffer, DeviceQueue &queue) {
  uint8_t flag = 0;
  KINTSUGI_RETURN_IF_ERROR(queue.download(&flag, addresses[buffer], sizeof(flag)));
  return flag != 0;
}
