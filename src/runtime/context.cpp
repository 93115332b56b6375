//===- context.cpp - Running a model --------------------------------------===//

#include "runtime/context.h"

#include "abi/stage.h"
#include "base/fill_numbers.h"

#include <algorithm>
#include <cstring>

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

/// Inputs of more bytes go to a device one by one: there it is the bus that they wait for.
constexpr uint64_t mostGathered = 64 << 10;

/// Memory on the device for the caller's tensors that are elsewhere.
Status Context::placePorts() {
  const Manifest &manifest = shared->manifest();
  Device &device = shared->device();
  constexpr uint64_t alignment = 256; // As what is allocated has at the least.
  offsets.assign(manifest.inputs.size(), none);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Port &port = manifest.inputs[i];
    uint64_t bytes = manifest.buffers[port.buffer].bytes;
    if (device.sharesHostMemory() || !port.open.empty() || bytes == 0 || bytes > mostGathered)
      continue;
    uint64_t offset = (gatheredBytes + alignment - 1) / alignment * alignment;
    offsets[i] = static_cast<int64_t>(offset);
    gatheredBytes = offset + bytes;
  }
  KINTSUGI_ASSIGN(gathered, allocate(gatheredBytes));
  size_t numPlaces = manifest.inputs.size() + manifest.outputs.size();
  for (size_t place = 0; place < numPlaces; ++place) {
    const Port &port = portAt(place);
    bool isNeeded = !device.sharesHostMemory() || !port.open.empty();
    if (place < offsets.size() && offsets[place] != none) {
      staged.push_back(gathered + offsets[place]);
      continue;
    }
    KINTSUGI_ASSIGN(std::byte * memory,
                    allocate(isNeeded ? manifest.buffers[port.buffer].bytes : 0));
    staged.push_back(memory);
  }
  return clearOpenInputs();
}

Status Context::setUp(ContextOptions options) {
  const Manifest &manifest = shared->manifest();
  Device &device = shared->device();
  KINTSUGI_ASSIGN(queue, device.createQueue(shared->program(), {options.threads, options.joined}));
  KINTSUGI_ASSIGN(arena, allocate(manifest.arenaBytes));
  auto isSize = [](const Buffer &buffer) { return buffer.home.kind == Home::Kind::Size; };
  if (std::ranges::any_of(manifest.buffers, isSize)) {
    KINTSUGI_ASSIGN(sizesOnDevice, allocate(mostOpenDimensions * KIN_BUFFER_ALIGNMENT));
  }
  KINTSUGI_RETURN_IF_ERROR(placePorts());
  places = staged;
  asked.assign(mostPlaces, staged);
  given.inputs.resize(manifest.inputs.size());
  given.outputs.resize(manifest.outputs.size());
  given.onDevice.resize(places.size());
  KINTSUGI_RETURN_IF_ERROR(exchanges[0].sent.ensure(device, gatheredBytes));
  times.resize(manifest.stages.size());
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
      addresses[i] = sizesOnDevice + owner.home.index * KIN_BUFFER_ALIGNMENT + offset;
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

bool Context::isOnDevice(const void *data) const {
  const Device &device = shared->device();
  return !device.sharesHostMemory() && device.ownsMemory(data);
}

Status Context::bindTensors(std::span<const InputTensor> inputs,
                            std::span<const OutputTensor> outputs, BoundTensors &tensors) {
  const Manifest &manifest = shared->manifest();
  KINTSUGI_ASSIGN(tensors.sizes, bindInputs(manifest, inputs, tensors.inputs));
  KINTSUGI_RETURN_IF_ERROR(bindOutputs(manifest, outputs, tensors.sizes, tensors.outputs));
  KINTSUGI_RETURN_IF_ERROR(findDeliveries(manifest, order, tensors));
  for (size_t place = 0; place < tensors.onDevice.size(); ++place)
    tensors.onDevice[place] = isOnDevice(tensors.dataAt(place));
  return makeRoomApart(tensors);
}

/// Devices with memory of their own have room for all outputs.
Status Context::makeRoomApart(const BoundTensors &tensors) {
  for (size_t i = 0; i < tensors.deliveries.size(); ++i)
    if (tensors.deliveries[i] != Delivery::Direct && !roomOf(i)) {
      const Port &port = shared->manifest().outputs[i];
      KINTSUGI_ASSIGN(staged[offsets.size() + i],
                      allocate(shared->manifest().buffers[port.buffer].bytes));
    }
  return Status::success();
}

/// The device address of a buffer that is at home in an input or output.
std::byte *Context::portAddress(const Buffer &buffer) const {
  const Buffer &owner = originOf(shared->manifest(), buffer);
  bool isInput = owner.home.kind == Home::Kind::Input;
  std::byte *base = places[owner.home.index + (isInput ? 0 : offsets.size())];
  return base + (&owner == &buffer ? 0 : buffer.home.offset);
}

void Context::patchOperands() {
  if (patched == places)
    return;
  patched = places;
  const Manifest &manifest = shared->manifest();
  for (size_t i = 0; i < addresses.size(); ++i) {
    auto kind = originOf(manifest, manifest.buffers[i]).home.kind;
    if (kind == Home::Kind::Input || kind == Home::Kind::Output)
      addresses[i] = portAddress(manifest.buffers[i]);
  }
  for (const Patch &patch : patches)
    operands[patch.operand] = addresses[patch.buffer];
  findLasting();
}

/// Inputs come first.
const Port &Context::portAt(size_t place) const {
  const Manifest &manifest = shared->manifest();
  size_t numInputs = manifest.inputs.size();
  return place < numInputs ? manifest.inputs[place] : manifest.outputs[place - numInputs];
}

/// Whether a run's tensor is smaller than what kernels know.
bool Context::isPart(const Port &port, const OpenSizes &sizes) {
  return std::ranges::any_of(port.open, [&](const OpenAxis &axis) {
    return axis.step * sizes[axis.number] != port.shape[axis.dimension];
  });
}

/// What is on the device is looked at when the run is over: kernels take the nearest element where
/// an index is wrong.
Status Context::checkInputs() {
  const Manifest &manifest = shared->manifest();
  for (const Check &check : manifest.checks) {
    uint32_t number = manifest.buffers[check.buffer].home.index;
    if (!check.range || tensors->onDevice[number])
      continue;
    const InputTensor &tensor = *tensors->inputs[number];
    KINTSUGI_RETURN_IF_ERROR(lookAtChecked(
        check, tensors->sizes, {static_cast<const std::byte *>(tensor.data), tensor.bytes}));
  }
  return Status::success();
}

/// The pieces of a port's tensor in this run.
OpenPart Context::piecesOf(const Port &port, const OpenSizes &sizes) const {
  if (isPart(port, sizes))
    return partOf(port.type, port.shape, port.open, sizes);
  uint64_t bytes = shared->manifest().buffers[port.buffer].bytes;
  OpenPart whole;
  whole.bytes = bytes;
  return whole;
}

/// A tensor of the caller's and its place in the greatest one, piece by piece: `move` is given an
/// offset into each and how many bytes to move.
template <typename Move> static Status forEachPiece(const OpenPart &part, Move move) {
  for (uint64_t piece = 0; piece < part.count(); ++piece)
    KINTSUGI_RETURN_IF_ERROR(move(piece * part.bytes, part.placeOf(piece), part.bytes));
  return Status::success();
}

/// The bytes of a check's input at the greatest size, zeros behind what is given: those are in any
/// range.
Expected<std::span<const std::byte>> Context::wholeOf(const Check &check, const OpenSizes &sizes,
                                                      std::span<const std::byte> given) {
  const Buffer &buffer = shared->manifest().buffers[check.buffer];
  const Port &port = portAt(buffer.home.index);
  if (!isPart(port, sizes))
    return given;
  wholeInput.assign(buffer.bytes, std::byte(0));
  auto move = [&](uint64_t from, uint64_t to, uint64_t bytes) {
    std::copy_n(given.data() + from, bytes, wholeInput.data() + to);
    return Status::success();
  };
  KINTSUGI_RETURN_IF_ERROR(forEachPiece(piecesOf(port, sizes), move));
  return std::span<const std::byte>(wholeInput);
}

/// What is moved together after a run is moved by the host.
Status Context::checkOutputs() const {
  for (size_t i = 0; i < tensors->outputs.size(); ++i)
    if (const Port &port = shared->manifest().outputs[i];
        !port.dynamic.empty() && tensors->onDevice[offsets.size() + i])
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
    auto *data = static_cast<std::byte *>(const_cast<void *>(tensors->dataAt(place)));
    bool isAligned = reinterpret_cast<uintptr_t>(data) % KIN_BUFFER_ALIGNMENT == 0;
    bool isUsable = isShared || (isAligned && tensors->onDevice[place]);
    bool isApart =
        place >= offsets.size() && tensors->deliveries[place - offsets.size()] == Delivery::Apart;
    isUsable &= !isApart && !isPart(portAt(place), tensors->sizes);
    places[place] = isUsable ? data : staged[place];
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
    if (!manifest.inputs[i].open.empty()) {
      std::vector<std::byte> zeros(manifest.buffers[manifest.inputs[i].buffer].bytes);
      KINTSUGI_RETURN_IF_ERROR(queue->upload(staged[i], zeros.data(), zeros.size()));
      KINTSUGI_RETURN_IF_ERROR(queue->finish());
    }
  return Status::success();
}

/// Whether an input goes to the device with others.
bool Context::isGathered(size_t input) const {
  return offsets[input] != none && !tensors->onDevice[input];
}

Status Context::uploadInputs(Exchange &exchange) {
  for (size_t k = 0; sizesOnDevice && k < sizesThere.size(); ++k)
    if (sizesThere[k] != tensors->sizes[k]) {
      sizesThere[k] = tensors->sizes[k];
      KINTSUGI_RETURN_IF_ERROR(queue->upload(sizesOnDevice + k * KIN_BUFFER_ALIGNMENT,
                                             &sizesThere[k], sizeof(sizesThere[k])));
    }
  KINTSUGI_RETURN_IF_ERROR(gatherInputs(exchange));
  for (size_t i = 0; i < offsets.size(); ++i)
    if (isStaged(i) && !isGathered(i))
      KINTSUGI_RETURN_IF_ERROR(upload(i, *tensors->inputs[i]));
  return Status::success();
}

/// Neighbours go in one piece.
Status Context::gatherInputs(Exchange &exchange) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (!isGathered(i))
      continue;
    auto begin = static_cast<uint64_t>(offsets[i]), end = begin;
    for (; i < offsets.size() && isGathered(i); ++i) {
      end = static_cast<uint64_t>(offsets[i]);
      uint64_t bytes = shared->manifest().buffers[portAt(i).buffer].bytes;
      auto *data = static_cast<const std::byte *>(tensors->inputs[i]->data);
      std::copy_n(data, bytes, exchange.sent.data() + end);
      end += bytes;
    }
    KINTSUGI_RETURN_IF_ERROR(
        queue->send(gathered + begin, exchange.sent.data() + begin, end - begin));
  }
  return Status::success();
}

Status Context::upload(size_t input, const InputTensor &tensor) {
  auto *data = static_cast<const std::byte *>(tensor.data);
  auto move = [&](uint64_t from, uint64_t to, uint64_t bytes) {
    return tensors->onDevice[input] ? queue->copy(staged[input] + to, data + from, bytes)
                                    : queue->upload(staged[input] + to, data + from, bytes);
  };
  return forEachPiece(piecesOf(portAt(input), tensors->sizes), move);
}

Status Context::download(size_t output, const std::byte *whole, void *to) {
  const Port &port = shared->manifest().outputs[output];
  auto *data = static_cast<std::byte *>(to);
  auto move = [&](uint64_t place, uint64_t from, uint64_t bytes) {
    const std::byte *source = whole + from;
    return tensors->onDevice[offsets.size() + output] ? queue->copy(data + place, source, bytes)
                                                      : queue->fetch(data + place, source, bytes);
  };
  return forEachPiece(piecesOf(port, tensors->sizes), move);
}

/// Whether stages write an output where the caller wants it.
bool Context::isDelivered(size_t output) const {
  const Manifest &manifest = shared->manifest();
  return manifest.buffers[manifest.outputs[output].buffer].home == Home::output(output) &&
         !isStaged(offsets.size() + output);
}

/// But for those that come back by way of the exchange. What is in an input goes elsewhere before
/// any output may take its memory.
Status Context::downloadOutputs() {
  const Manifest &manifest = shared->manifest();
  auto bufferOf = [&](size_t i) { return manifest.outputs[i].buffer; };
  auto addressOf = [&](size_t i) { return addresses[bufferOf(i)]; };
  auto isDetour = [&](size_t i) { return tensors->deliveries[i] == Delivery::Detour; };
  auto isCopied = [&](size_t i) { return !isDelivered(i) && !isExchanged(i); };
  for (size_t i = 0; i < tensors->outputs.size(); ++i)
    if (isCopied(i) && isDetour(i))
      KINTSUGI_RETURN_IF_ERROR(
          queue->copy(roomOf(i), addressOf(i), manifest.buffers[bufferOf(i)].bytes));
  for (size_t i = 0; i < tensors->outputs.size(); ++i)
    if (isCopied(i))
      KINTSUGI_RETURN_IF_ERROR(
          download(i, isDetour(i) ? roomOf(i) : addressOf(i), tensors->outputs[i]->data));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// What the host looks at after a run
//===----------------------------------------------------------------------===//

/// Whether an output is small enough to come back together with others.
bool Context::isExchanged(size_t output) const {
  const Port &port = shared->manifest().outputs[output];
  uint64_t bytes = shared->manifest().buffers[port.buffer].bytes;
  return !shared->device().sharesHostMemory() && !tensors->onDevice[offsets.size() + output] &&
         port.open.empty() && bytes > 0 && bytes <= mostGathered;
}

/// What says that the run was wrong comes first.
Status Context::planReturns(Exchange &exchange) const {
  const Manifest &manifest = shared->manifest();
  exchange.clear();
  exchange.sizes = tensors->sizes;
  auto add = [&](Returned::Kind kind, size_t number, size_t part, const void *from,
                 uint64_t bytes) {
    exchange.add({kind, static_cast<uint32_t>(number), static_cast<uint32_t>(part), from, bytes});
  };
  for (size_t i = 0; i < manifest.checks.size(); ++i) {
    const Buffer &buffer = manifest.buffers[manifest.checks[i].buffer];
    uint32_t input = buffer.home.index;
    if (!manifest.checks[i].range)
      add(Returned::Kind::Report, i, 0, addresses[manifest.checks[i].buffer], buffer.bytes);
    else if (tensors->onDevice[input])
      add(Returned::Kind::Checked, i, 0, tensors->inputs[input]->data,
          bytesAt(manifest, portAt(input), tensors->sizes));
  }
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    const Port &port = manifest.outputs[i];
    for (size_t part = 0; part < port.dynamic.size(); ++part)
      add(Returned::Kind::Extent, i, part, addresses[port.dynamic[part].buffer], sizeof(int64_t));
    if (isExchanged(i))
      add(Returned::Kind::Output, i, 0, addresses[port.buffer],
          manifest.buffers[port.buffer].bytes);
  }
  return exchange.makeRoom(shared->device());
}

/// Inputs as they are ahead of the steps, or all else as it is behind them.
Status Context::fetchReturns(const Exchange &exchange, bool areInputs) {
  for (const Returned &item : exchange.items)
    if ((item.kind == Returned::Kind::Checked) == areInputs)
      KINTSUGI_RETURN_IF_ERROR(queue->fetch(exchange.placeOf(item), item.from, item.bytes));
  return Status::success();
}

Status Context::lookAt(const Exchange &exchange) {
  const Manifest &manifest = shared->manifest();
  for (const Returned &item : exchange.items) {
    std::span<const std::byte> bytes(exchange.placeOf(item), item.bytes);
    switch (item.kind) {
    case Returned::Kind::Checked:
      KINTSUGI_RETURN_IF_ERROR(lookAtChecked(manifest.checks[item.number], exchange.sizes, bytes));
      break;
    case Returned::Kind::Report:
      KINTSUGI_RETURN_IF_ERROR(lookAtReport(manifest.checks[item.number], bytes));
      break;
    case Returned::Kind::Extent:
      KINTSUGI_RETURN_IF_ERROR(lookAtExtent(item, bytes));
      break;
    case Returned::Kind::Output:
      std::ranges::copy(bytes, static_cast<std::byte *>(tensors->outputs[item.number]->data));
      break;
    }
  }
  return Status::success();
}

Status Context::lookAtChecked(const Check &check, const OpenSizes &sizes,
                              std::span<const std::byte> bytes) {
  KINTSUGI_ASSIGN(auto whole, wholeOf(check, sizes, bytes));
  return checkElements(shared->manifest(), check, whole);
}

/// Of operands that were wrong only the device knew.
Status Context::lookAtReport(const Check &check, std::span<const std::byte> bytes) const {
  std::span<const int64_t> report(reinterpret_cast<const int64_t *>(bytes.data()),
                                  bytes.size() / sizeof(int64_t));
  if (report[0] == 0)
    return Status::success();
  return failureOf(check, report.subspan(report.size() > 1 ? 1 : 0));
}

Status Context::lookAtExtent(const Returned &item, std::span<const std::byte> bytes) const {
  const Port &port = shared->manifest().outputs[item.number];
  uint32_t dimension = port.dynamic[item.part].dimension;
  int64_t count = 0, bound = port.shape[dimension];
  std::memcpy(&count, bytes.data(), sizeof(count));
  if (count < 0 || count > bound)
    return inputError("output '" + port.name + "' has " + std::to_string(count) +
                      " elements along dimension " + std::to_string(dimension) +
                      ", the model has room for " + std::to_string(bound));
  tensors->outputs[item.number]->shape[dimension] = count;
  return Status::success();
}

/// Tells the caller the extents that don't depend on data.
void Context::reportShapes() const {
  for (size_t i = 0; i < tensors->outputs.size(); ++i) {
    const Port &port = shared->manifest().outputs[i];
    std::span<int64_t> shape = tensors->outputs[i]->shape;
    for (size_t d = 0; !shape.empty() && d < port.shape.size(); ++d)
      shape[d] = extentAt(port, d, tensors->sizes);
  }
}

/// Moves the valid elements together where the data decided how many there are.
void Context::compactOutputs() const {
  for (size_t i = 0; i < tensors->outputs.size(); ++i) {
    const Port &port = shared->manifest().outputs[i];
    const OutputTensor &tensor = *tensors->outputs[i];
    if (!port.dynamic.empty())
      compact(port.type, port.shape, tensor.shape.first(port.shape.size()), tensor.data);
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {
class RunScope {
public:
  RunScope(DeviceQueue &queue, const OpenSizes &sizes) : queue(queue) { queue.beginRun(sizes); }

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

/// The least that takes the sizes.
Expected<Context *> Context::contextFor(std::span<const InputTensor> inputs,
                                        const RunOptions &options) {
  if (smaller.empty() || options.profile || options.observer)
    return this;
  KINTSUGI_ASSIGN(OpenSizes sizes, bindInputs(shared->manifest(), inputs, given.inputs));
  auto takes = [&](const std::unique_ptr<Context> &each) {
    const std::vector<OpenDimension> &open = each->shared->manifest().open;
    for (size_t k = 0; k < open.size(); ++k)
      if (!open[k].takes(sizes[k]))
        return false;
    return true;
  };
  auto found = std::ranges::find_if(smaller, takes);
  return found == smaller.end() ? this : found->get();
}

Expected<std::shared_ptr<const Model>> Context::modelFor(std::span<const InputTensor> inputs) {
  std::lock_guard lock(running);
  KINTSUGI_ASSIGN(Context * context, contextFor(inputs, {}));
  return context->shared;
}

Status Context::run(std::span<const InputTensor> inputs, std::span<const OutputTensor> outputs,
                    RunOptions options) {
  std::lock_guard lock(running);
  KINTSUGI_ASSIGN(ofLastRun, contextFor(inputs, options));
  KINTSUGI_RETURN_IF_ERROR(ofLastRun->bindTensors(inputs, outputs, ofLastRun->given));
  return ofLastRun->runBound(ofLastRun->given, options);
}

Expected<std::unique_ptr<Binding>> Context::bind(std::span<const InputTensor> inputs,
                                                 std::span<const OutputTensor> outputs,
                                                 const RunOptions &options) {
  std::lock_guard lock(running);
  std::unique_ptr<Binding> binding(new Binding);
  KINTSUGI_ASSIGN(binding->runner, contextFor(inputs, options));
  BoundTensors &tensors = binding->tensors;
  tensors = binding->runner->given; // Room for as many.
  KINTSUGI_RETURN_IF_ERROR(binding->runner->bindTensors(inputs, outputs, tensors));
  for (const InputTensor *tensor : tensors.inputs)
    binding->inputs.push_back({{}, tensor->type, {}, tensor->data, tensor->bytes});
  for (const OutputTensor *tensor : tensors.outputs)
    binding->outputs.push_back({{}, tensor->data, tensor->bytes, tensor->shape});
  auto addressOf = [](const auto &tensor) { return &tensor; };
  std::ranges::transform(binding->inputs, tensors.inputs.begin(), addressOf);
  std::ranges::transform(binding->outputs, tensors.outputs.begin(), addressOf);
  return binding;
}

Status Context::run(Binding &binding, RunOptions options) {
  std::lock_guard lock(running);
  ofLastRun = binding.runner;
  return ofLastRun->runBound(binding.tensors, options);
}

Status Context::runBound(const BoundTensors &bound, const RunOptions &options) {
  KINTSUGI_RETURN_IF_ERROR(settle(false));
  tensors = &bound;
  KINTSUGI_RETURN_IF_ERROR(checkInputs());
  KINTSUGI_RETURN_IF_ERROR(checkOutputs());
  KINTSUGI_ASSIGN(Exchange * exchange, freeExchange());
  choosePlaces();
  patchOperands();
  KINTSUGI_RETURN_IF_ERROR(planReturns(*exchange));
  isTimedByDevice = queue->timeStages(options.profile) && options.profile;
  queue->timeSteps(options.timesSteps);
  KINTSUGI_RETURN_IF_ERROR(runWith(*exchange, options));
  return options.profile ? collectSpans() : Status::success();
}

Status Context::runWith(Exchange &exchange, const RunOptions &options) {
  KINTSUGI_RETURN_IF_ERROR(queue->workOn(options.stream));
  RunScope scope(*queue, tensors->sizes);
  KINTSUGI_RETURN_IF_ERROR(askFor(exchange, options));
  if (!mustWait(options)) {
    KINTSUGI_RETURN_IF_ERROR(queue->mark(nextExchange));
    scope.done();
    exchange.isUnderWay = true;
    nextExchange = (nextExchange + 1) % exchanges.size();
    ++numUnderWay;
    return Status::success();
  }
  KINTSUGI_RETURN_IF_ERROR(queue->finish());
  scope.done();
  KINTSUGI_RETURN_IF_ERROR(settle(true));
  reportShapes();
  KINTSUGI_RETURN_IF_ERROR(lookAt(exchange));
  compactOutputs();
  return Status::success();
}

Status Context::askFor(Exchange &exchange, const RunOptions &options) {
  KINTSUGI_RETURN_IF_ERROR(uploadInputs(exchange));
  KINTSUGI_RETURN_IF_ERROR(fetchReturns(exchange, true));
  KINTSUGI_RETURN_IF_ERROR(runSteps(options));
  KINTSUGI_RETURN_IF_ERROR(fetchReturns(exchange, false));
  return downloadOutputs();
}

//===----------------------------------------------------------------------===//
// Runs that nobody has waited for
//===----------------------------------------------------------------------===//

/// What goes to the host is there when a run returns.
bool Context::mustWait(const RunOptions &options) const {
  if (options.waits || options.profile || options.observer || shared->device().sharesHostMemory())
    return true;
  for (size_t i = 0; i < tensors->outputs.size(); ++i)
    if (const Port &port = shared->manifest().outputs[i];
        !tensors->onDevice[offsets.size() + i] && bytesAt(shared->manifest(), port, tensors->sizes))
      return true;
  return false;
}

/// The next one in turn; where it is under way still, so are all.
Expected<Exchange *> Context::freeExchange() {
  Exchange &next = exchanges[nextExchange];
  if (next.isUnderWay) {
    KINTSUGI_RETURN_IF_ERROR(queue->waitForMark(nextExchange));
    KINTSUGI_RETURN_IF_ERROR(settle(false));
  }
  KINTSUGI_RETURN_IF_ERROR(next.sent.ensure(shared->device(), gatheredBytes));
  return &next;
}

/// Looks at what came back of runs that are done: of all where `areDone` says so. The first error
/// ends it, and leaves the others for later.
Status Context::settle(bool areDone) {
  while (numUnderWay > 0) {
    auto number =
        static_cast<uint32_t>((nextExchange + exchanges.size() - numUnderWay) % exchanges.size());
    if (!areDone) {
      KINTSUGI_ASSIGN(bool hasPassed, queue->hasPassed(number));
      if (!hasPassed)
        break;
    }
    --numUnderWay;
    exchanges[number].isUnderWay = false;
    if (Status status = lookAt(exchanges[number]); !status.ok())
      return at("an earlier run", status.takeError());
  }
  return Status::success();
}

Status Context::wait() {
  std::lock_guard lock(running);
  Status first = waitHere();
  for (const std::unique_ptr<Context> &context : smaller)
    if (Status status = context->waitHere(); first.ok())
      first = std::move(status);
  return first;
}

Status Context::waitHere() {
  if (numUnderWay == 0)
    return Status::success();
  auto last = static_cast<uint32_t>((nextExchange + exchanges.size() - 1) % exchanges.size());
  KINTSUGI_RETURN_IF_ERROR(queue->waitForMark(last));
  Status first = settle(true);
  while (numUnderWay > 0)
    static_cast<void>(settle(true));
  return first;
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
