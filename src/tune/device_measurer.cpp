#include "tune/device_measurer.h"

#include "link/stage_artifact.h"
#include "loops/scratch.h"
#include "tile/build.h"
#include "tune/agreement.h"
#include "tune/device_block.h"
#include "tune/made_up.h"
#include "tune/turns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <chrono>
#include <map>

namespace kintsugi::tune {

using loops::Buffer;
using loops::Schedule;

namespace {

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

  /// Memory for every buffer, with values in those that are read: the same for all schedules,
  /// packed as each of them has its constants.
  Status fill(runtime::Device &device, runtime::DeviceQueue &queue) {
    for (auto [buffer, source] : llvm::zip_equal(plan.buffers, sources)) {
      KINTSUGI_ASSIGN(DeviceBlock block,
                      DeviceBlock::allocate(device, std::max<uint64_t>(buffer.bytes, 1)));
      if (!source.isWritten) {
        std::vector<std::byte> values =
            madeUpValues(buffer.type, source.bytesOfValue, source.value);
        if (source.packing)
          values = packed(*source.packing, buffer.type, values);
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

  /// What a schedule stores.
  Expected<Results> resultsOf(runtime::DeviceQueue &queue, unsigned stage) const {
    // What is not stored shows: a large number in types that have a NaN.
    constexpr std::byte nothing{0x7b};
    auto written = llvm::make_filter_range(
        plan.stages[stage].operands, [&](unsigned operand) { return sources[operand].isWritten; });
    for (unsigned operand : written) {
      std::vector<std::byte> bytes(plan.buffers[operand].bytes, nothing);
      KINTSUGI_RETURN_IF_ERROR(queue.upload(blocks[operand].address(), bytes.data(), bytes.size()));
    }
    KINTSUGI_RETURN_IF_ERROR(launch(queue, stage).status());
    Results results;
    for (unsigned operand : written) {
      std::vector<std::byte> bytes(plan.buffers[operand].bytes);
      KINTSUGI_RETURN_IF_ERROR(
          queue.download(bytes.data(), blocks[operand].address(), bytes.size()));
      results[sources[operand].value] = {plan.buffers[operand].type, std::move(bytes)};
    }
    return results;
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
      if (buffer.home != loops::Home::Memory)
        continue;
      stage.operands.push_back(bufferOf(buffer));
      stage.results += buffer.written;
    }
    auto shape = std::make_shared<loops::KernelShape>();
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
    result.bytes = uint64_t(elements) * loops::bytesOfElement(buffer.type);
    plan.buffers.push_back(std::move(result));
    uint64_t bytesOfValue = uint64_t(buffer.elements) * loops::bytesOfElement(buffer.type);
    sources.push_back({buffer.value.number, buffer.written, bytesOfValue, buffer.packing});
    return fresh;
  }

  /// Where a buffer's values come from.
  struct Source {
    uint32_t value; ///< Of the group.
    bool isWritten;
    uint64_t bytesOfValue; ///< Before it is packed.
    std::optional<loops::Packing> packing;
  };

  orchestrate::Plan plan;
  std::vector<Source> sources;         ///< By buffer.
  std::map<uint32_t, unsigned> shared; ///< By value: what flows between kernels.
  std::vector<DeviceBlock> blocks;
  std::vector<std::vector<void *>> operands; ///< By stage.
};

Status checkAgreement(const Contest &contest, runtime::DeviceQueue &queue, ElementType coarsest,
                      std::vector<cost::Timed> &times) {
  KINTSUGI_ASSIGN(Results right, contest.resultsOf(queue, 0));
  for (unsigned stage = 1; stage < contest.size(); ++stage) {
    KINTSUGI_ASSIGN(Results own, contest.resultsOf(queue, stage));
    times[stage].agrees = agree(right, own, coarsest);
  }
  return Status::success();
}

Rounds roundsFor(cost::Effort effort) {
  return effort == cost::Effort::Confirm ? Rounds{15, 201, 0.4} : Rounds{6, 61, 0.15};
}

/// Contenders are compiled together, when they are to be timed.
struct Named : cost::Contender {
  explicit Named(const Schedule &schedule) : schedule(schedule) {}
  const Schedule &schedule;
};

} // namespace

Expected<std::unique_ptr<cost::Contender>> DeviceMeasurer::prepare(const Schedule &schedule) {
  return std::unique_ptr<cost::Contender>(std::make_unique<Named>(schedule));
}

Expected<std::vector<cost::Timed>>
DeviceMeasurer::measure(llvm::ArrayRef<const cost::Contender *> contenders, cost::Effort effort) {
  llvm::SmallVector<const Schedule *> schedules;
  for (const cost::Contender *contender : contenders)
    schedules.push_back(&static_cast<const Named *>(contender)->schedule);
  Contest contest(schedules);
  KINTSUGI_ASSIGN(runtime::Artifact artifact, contest.compile(target, options));
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceProgram> program, device.load(artifact));
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceQueue> queue,
                  device.createQueue(*program, {threads}));
  KINTSUGI_RETURN_IF_ERROR(contest.fill(device, *queue));
  queue->beginRun({});
  auto result = inTurns(contest.size(), roundsFor(effort),
                        [&](size_t stage) { return contest.launch(*queue, stage); });
  if (result.ok() && effort == cost::Effort::Confirm)
    KINTSUGI_RETURN_IF_ERROR(checkAgreement(contest, *queue, coarsestOf(schedules), *result));
  queue->endRun();
  return result;
}

} // namespace kintsugi::tune
