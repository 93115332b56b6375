//===- cuda_queue.cpp - Running stages on a GPU's stream ------------------===//

#include "devices/cuda/cuda_queue.h"

#include "calls/call.h"
#include "devices/cuda/record.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using namespace kintsugi::runtime;

static Address addressOf(const void *memory) { return reinterpret_cast<Address>(memory); }

Expected<std::unique_ptr<CudaQueue>> CudaQueue::create(CudaDevice &device,
                                                       const CudaProgram &program, Handle stream) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(device, program));
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  const Driver &driver = device.driver();
  auto made = [&](Result result) { return driver.check(result, "make a stream on the device"); };
  queue->own = stream;
  queue->ownsStream = stream == nullptr;
  if (queue->ownsStream)
    KINTSUGI_RETURN_IF_ERROR(made(driver.createStream(&queue->own, nonBlockingStream)));
  queue->stream = queue->own;
  KINTSUGI_RETURN_IF_ERROR(made(driver.createEvent(&queue->start, 0)));
  KINTSUGI_RETURN_IF_ERROR(made(driver.createEvent(&queue->end, 0)));
  size_t most = 0;
  for (const Stage &stage : program.manifest().stages)
    most = std::max(most, stage.buffers.size());
  constexpr size_t mostOfDevices = 4096 / sizeof(Address); // That an entry can have.
  queue->parameters.resize(std::max(most + 2 + KIN_TENSOR_MAX_MAPS, mostOfDevices), &queue->none);
  queue->encoded.resize(KIN_TENSOR_MAX_MAPS);
  queue->placesOfStep.resize(most);
  KINTSUGI_RETURN_IF_ERROR(queue->makeCounter());
  return queue;
}

constexpr uint64_t counterBytes = sizeof(uint32_t);

Status CudaQueue::makeCounter() {
  auto meets = [](const Stage &stage) { return stage.meets; };
  if (std::ranges::none_of(program.manifest().stages, meets))
    return Status::success();
  KINTSUGI_ASSIGN(counter, device.allocate(counterBytes));
  return driver().check(driver().fill(addressOf(counter), 0, 1, stream), "clear a counter");
}

CudaQueue::~CudaQueue() {
  if (!device.enter().ok())
    return;
  if (behind)
    driver().waitForEvent(behind);
  if (own)
    driver().waitForStream(own);
  dropTimedGraph();
  for (Recorded &recorded : graphs)
    drop(recorded);
  for (Handle event : {start, end})
    if (event)
      driver().destroyEvent(event);
  for (Handle event : marks)
    if (event)
      driver().destroyEvent(event);
  if (own && ownsStream)
    driver().destroyStream(own);
  device.release(counter, counterBytes);
}

/// "kernel 'k3' of node 'conv1', node 'relu1'"
std::string CudaQueue::describe(const Stage &stage) {
  std::string text = "kernel '" + stage.symbol + "'";
  for (const std::string &node : stage.nodes)
    text += (&node == &stage.nodes.front() ? " of node '" : ", node '") + node + "'";
  return text;
}

//===----------------------------------------------------------------------===//
// Streams and marks
//===----------------------------------------------------------------------===//

/// A stream may be gone, and another one have its handle: only events tell what is behind what.
Status CudaQueue::workOn(std::optional<void *> callers) {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  stream = callers ? *callers : own;
  auto used = [&](Result result) { return driver().check(result, "use a stream for a run"); };
  int isRecorded = 0;
  if (callers)
    KINTSUGI_RETURN_IF_ERROR(used(driver().isCapturing(stream, &isRecorded)));
  if (isRecorded)
    return usageError(
        "a run can't be recorded into a graph of the caller's: it reads what the host "
        "gives it each time; put it on a stream that is not being recorded");
  return behind ? used(driver().waitForEventOn(stream, behind, 0)) : Status::success();
}

Status CudaQueue::mark(uint32_t number) {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  auto marked = [&](Result result) { return driver().check(result, "mark the end of a run"); };
  if (!marks[number])
    KINTSUGI_RETURN_IF_ERROR(marked(driver().createEvent(&marks[number], eventWithoutTime)));
  KINTSUGI_RETURN_IF_ERROR(marked(driver().recordEvent(marks[number], stream)));
  behind = marks[number];
  return Status::success();
}

constexpr const char *finishing = "finish a run (a kernel failed, or what was asked for before it)";

Expected<bool> CudaQueue::hasPassed(uint32_t number) {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  Result result = driver().queryEvent(marks[number]);
  if (result == notReady)
    return false;
  KINTSUGI_RETURN_IF_ERROR(driver().check(result, finishing));
  return true;
}

Status CudaQueue::waitForMark(uint32_t number) {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  return driver().check(driver().waitForEvent(marks[number]), finishing);
}

void CudaQueue::beginRun(const OpenSizes &sizesOfRun) {
  sizes = sizesOfRun;
  isTimed = false;
  hasFixedSteps = false;
  alone.clear();
  runBegan = Clock::now();
}

void CudaQueue::endRun() {
  if (!hasFixedSteps)
    isWatched = false;
  stream = own; // A caller's may be gone before the next run.
}

//===----------------------------------------------------------------------===//
// Steps that are the same in each run
//===----------------------------------------------------------------------===//

constexpr size_t mostGraphs = 16; ///< Each holds memory of the driver.
constexpr size_t mostMet = 64;

/// Steps that are under way go when they are done; what they use beside them is waited for.
void CudaQueue::drop(Recorded &recorded) {
  if (behind)
    driver().waitForEvent(behind);
  if (recorded.graph)
    driver().destroyRunnable(recorded.graph);
  device.release(recorded.added, recorded.addedBytes);
  recorded = {};
}

/// Notes the run under way.
bool CudaQueue::wasMetSince(uint64_t run, std::span<std::byte *const> places) {
  auto isThere = [&](const Met &each) { return each.key.isOf(sizes, places); };
  auto known = std::ranges::find_if(met, isThere);
  const bool isAgain = known != met.end() && known->lastRun > run;
  if (known == met.end())
    known = met.size() < mostMet ? met.emplace(met.end())
                                 : std::ranges::min_element(met, {}, &Met::lastRun);
  *known = {{sizes, {places.begin(), places.end()}}, numRuns};
  return isAgain;
}

/// Null where a run like this has no graph and is not to have one: recording takes longer than
/// launching each step, and would cost a graph that is used as often. Of sizes without any order a
/// few are recorded, as each may come again.
CudaQueue::Recorded *CudaQueue::recordedFor(std::span<std::byte *const> places) {
  auto isThere = [&](const Recorded &each) { return each.key.isOf(sizes, places); };
  ++numRuns;
  if (isTiming && !isThere(timed))
    dropTimedGraph();
  Recorded *found = isTiming ? &timed : nullptr;
  if (!found) {
    auto known = std::ranges::find_if(graphs, isThere);
    if (known == graphs.end() && graphs.size() < mostGraphs) {
      graphs.reserve(mostGraphs);
      known = graphs.emplace(graphs.end());
    } else if (known == graphs.end()) {
      known = std::ranges::min_element(graphs, {}, &Recorded::lastUsed);
      const bool isAgain = wasMetSince(known->lastUsed, places);
      if (!isAgain || numRuns < lastReplaced + mostGraphs)
        return nullptr;
      lastReplaced = numRuns;
      drop(*known);
    }
    found = &*known;
  }
  found->key.sizes = sizes;
  found->key.places.assign(places.begin(), places.end());
  found->lastUsed = numRuns;
  return found;
}

Status CudaQueue::startGraph() {
  auto timed = [&](Handle event) {
    return timesSteps ? driver().check(driver().recordEvent(event, stream), "time a run")
                      : Status::success();
  };
  KINTSUGI_RETURN_IF_ERROR(timed(start));
  KINTSUGI_RETURN_IF_ERROR(
      driver().check(driver().launchGraph(ofRun->graph, stream), "start a run"));
  isTimed = timesSteps;
  return timed(end);
}

Expected<bool> CudaQueue::beginSteps(std::span<const MemoryRange> lasting,
                                     std::span<std::byte *const> places) {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  ofRun = recordedFor(places);
  if (ofRun && ofRun->graph) {
    KINTSUGI_RETURN_IF_ERROR(startGraph());
    return true;
  }
  hasFixedSteps = true;
  if (ofRun && !isWatched) {
    trace = std::make_unique<Trace>();
    for (const MemoryRange &range : lasting)
      trace->lasting.push_back({addressOf(range.begin), range.bytes});
  }
  return false;
}

Status CudaQueue::endSteps(bool complete) {
  if (!trace) {
    isWatched &= !complete;
    return Status::success();
  }
  Status status = complete ? recordTrace() : Status::success();
  trace.reset();
  if (!complete || !status.ok())
    return status;
  return startGraph();
}

Status CudaQueue::recordTrace() {
  trace->shorten();
  KINTSUGI_RETURN_IF_ERROR(placeTrace());
  if (isTiming)
    KINTSUGI_RETURN_IF_ERROR(timer.makeRoom(partsOfTrace()));
  Handle ofRunUnderWay = std::exchange(stream, own);
  auto recorded = record(driver(), own, [&] { return askForTrace(); });
  stream = ofRunUnderWay;
  KINTSUGI_ASSIGN(ofRun->graph, std::move(recorded));
  return Status::success();
}

Status CudaQueue::askForTrace() {
  isAfterKernel = false;
  if (isTiming)
    KINTSUGI_RETURN_IF_ERROR(timer.start(stream));
  for (const TraceStep &step : trace->steps) {
    KINTSUGI_RETURN_IF_ERROR(askFor(step));
    if (step.kind != TraceStep::Kind::Nothing)
      isAfterKernel = step.kind == TraceStep::Kind::Launch && !isTiming;
  }
  isAfterKernel = false;
  return Status::success();
}

/// Memory that the shortened steps use, with the numbers that they read there.
Status CudaQueue::placeTrace() {
  uint64_t bytes = trace->table.size() + trace->spareBytes;
  if (bytes > ofRun->addedBytes) {
    device.release(ofRun->added, ofRun->addedBytes);
    ofRun->added = nullptr;
    ofRun->addedBytes = 0;
    KINTSUGI_ASSIGN(ofRun->added, device.allocate(bytes));
    ofRun->addedBytes = bytes;
  }
  Address added = addressOf(ofRun->added);
  trace->place(added);
  if (trace->table.empty())
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(
      driver().check(driver().upload(added, trace->table.data(), trace->table.size(), stream),
                     "upload to the device"));
  return finish();
}

Status CudaQueue::askFor(const TraceStep &step) {
  auto place = [&](size_t i) { return step.operands[i].begin; };
  switch (step.kind) {
  case TraceStep::Kind::Launch:
    for (size_t i = 0; i < step.operands.size(); ++i)
      placesOfStep[i] = reinterpret_cast<void *>(place(i));
    return isTiming ? launchBetweenEvents(step.stage, placesOfStep.data())
                    : launchNow(step.stage, placesOfStep.data());
  case TraceStep::Kind::Copy:
    return copyNow(place(1), place(0), step.operands[0].bytes);
  case TraceStep::Kind::Set:
    return fillNow(place(0), step.value.data(), step.value.size());
  case TraceStep::Kind::Nothing:
    break;
  }
  return Status::success();
}

std::optional<double> CudaQueue::secondsOfSteps() {
  float milliseconds = 0;
  if (!isTimed || !device.enter().ok() || driver().elapsed(&milliseconds, start, end) != 0)
    return std::nullopt;
  return double(milliseconds) * 1e-3;
}

//===----------------------------------------------------------------------===//
// Single steps
//===----------------------------------------------------------------------===//

Status CudaQueue::launch(uint32_t index, void *const *buffers) {
  const Stage &stage = program.manifest().stages[index];
  if (stage.kind == Stage::Kind::Call)
    return isTiming ? runCallTimed(index, buffers) : runCall(stage, buffers);
  if (stage.tiles == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  if (!trace)
    return isTiming ? launchTimed(index, buffers) : launchNow(index, buffers);
  noteLaunch(index, buffers);
  return Status::success();
}

void CudaQueue::noteLaunch(uint32_t index, void *const *buffers) {
  const Stage &stage = program.manifest().stages[index];
  std::vector<Range> operands;
  for (size_t i = 0; i < stage.buffers.size(); ++i)
    operands.push_back({addressOf(buffers[i]), program.manifest().buffers[stage.buffers[i]].bytes});
  trace->addLaunch(index, std::move(operands), stage.resultCount);
}

/// Tensor maps are of where the operands are in this launch.
Status CudaQueue::setParameters(uint32_t index, void *const *buffers) {
  const Stage &stage = program.manifest().stages[index];
  size_t count = 0;
  for (; count < stage.buffers.size(); ++count)
    parameters[count] = const_cast<void **>(&buffers[count]);
  if (stage.meets)
    parameters[count++] = &counter;
  size_t number = 0;
  for (const KinTensorMap &map : program.mapsOf(index)) {
    Status status = encodeMap(driver(), map, addressOf(buffers[map.operand]), encoded[number]);
    if (!status.ok())
      return at(describe(stage), status.takeError());
    parameters[count++] = &encoded[number++];
  }
  if (!stage.parts.empty())
    parameters[count++] = &clocks;
  // The driver reads as many as the entry declares, whatever the manifest says.
  std::fill(parameters.begin() + count, parameters.begin() + std::max(count, given), &none);
  given = count;
  return Status::success();
}

/// Tiles that a size does not need are left out where they are the last ones.
uint32_t CudaQueue::blocksOf(uint32_t index) const {
  const Stage &stage = program.manifest().stages[index];
  uint32_t blocks = program.blocksOf(index);
  if (stage.trims.empty() || stage.trims.front().period() != stage.tiles)
    return blocks;
  return static_cast<uint32_t>(blocks / stage.tiles * stage.trims.front().kept(sizes));
}

Status CudaQueue::launchNow(uint32_t index, void *const *buffers) {
  const Stage &stage = program.manifest().stages[index];
  KINTSUGI_RETURN_IF_ERROR(setParameters(index, buffers));
  bool startsEarly = isAfterKernel && program.startsEarly() && !stage.meets;
  LaunchAttribute attribute = {stage.meets ? allAtOnce : startEarly, 0, 1, {}};
  LaunchConfig config = {blocksOf(index),
                         1,
                         1,
                         stage.threads,
                         1,
                         1,
                         program.sharedBytesOf(index),
                         stream,
                         &attribute,
                         startsEarly || stage.meets};
  Result result = driver().launch(&config, program.function(index), parameters.data(), nullptr);
  if (result == 0 && isWatched && !isTiming)
    result = driver().waitForStream(stream);
  if (result == 0)
    return Status::success();
  return driver().check(result, "run " + describe(stage));
}

/// On the host: the operands come and the results go. Calls are few, and slow in themselves.
Status CudaQueue::runCall(const Stage &stage, void *const *buffers) {
  const Manifest &manifest = program.manifest();
  std::vector<std::vector<std::byte>> copies;
  std::vector<TensorView> operands;
  std::vector<calls::ResultView> results;
  size_t firstResult = stage.buffers.size() - stage.resultCount;
  for (size_t i = 0; i < stage.buffers.size(); ++i) {
    const Buffer &buffer = manifest.buffers[stage.buffers[i]];
    std::vector<std::byte> &bytes = copies.emplace_back(*bytesOf(buffer.type, buffer.shape));
    if (i < firstResult) {
      KINTSUGI_RETURN_IF_ERROR(download(bytes.data(), buffers[i], bytes.size()));
      operands.push_back({buffer.type, buffer.shape, bytes});
    } else {
      results.push_back({buffer.type, buffer.shape, bytes});
    }
  }
  Status status = calls::run(stage.symbol, operands, stage.attributes, results);
  if (!status.ok())
    return stage.nodes.empty() ? std::move(status)
                               : at("node '" + stage.nodes.front() + "'", status.takeError());
  for (size_t i = firstResult; i < stage.buffers.size(); ++i)
    KINTSUGI_RETURN_IF_ERROR(upload(buffers[i], copies[i].data(), copies[i].size()));
  return Status::success();
}

Status CudaQueue::copy(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0 || to == from)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  if (!trace)
    return copyNow(addressOf(to), addressOf(from), bytes);
  trace->addCopy({addressOf(from), bytes}, {addressOf(to), bytes});
  return Status::success();
}

Status CudaQueue::copyNow(Address to, Address from, uint64_t bytes) {
  return driver().check(driver().copy(to, from, bytes, stream), "copy on the device");
}

constexpr uint64_t wordBytes = sizeof(uint32_t);

/// What is recorded must not look at the host's bytes again: small numbers are part of the graph.
Status CudaQueue::upload(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  constexpr uint64_t most = 64;
  bool isSmall = bytes % wordBytes == 0 && bytes <= most;
  auto *source = static_cast<const std::byte *>(from);
  if (trace && !isSmall)
    return internalError("a recorded run uploads " + std::to_string(bytes) + " bytes");
  if (!isSmall)
    return send(to, from, bytes);
  if (!trace)
    return fillNow(addressOf(to), source, bytes);
  trace->addSet({addressOf(to), bytes}, source);
  return Status::success();
}

Status CudaQueue::fillNow(Address to, const std::byte *from, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += wordBytes) {
    uint32_t value;
    std::memcpy(&value, from + offset, wordBytes);
    KINTSUGI_RETURN_IF_ERROR(
        driver().check(driver().fill(to + offset, value, 1, stream), "upload to the device"));
  }
  return Status::success();
}

Status CudaQueue::download(void *to, const void *from, uint64_t bytes) {
  KINTSUGI_RETURN_IF_ERROR(fetch(to, from, bytes));
  return bytes == 0 ? Status::success() : finish();
}

Status CudaQueue::send(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  return driver().check(driver().upload(addressOf(to), from, bytes, stream),
                        "upload to the device");
}

Status CudaQueue::fetch(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  return driver().check(driver().download(to, addressOf(from), bytes, stream),
                        "download from the device");
}

Status CudaQueue::finish() {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  KINTSUGI_RETURN_IF_ERROR(driver().check(driver().waitForStream(stream), finishing));
  if (Handle mark = std::exchange(behind, nullptr))
    return driver().check(driver().waitForEvent(mark), finishing);
  return Status::success();
}
