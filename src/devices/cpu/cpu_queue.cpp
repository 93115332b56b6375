//===- cpu_queue.cpp - Running stages on the host's threads ---------------===//

#include "devices/cpu/cpu_queue.h"

#include "base/checked.h"
#include "calls/call.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::runtime;

/// Scratch slices start on pages of their own: no line is shared, no two walk the same cache sets.
static constexpr int64_t scratchAlignment = 4096;

Expected<std::unique_ptr<CpuQueue>> CpuQueue::create(const CpuProgram &program, Workers &workers,
                                                     uint32_t threads) {
  std::unique_ptr<CpuQueue> queue(new CpuQueue(program, workers, threads));
  auto bytes = static_cast<int64_t>(program.scratchBytes()); // Below 2^36: validated.
  queue->scratchStride = *checkedAlignUp(bytes, scratchAlignment);
  KINTSUGI_ASSIGN(queue->scratch, HostMemory::allocate(queue->scratchStride * threads));
  return queue;
}

void CpuQueue::beginRun(const OpenSizes &sizesOfRun) {
  sizes = sizesOfRun;
  environment.enter();
  holdsWorkers = threads > 1 && workers.tryHold();
}

void CpuQueue::endRun() {
  if (holdsWorkers)
    workers.letGo();
  environment.leave();
}

namespace {
/// Of each row of `period` the first `kept` are needed.
struct Needed {
  uint64_t kept = 1, period = 1;

  bool areAll() const { return kept == period; }
  /// Counted without the others.
  uint64_t placeOf(uint64_t number) const { return number / kept * period + number % kept; }
};

struct Task {
  KinStageFunction function;
  void *const *buffers;
  std::byte *scratch;
  uint64_t scratchStride;
  Needed tiles; ///< Of those that follow each other,
  Needed rows;  ///< and of their rows.

  /// So many that are needed follow each other.
  uint64_t inARow() const { return tiles.areAll() ? tiles.kept * rows.kept : tiles.kept; }
};
} // namespace

/// Of the tiles that are needed, counted without the others.
static void runTiles(void *argument, uint32_t worker, uint64_t begin, uint64_t end) {
  auto &task = *static_cast<Task *>(argument);
  void *scratch = task.scratch ? task.scratch + worker * task.scratchStride : nullptr;
  auto run = [&](uint64_t first, uint64_t count) {
    task.function(task.buffers, static_cast<int64_t>(first), static_cast<int64_t>(first + count),
                  scratch, &kinImports);
  };
  if (task.tiles.areAll() && task.rows.areAll())
    return run(begin, end - begin);
  const uint64_t inARow = task.inARow();
  while (begin < end) {
    uint64_t count = std::min(inARow - begin % inARow, end - begin);
    uint64_t row = task.rows.placeOf(begin / task.tiles.kept);
    run(row * task.tiles.period + begin % task.tiles.kept, count);
    begin += count;
  }
}

/// The tiles of a stage that these sizes need; says the task which.
static uint64_t chooseTiles(const Stage &stage, const OpenSizes &sizes, Task &task) {
  if (stage.trims.empty())
    return stage.tiles;
  const Trim &outer = stage.trims.front(), &inner = stage.trims.back();
  task.tiles = {inner.kept(sizes), inner.period()};
  if (&outer != &inner)
    task.rows = {outer.kept(sizes) / inner.period(), outer.period() / inner.period()};
  uint64_t period = task.tiles.period * task.rows.period;
  return stage.tiles / period * (task.tiles.kept * task.rows.kept);
}

/// Tiles that share what one of them computes go to one worker, if no other waits for that.
static uint64_t givenOutTogether(const Stage &stage, const Task &task, uint64_t tiles,
                                 uint32_t threads) {
  constexpr uint64_t enough = 4; // Then the last rows make up for it.
  bool areAll = task.tiles.areAll() && task.rows.areAll();
  if (!areAll && task.inARow() % stage.together != 0)
    return 1;
  uint64_t rows = tiles / stage.together;
  return rows >= enough * threads || (rows > 0 && rows % threads == 0) ? stage.together : 1;
}

Status CpuQueue::launch(uint32_t index, void *const *buffers) {
  const Stage &stage = program.manifest().stages[index];
  if (!holdsWorkers || stage.kind == Stage::Kind::Call)
    return launchAlone(index, buffers, 0);
  Task task{program.function(index), buffers, stage.scratchBytes ? scratch.data() : nullptr,
            scratchStride};
  uint64_t tiles = chooseTiles(stage, sizes, task);
  workers.run(threads, tiles, runTiles, &task, givenOutTogether(stage, task, tiles, threads));
  return Status::success();
}

Status CpuQueue::launchAlone(uint32_t index, void *const *buffers, uint32_t worker) {
  const Stage &stage = program.manifest().stages[index];
  if (stage.kind == Stage::Kind::Call)
    return runCall(stage, buffers);
  Task task{program.function(index), buffers, stage.scratchBytes ? scratch.data() : nullptr,
            scratchStride};
  if (uint64_t tiles = chooseTiles(stage, sizes, task); tiles != 0)
    runTiles(&task, worker, 0, tiles);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

namespace kintsugi::devices {
/// What one worker does while others have lanes of their own.
class CpuLane final : public DeviceQueue {
public:
  CpuLane(CpuQueue &queue, uint32_t worker) : queue(queue), worker(worker) {}

  Status launch(uint32_t stage, void *const *buffers) override {
    return queue.launchAlone(stage, buffers, worker);
  }
  Status copy(void *to, const void *from, uint64_t bytes) override {
    return queue.copy(to, from, bytes);
  }
  Status upload(void *to, const void *from, uint64_t bytes) override {
    return queue.upload(to, from, bytes);
  }
  Status download(void *to, const void *from, uint64_t bytes) override {
    return queue.download(to, from, bytes);
  }
  Status finish() override { return Status::success(); }

private:
  CpuQueue &queue;
  uint32_t worker;
};
} // namespace kintsugi::devices

namespace {
struct Lanes {
  CpuQueue &queue;
  DeviceQueue::LaneFunction function;
  void *argument;
  std::mutex mutex;
  Status result = Status::success(); ///< The first error.
};
} // namespace

static void runSomeLanes(void *argument, uint32_t worker, uint64_t begin, uint64_t end) {
  auto &lanes = *static_cast<Lanes *>(argument);
  CpuLane lane(lanes.queue, worker);
  for (uint64_t number = begin; number < end; ++number) {
    Status status = lanes.function(lanes.argument, lane, static_cast<uint32_t>(number));
    if (status.ok())
      continue;
    std::lock_guard lock(lanes.mutex);
    if (lanes.result.ok())
      lanes.result = std::move(status);
  }
}

Status CpuQueue::runLanes(uint32_t count, LaneFunction function, void *argument) {
  if (!holdsWorkers)
    return DeviceQueue::runLanes(count, function, argument);
  Lanes lanes{*this, function, argument};
  workers.run(threads, count, runSomeLanes, &lanes);
  return std::move(lanes.result);
}

/// Calls are few, and slow in themselves: they may allocate.
Status CpuQueue::runCall(const Stage &stage, void *const *buffers) {
  std::vector<TensorView> operands;
  std::vector<calls::ResultView> results;
  size_t firstResult = stage.buffers.size() - stage.resultCount;
  for (size_t i = 0; i < stage.buffers.size(); ++i) {
    const Buffer &buffer = program.manifest().buffers[stage.buffers[i]];
    std::span bytes(static_cast<std::byte *>(buffers[i]), *bytesOf(buffer.type, buffer.shape));
    if (i < firstResult)
      operands.push_back({buffer.type, buffer.shape, bytes});
    else
      results.push_back({buffer.type, buffer.shape, bytes});
  }
  Status status = calls::run(stage.symbol, operands, stage.attributes, results);
  if (!status.ok() && !stage.nodes.empty())
    return at("node '" + stage.nodes.front() + "'", status.takeError());
  return status;
}

Status CpuQueue::copy(void *to, const void *from, uint64_t bytes) {
  if (bytes != 0)
    std::memmove(to, from, bytes);
  return Status::success();
}

Status CpuQueue::upload(void *to, const void *from, uint64_t bytes) {
  return copy(to, from, bytes);
}

Status CpuQueue::download(void *to, const void *from, uint64_t bytes) {
  return copy(to, from, bytes);
}
