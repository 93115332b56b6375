//===- timed_launches.cpp - Launches of a queue that are timed one by one -===//

#include "devices/cuda/cuda_queue.h"

#include "devices/cuda/record.h"

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using namespace kintsugi::runtime;

bool CudaQueue::timeStages(bool wanted) {
  isTiming = wanted;
  return true;
}

Expected<std::vector<StageSpan>> CudaQueue::stageSpans() {
  if (!alone.empty())
    return alone;
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  return timer.read(stream);
}

void CudaQueue::dropTimedGraph() {
  drop(timed);
  timer.forget();
}

size_t CudaQueue::partsOfTrace() const {
  size_t parts = 0;
  for (const TraceStep &step : trace->steps)
    if (step.kind == TraceStep::Kind::Launch)
      parts += program.manifest().stages[step.stage].parts.size();
  return parts;
}

/// While a graph is recorded.
Status CudaQueue::launchBetweenEvents(uint32_t index, void *const *buffers) {
  size_t parts = program.manifest().stages[index].parts.size();
  KINTSUGI_ASSIGN(clocks, timer.before(index, parts, stream));
  Status status = launchNow(index, buffers);
  clocks = 0;
  KINTSUGI_RETURN_IF_ERROR(std::move(status));
  return timer.after(stream);
}

/// Where a run is not recorded as a whole: a graph of this launch alone.
Status CudaQueue::launchTimed(uint32_t index, void *const *buffers) {
  dropTimedGraph();
  KINTSUGI_RETURN_IF_ERROR(timer.makeRoom(program.manifest().stages[index].parts.size()));
  auto began = Clock::now();
  KINTSUGI_ASSIGN(Handle launch, record(driver(), stream, [&]() -> Status {
                    KINTSUGI_RETURN_IF_ERROR(timer.start(stream));
                    return launchBetweenEvents(index, buffers);
                  }));
  Result result = driver().launchGraph(launch, stream);
  if (result == 0)
    result = driver().waitForStream(stream);
  driver().destroyRunnable(launch);
  if (result != 0)
    return driver().check(result, "run " + describe(program.manifest().stages[index]));
  KINTSUGI_ASSIGN(std::vector<StageSpan> spans, timer.read(stream));
  timer.forget();
  addAlone(std::move(spans.front()), began);
  return Status::success();
}

Status CudaQueue::runCallTimed(uint32_t index, void *const *buffers) {
  auto began = Clock::now();
  KINTSUGI_RETURN_IF_ERROR(runCall(program.manifest().stages[index], buffers));
  addAlone({index, 0, 0, std::chrono::nanoseconds(Clock::now() - began).count()}, began);
  return Status::success();
}

void CudaQueue::addAlone(StageSpan span, Clock::time_point began) {
  span.begin = std::chrono::nanoseconds(began - runBegan).count();
  alone.push_back(std::move(span));
}
