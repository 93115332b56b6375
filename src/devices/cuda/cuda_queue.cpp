//===- cuda_queue.cpp - Running stages on a GPU's stream ------------------===//

#include "devices/cuda/cuda_queue.h"

#include "calls/call.h"

#include <algorithm>
#include <cstring>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using namespace kintsugi::runtime;

static Address addressOf(const void *memory) { return reinterpret_cast<Address>(memory); }

Expected<std::unique_ptr<CudaQueue>> CudaQueue::create(CudaDevice &device,
                                                       const CudaProgram &program) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(device, program));
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  const Driver &driver = device.driver();
  auto made = [&](Result result) { return driver.check(result, "make a stream on the device"); };
  KINTSUGI_RETURN_IF_ERROR(made(driver.createStream(&queue->stream, nonBlockingStream)));
  KINTSUGI_RETURN_IF_ERROR(made(driver.createEvent(&queue->start, 0)));
  KINTSUGI_RETURN_IF_ERROR(made(driver.createEvent(&queue->end, 0)));
  size_t most = 0;
  for (const Stage &stage : program.manifest().stages)
    most = std::max(most, stage.buffers.size());
  queue->parameters.resize(most);
  return queue;
}

CudaQueue::~CudaQueue() {
  if (!device.enter().ok())
    return;
  if (stream)
    driver().waitForStream(stream);
  if (graph)
    driver().destroyRunnable(graph);
  for (Handle event : {start, end})
    if (event)
      driver().destroyEvent(event);
  if (stream)
    driver().destroyStream(stream);
}

/// "kernel 'k3' of node 'conv1', node 'relu1'"
static std::string describe(const Stage &stage) {
  std::string text = "kernel '" + stage.symbol + "'";
  for (const std::string &node : stage.nodes)
    text += (&node == &stage.nodes.front() ? " of node '" : ", node '") + node + "'";
  return text;
}

void CudaQueue::beginRun() { isTimed = false; }

//===----------------------------------------------------------------------===//
// Steps that are the same in each run
//===----------------------------------------------------------------------===//

Status CudaQueue::startGraph() {
  KINTSUGI_RETURN_IF_ERROR(driver().check(driver().recordEvent(start, stream), "time a run"));
  KINTSUGI_RETURN_IF_ERROR(driver().check(driver().launchGraph(graph, stream), "start a run"));
  isTimed = true;
  return driver().check(driver().recordEvent(end, stream), "time a run");
}

Expected<bool> CudaQueue::beginSteps() {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  if (steps == Steps::Recorded) {
    KINTSUGI_RETURN_IF_ERROR(startGraph());
    return true;
  }
  if (steps == Steps::Seen) {
    KINTSUGI_RETURN_IF_ERROR(
        driver().check(driver().beginCapture(stream, relaxedCapture), "record a run"));
    isRecording = true;
  } else {
    steps = Steps::Watched;
  }
  return false;
}

Status CudaQueue::endSteps(bool complete) {
  if (!isRecording) {
    steps = complete ? Steps::Seen : Steps::Unseen;
    return Status::success();
  }
  isRecording = false;
  Handle recorded = nullptr;
  Status status = driver().check(driver().endCapture(stream, &recorded), "record a run");
  if (complete && status.ok())
    status = driver().check(driver().instantiate(&graph, recorded, 0), "prepare a recorded run");
  if (recorded)
    driver().destroyGraph(recorded);
  if (!complete || !status.ok())
    return status;
  steps = Steps::Recorded;
  return startGraph();
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
    return runCall(stage, buffers);
  if (stage.tiles == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  for (size_t i = 0; i < stage.buffers.size(); ++i)
    parameters[i] = const_cast<void **>(&buffers[i]);
  Result result = driver().launch(program.function(index), static_cast<unsigned>(stage.tiles), 1, 1,
                                  stage.threads, 1, 1, static_cast<unsigned>(stage.scratchBytes),
                                  stream, parameters.data(), nullptr);
  if (result == 0 && steps == Steps::Watched)
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
  return driver().check(driver().copy(addressOf(to), addressOf(from), bytes, stream),
                        "copy on the device");
}

/// What is recorded must not look at the host's bytes again: small numbers are part of the graph.
Status CudaQueue::upload(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  constexpr uint64_t word = sizeof(uint32_t), most = 64;
  if (bytes % word == 0 && bytes <= most) {
    for (uint64_t offset = 0; offset < bytes; offset += word) {
      uint32_t value;
      std::memcpy(&value, static_cast<const std::byte *>(from) + offset, word);
      KINTSUGI_RETURN_IF_ERROR(driver().check(
          driver().fill(addressOf(to) + offset, value, 1, stream), "upload to the device"));
    }
    return Status::success();
  }
  if (isRecording)
    return internalError("a recorded run uploads " + std::to_string(bytes) + " bytes");
  return driver().check(driver().upload(addressOf(to), from, bytes, stream),
                        "upload to the device");
}

Status CudaQueue::download(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  KINTSUGI_RETURN_IF_ERROR(driver().check(driver().download(to, addressOf(from), bytes, stream),
                                          "download from the device"));
  return finish();
}

Status CudaQueue::finish() {
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  return driver().check(driver().waitForStream(stream),
                        "finish a run (a kernel failed, or what was asked for before it)");
}
