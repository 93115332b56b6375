#include "tune/device_measurer.h"

#include "base/tensor.h"
#include "link/stage_artifact.h"
#include "schedule/scratch.h"
#include "tile/build.h"
#include "tune/pairs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <chrono>
#include <cstring>
#include <map>

namespace kintsugi::tune {

using schedule::Buffer;
using schedule::Schedule;

bool canBeMeasured(const Schedule &schedule) {
  return llvm::all_of(schedule.buffers, [](const Buffer &buffer) {
    return buffer.home != schedule::Home::Memory || buffer.written || isFloat(buffer.type) ||
           buffer.type == ElementType::Bool;
  });
}

namespace {

/// Device memory that goes back in the end.
class DeviceBlock {
public:
  static Expected<DeviceBlock> allocate(runtime::Device &device, uint64_t bytes) {
    KINTSUGI_ASSIGN(void *memory, device.allocate(bytes));
    return DeviceBlock(device, memory, bytes);
  }
  DeviceBlock(DeviceBlock &&other)
      : device(other.device), memory(std::exchange(other.memory, nullptr)), bytes(other.bytes) {}
  DeviceBlock &operator=(DeviceBlock &&) = delete;
  ~DeviceBlock() {
    if (memory)
      device->release(memory, bytes);
  }
  void *address() const { return memory; }

private:
  DeviceBlock(runtime::Device &device, void *memory, uint64_t bytes)
      : device(&device), memory(memory), bytes(bytes) {}

  runtime::Device *device;
  void *memory;
  uint64_t bytes;
};

/// The schedules as stages of a plan, over buffers that they share where they can.
class Contest {
public:
  explicit Contest(llvm::ArrayRef<const Schedule *> schedules) {
    plan.model = "a kernel";
    for (const Schedule *schedule : schedules)
      add(*schedule);
  }

  Expected<runtime::Artifact> compile(const targets::Target &target,
                                      const targets::CompileOptions &options) const {
    std::vector<tile::TileProgram> programs; // One each: targets compile them at the same time.
    for (const orchestrate::Kernel &kernel : plan.kernels) {
      tile::NamedSchedule named{kernel.symbol, &kernel.shape->schedule};
      KINTSUGI_ASSIGN(tile::TileProgram program, tile::buildTileProgram(named));
      programs.push_back(std::move(program));
    }
    std::vector<const tile::TileProgram *> pointers;
    for (const tile::TileProgram &program : programs)
      pointers.push_back(&program);
    KINTSUGI_ASSIGN(targets::CodeObject code, target.compile(pointers, options));
    llvm::SmallVector<unsigned> stages =
        llvm::to_vector(llvm::seq<unsigned>(0, plan.stages.size()));
    return link::artifactOfStages(plan, stages, code.bytes, target.name());
  }

  /// Memory for every buffer, with values in those that are read.
  Status fill(runtime::Device &device, runtime::DeviceQueue &queue) {
    for (auto [buffer, isRead] : llvm::zip(plan.buffers, read)) {
      KINTSUGI_ASSIGN(DeviceBlock block,
                      DeviceBlock::allocate(device, std::max<uint64_t>(buffer.bytes, 1)));
      if (isRead) {
        std::vector<std::byte> values = madeUp(buffer);
        KINTSUGI_RETURN_IF_ERROR(queue.upload(block.address(), values.data(), values.size()));
      }
      blocks.push_back(std::move(block));
    }
    for (const orchestrate::Stage &stage : plan.stages) {
      operands.emplace_back();
      for (unsigned operand : stage.operands)
        operands.back().push_back(blocks[operand].address());
    }
    return queue.finish();
  }

  Expected<double> launch(runtime::DeviceQueue &queue, unsigned stage) const {
    auto start = std::chrono::steady_clock::now();
    KINTSUGI_RETURN_IF_ERROR(queue.launch(stage, operands[stage].data()));
    KINTSUGI_RETURN_IF_ERROR(queue.finish());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  size_t size() const { return plan.stages.size(); }

private:
  void add(const Schedule &schedule) {
    orchestrate::Stage stage;
    stage.kernel = plan.kernels.size();
    stage.results = 0;
    for (const Buffer &buffer : schedule.buffers) {
      if (buffer.home != schedule::Home::Memory)
        continue;
      stage.operands.push_back(bufferOf(buffer));
      stage.results += buffer.written;
    }
    auto shape = std::make_shared<space::KernelShape>();
    shape->schedule = schedule;
    plan.kernels.push_back(
        {"v" + std::to_string(stage.kernel), {}, std::move(shape), 0, nullptr, {}});
    plan.stages.push_back(std::move(stage));
  }

  unsigned bufferOf(const Buffer &buffer) {
    unsigned fresh = plan.buffers.size();
    bool isOwn = buffer.packable || buffer.packing;
    if (!isOwn)
      if (auto [entry, isNew] = shared.try_emplace(buffer.value.number, fresh); !isNew)
        return entry->second;
    int64_t elements = buffer.packing ? buffer.packing->elements() : buffer.elements;
    orchestrate::PlanBuffer result;
    result.name = "b" + std::to_string(fresh);
    result.type = buffer.type;
    result.shape = {te::Extent(elements)};
    result.bytes = uint64_t(elements) * schedule::bytesOfElement(buffer.type);
    plan.buffers.push_back(std::move(result));
    read.push_back(!buffer.written);
    return fresh;
  }

  /// Floats on [-1.73, 1.73), booleans even; the same few over and over.
  static std::vector<std::byte> madeUp(const orchestrate::PlanBuffer &buffer) {
    constexpr int64_t period = 4093;
    std::vector<std::byte> bytes(buffer.bytes);
    int64_t elements = buffer.shape[0].constant(), size = schedule::bytesOfElement(buffer.type);
    uint64_t state = 1;
    for (int64_t i = 0; i < std::min(period, elements); ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      double unit = double(state >> 40) / double(1 << 24);
      bool even = unit < 0.5;
      storeDouble(buffer.type, bytes, i,
                  buffer.type == ElementType::Bool ? double(even) : (unit - 0.5) * 3.46);
    }
    for (int64_t i = period; i < elements; i += period)
      std::memcpy(bytes.data() + i * size, bytes.data(), std::min(period, elements - i) * size);
    return bytes;
  }

  orchestrate::Plan plan;
  std::vector<bool> read;
  std::map<uint32_t, unsigned> shared; ///< By value: what flows between kernels.
  std::vector<DeviceBlock> blocks;
  std::vector<std::vector<void *>> operands; ///< By stage.
};

/// How many rounds, in each of which every schedule that is still of interest runs once.
struct Rounds {
  size_t least, most;
  double seconds; ///< After which no round beyond the least starts.
};

Rounds roundsFor(cost::Effort effort) {
  return effort == cost::Effort::Confirm ? Rounds{15, 201, 0.4} : Rounds{6, 61, 0.15};
}

/// Runs in turns; whoever is hopeless after a few rounds is left out.
class Turns {
public:
  Turns(const Contest &contest, runtime::DeviceQueue &queue)
      : contest(contest), queue(queue), times(contest.size()), hopeless(contest.size(), false) {}

  Expected<std::vector<cost::Timed>> run(Rounds rounds) {
    for (unsigned i = 0; i < times.size(); ++i) // The first run of each is not like the others.
      KINTSUGI_RETURN_IF_ERROR(contest.launch(queue, i).status());
    auto start = std::chrono::steady_clock::now();
    for (size_t round = 0; round < rounds.most; ++round) {
      std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (round >= rounds.least && passed.count() > rounds.seconds)
        break;
      KINTSUGI_RETURN_IF_ERROR(runOnce(round));
      if (round == 2)
        dropHopeless();
    }
    std::vector<cost::Timed> result;
    for (const std::vector<double> &own : times) {
      std::vector<double> others(times[0].begin(), times[0].begin() + own.size());
      result.push_back({quantile(own, 0.5), quietShareOf(own, others)});
    }
    return result;
  }

private:
  /// Each round starts with another one, so that none always follows the same.
  Status runOnce(size_t round) {
    for (size_t turn = 0; turn < times.size(); ++turn) {
      size_t i = (round + turn) % times.size();
      if (hopeless[i])
        continue;
      KINTSUGI_ASSIGN(double seconds, contest.launch(queue, i));
      times[i].push_back(seconds);
    }
    return Status::success();
  }

  void dropHopeless() {
    constexpr double clearlySlower = 1.3;
    auto least = [](const std::vector<double> &own) { return *llvm::min_element(own); };
    double best = INFINITY;
    for (const std::vector<double> &own : times)
      best = std::min(best, least(own));
    for (size_t i = 1; i < times.size(); ++i)
      hopeless[i] = least(times[i]) > clearlySlower * best;
  }

  const Contest &contest;
  runtime::DeviceQueue &queue;
  std::vector<std::vector<double>> times; ///< By schedule.
  std::vector<bool> hopeless;
};

} // namespace

Expected<std::vector<cost::Timed>>
DeviceMeasurer::measure(llvm::ArrayRef<const Schedule *> schedules, cost::Effort effort) {
  Contest contest(schedules);
  KINTSUGI_ASSIGN(runtime::Artifact artifact, contest.compile(target, options));
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceProgram> program, device.load(artifact));
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceQueue> queue,
                  device.createQueue(*program, {threads}));
  KINTSUGI_RETURN_IF_ERROR(contest.fill(device, *queue));
  queue->beginRun();
  auto result = Turns(contest, *queue).run(roundsFor(effort));
  queue->endRun();
  return result;
}

} // namespace kintsugi::tune
