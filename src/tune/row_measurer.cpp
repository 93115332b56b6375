#include "tune/row_measurer.h"

#include "link/code_object.h"
#include "link/stage_artifact.h"
#include "loops/scratch.h"
#include "tile/build.h"
#include "tune/agreement.h"
#include "tune/made_up.h"
#include "tune/turns.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::tune {

using loops::Buffer;
using loops::Schedule;

namespace {

constexpr uint64_t alignment = 256;
constexpr uint64_t differing = 61; ///< Places in a pool where operands' values begin.

uint64_t aligned(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// In memory, of a launch.
struct Operand {
  uint32_t value; ///< Of the group: what flows between kernels is shared by its contenders.
  ElementType type;
  uint64_t bytes;
  bool isConstant, isWritten;
  uint64_t bytesOfValue; ///< Before it is packed.
  std::optional<loops::Packing> packing;
};

Rounds roundsFor(cost::Effort effort) {
  return effort == cost::Effort::Confirm ? Rounds{15, 101, 0.1} : Rounds{5, 41, 0.03};
}

} // namespace

/// A code object with one kernel, loaded.
class RowMeasurer::Kernel : public cost::Contender {
public:
  static Expected<std::unique_ptr<Kernel>> create(const Schedule &schedule, RowMeasurer &of) {
    auto kernel = std::make_unique<Kernel>();
    orchestrate::Plan plan = kernel->planOf(schedule);
    kernel->coarsest = coarsestOf(&schedule);
    tile::NamedSchedule named{plan.kernels[0].symbol, &schedule};
    KINTSUGI_ASSIGN(tile::TileProgram program, tile::buildTileProgram(named));
    targets::CompileOptions options = of.options;
    options.threads = 1;
    KINTSUGI_ASSIGN(targets::CodeObject code, of.target.compile({&program}, options));
    KINTSUGI_ASSIGN(runtime::Artifact artifact,
                    link::artifactOfStages(
                        plan, {0}, code.bytes, of.target.name(),
                        link::describeCode(code, of.row.code.section, of.row.code.features)));
    kernel->artifact.emplace(std::move(artifact));
    KINTSUGI_ASSIGN(kernel->program, of.device.load(*kernel->artifact));
    return kernel;
  }

  llvm::SmallVector<Operand> operands;
  ElementType coarsest = ElementType::F64;
  std::optional<runtime::Artifact> artifact;
  std::unique_ptr<runtime::DeviceProgram> program; ///< Of the artifact.

private:
  orchestrate::Plan planOf(const Schedule &schedule) {
    orchestrate::Plan plan;
    plan.model = "a kernel";
    orchestrate::Stage stage;
    stage.results = 0;
    for (const Buffer &buffer : schedule.buffers) {
      if (buffer.home != loops::Home::Memory)
        continue;
      bool isConstant = buffer.packable || buffer.packing;
      int64_t elements = buffer.packing ? buffer.packing->elements() : buffer.elements;
      uint64_t bytes = uint64_t(elements) * loops::bytesOfElement(buffer.type);
      stage.operands.push_back(plan.buffers.size());
      stage.results += buffer.written;
      uint64_t bytesOfValue = uint64_t(buffer.elements) * loops::bytesOfElement(buffer.type);
      operands.push_back({buffer.value.number, buffer.type, bytes, isConstant, buffer.written,
                          bytesOfValue, buffer.packing});
      orchestrate::PlanBuffer described;
      described.name = "b" + std::to_string(plan.buffers.size());
      described.type = buffer.type;
      described.shape = {te::Extent(elements)};
      described.bytes = bytes;
      plan.buffers.push_back(std::move(described));
    }
    auto shape = std::make_shared<loops::KernelShape>();
    shape->schedule = schedule;
    plan.kernels.push_back({"v", {}, std::move(shape), 0, nullptr, {}});
    plan.stages.push_back(std::move(stage));
    return plan;
  }
};

namespace {

/// Where an operand lies: that of each launch a step behind that of the one before, until they
/// begin again.
struct Place {
  std::byte *address = nullptr;
  uint64_t step = 0, all = 0;

  std::byte *of(size_t launch) const { return address + (all ? launch * step % all : 0); }
};

/// Of constants of so many bytes, so that launches come back to them after others of `between`.
Place placeInPool(std::byte *pool, uint64_t bytes, uint64_t between, size_t launches) {
  uint64_t spread = between / std::max<size_t>(1, launches) / alignment * alignment;
  uint64_t step = std::max({aligned(bytes), spread, alignment});
  return {pool, step, std::max<uint64_t>(1, between / step) * step};
}

} // namespace

/// One contender's queue, which runs rows of launches.
class RowMeasurer::Row {
public:
  static Expected<Row> create(runtime::Device &device, const Kernel &kernel) {
    KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceQueue> queue,
                    device.createQueue(*kernel.program, {}));
    queue->timeSteps(true);
    return Row(kernel, std::move(queue));
  }

  runtime::DeviceQueue &ownQueue() { return *queue; }

  void place(std::vector<Place> operands) {
    places = std::move(operands);
    addresses.resize(places.size());
    for (auto [operand, at] : llvm::zip_equal(kernel->operands, places))
      if (operand.isWritten)
        lasting.push_back({at.address, operand.bytes});
  }

  /// Seconds of a launch among so many; after the second run they are those of that run again.
  Expected<double> run(size_t launches) {
    queue->beginRun({});
    Status status = runSteps(launches);
    queue->endRun();
    KINTSUGI_RETURN_IF_ERROR(std::move(status));
    std::optional<double> seconds = queue->secondsOfSteps();
    return seconds ? *seconds / double(launches) : 0;
  }

private:
  Row(const Kernel &kernel, std::unique_ptr<runtime::DeviceQueue> queue)
      : kernel(&kernel), queue(std::move(queue)) {}

  Status runSteps(size_t launches) {
    KINTSUGI_ASSIGN(bool isKnown, queue->beginSteps(lasting, {}));
    if (!isKnown) {
      Status asked = ask(launches);
      Status ended = queue->endSteps(asked.ok());
      KINTSUGI_RETURN_IF_ERROR(std::move(asked));
      KINTSUGI_RETURN_IF_ERROR(std::move(ended));
    }
    return queue->finish();
  }

  Status ask(size_t launches) {
    for (size_t launch = 0; launch < launches; ++launch) {
      for (auto [address, at] : llvm::zip_equal(addresses, places))
        address = at.of(launch);
      KINTSUGI_RETURN_IF_ERROR(queue->launch(0, addresses.data()));
    }
    return Status::success();
  }

  const Kernel *kernel;
  std::unique_ptr<runtime::DeviceQueue> queue;
  std::vector<Place> places;
  std::vector<void *> addresses;
  std::vector<runtime::MemoryRange> lasting;
};

/// What contenders share while they are timed.
class RowMeasurer::Contest {
public:
  explicit Contest(RowMeasurer &of) : of(of) {}

  /// A queue whose first run is over: what can't run says so.
  Expected<Row> enter(const Kernel &kernel, size_t launches) {
    KINTSUGI_ASSIGN(Row row, Row::create(of.device, kernel));
    std::vector<Place> places;
    std::map<ElementType, uint64_t> taken; ///< Of each pool, by constants of one launch.
    for (const Operand &operand : kernel.operands)
      if (operand.isConstant)
        taken[operand.type] += aligned(operand.bytes);
    std::map<ElementType, uint64_t> offsets;
    for (const Operand &operand : kernel.operands) {
      uint64_t all = operand.isConstant ? taken[operand.type] : operand.bytes;
      KINTSUGI_ASSIGN(std::byte * pool, of.poolOf(operand.type, all, row.ownQueue()));
      if (operand.isConstant) {
        places.push_back(placeInPool(pool, all, of.bytesBetween(), launches));
        places.back().address += offsets[operand.type];
        offsets[operand.type] += aligned(operand.bytes);
        continue;
      }
      KINTSUGI_ASSIGN(std::byte * address, placeOf(operand, pool, row.ownQueue()));
      places.push_back({address});
    }
    KINTSUGI_RETURN_IF_ERROR(row.ownQueue().finish());
    row.place(std::move(places));
    KINTSUGI_RETURN_IF_ERROR(row.run(1).status());
    return row;
  }

  /// What a kernel stores, where constants are the same for all contenders.
  Expected<Results> resultsOf(const Kernel &kernel) {
    KINTSUGI_ASSIGN(Row row, Row::create(of.device, kernel));
    runtime::DeviceQueue &queue = row.ownQueue();
    std::vector<DeviceBlock> constants;
    std::vector<Place> places;
    for (const Operand &operand : kernel.operands) {
      if (operand.isConstant) {
        std::vector<std::byte> values =
            madeUpValues(operand.type, operand.bytesOfValue, operand.value);
        if (operand.packing)
          values = packed(*operand.packing, operand.type, values);
        KINTSUGI_ASSIGN(DeviceBlock block,
                        DeviceBlock::allocate(of.device, std::max<uint64_t>(values.size(), 1)));
        KINTSUGI_RETURN_IF_ERROR(queue.upload(block.address(), values.data(), values.size()));
        places.push_back({static_cast<std::byte *>(block.address())});
        constants.push_back(std::move(block));
        continue;
      }
      // Others than those of its neighbours: a kernel that takes one for another is to be seen.
      uint64_t offset = operand.value % differing * alignment;
      KINTSUGI_ASSIGN(std::byte * pool, of.poolOf(operand.type, operand.bytes + offset, queue));
      KINTSUGI_ASSIGN(std::byte * address, placeOf(operand, pool + offset, queue));
      places.push_back({address});
      if (!operand.isWritten)
        continue;
      // What is not stored shows: a large number in types that have a NaN.
      std::vector<std::byte> nothing(operand.bytes, std::byte(0x7b));
      KINTSUGI_RETURN_IF_ERROR(queue.upload(address, nothing.data(), nothing.size()));
    }
    KINTSUGI_RETURN_IF_ERROR(queue.finish());
    row.place(places);
    KINTSUGI_RETURN_IF_ERROR(row.run(1).status());
    Results results;
    for (auto [operand, at] : llvm::zip_equal(kernel.operands, places)) {
      if (!operand.isWritten)
        continue;
      std::vector<std::byte> bytes(operand.bytes);
      KINTSUGI_RETURN_IF_ERROR(queue.download(bytes.data(), at.address, bytes.size()));
      results[operand.value] = {operand.type, std::move(bytes)};
    }
    return results;
  }

private:
  Expected<std::byte *> placeOf(const Operand &operand, const std::byte *values,
                                runtime::DeviceQueue &queue) {
    if (auto found = shared.find(operand.value); found != shared.end())
      return static_cast<std::byte *>(found->second.address());
    KINTSUGI_ASSIGN(DeviceBlock block,
                    DeviceBlock::allocate(of.device, std::max<uint64_t>(operand.bytes, 1)));
    KINTSUGI_RETURN_IF_ERROR(queue.copy(block.address(), values, operand.bytes));
    auto *address = static_cast<std::byte *>(block.address());
    shared.emplace(operand.value, std::move(block));
    return address;
  }

  RowMeasurer &of;
  std::map<uint32_t, DeviceBlock> shared; ///< By value.
};

RowMeasurer::RowMeasurer(const targets::Target &target, targets::CompileOptions options,
                         runtime::Device &device, RowOptions row)
    : target(target), options(std::move(options)), device(device), row(std::move(row)) {}

RowMeasurer::~RowMeasurer() = default;

Expected<std::unique_ptr<cost::Contender>> RowMeasurer::prepare(const Schedule &schedule) {
  KINTSUGI_ASSIGN(std::unique_ptr<Kernel> kernel, Kernel::create(schedule, *this));
  return std::unique_ptr<cost::Contender>(std::move(kernel));
}

/// Between two launches that read the same constants, a run of the model reads all the others.
uint64_t RowMeasurer::bytesBetween() const {
  return row.constantBytes > row.cacheBytes ? 2 * row.cacheBytes : 0;
}

/// Values of a type: more than stay in the cache, where that matters, and so many at least.
Expected<std::byte *> RowMeasurer::poolOf(ElementType type, uint64_t bytes,
                                          runtime::DeviceQueue &queue) {
  constexpr uint64_t mostUploaded = 4 << 20;
  bytes = std::max({aligned(bytes), bytesBetween(), alignment});
  auto found = pools.find(type);
  if (found != pools.end() && found->second.bytes >= bytes)
    return static_cast<std::byte *>(found->second.block.address());
  KINTSUGI_ASSIGN(DeviceBlock block, DeviceBlock::allocate(device, bytes));
  uint64_t filled = std::min(bytes, mostUploaded);
  std::vector<std::byte> values = madeUpValues(type, filled);
  auto *start = static_cast<std::byte *>(block.address());
  KINTSUGI_RETURN_IF_ERROR(queue.upload(start, values.data(), filled));
  for (uint64_t more; filled < bytes; filled += more) {
    more = std::min(filled, bytes - filled);
    KINTSUGI_RETURN_IF_ERROR(queue.copy(start + filled, start, more));
  }
  KINTSUGI_RETURN_IF_ERROR(queue.finish());
  // A smaller one may be in use by the contest under way.
  if (found != pools.end()) {
    outgrown.push_back(std::move(found->second.block));
    pools.erase(found);
  }
  pools.emplace(type, Pool{std::move(block), bytes});
  return start;
}

/// Rows that take some time, and are long enough for constants to be cold, if they are in a model.
Expected<size_t> RowMeasurer::launchesFor(const Kernel &kernel, Contest &contest) {
  constexpr size_t few = 8, most = 256;
  constexpr double enough = 0.4e-3, tooMuch = 3e-3;
  KINTSUGI_ASSIGN(Row row, contest.enter(kernel, few));
  KINTSUGI_ASSIGN(double seconds, row.run(few));
  seconds = std::max(seconds, 1e-7);
  double wanted = enough / seconds;
  uint64_t constants = 0;
  for (const Operand &operand : kernel.operands)
    constants += operand.isConstant ? aligned(operand.bytes) : 0;
  if (constants > 0)
    wanted = std::max(wanted, double(bytesBetween()) / double(constants));
  wanted = std::min(wanted, std::max(tooMuch / seconds, double(few) / 2));
  return size_t(std::clamp(std::ceil(wanted), double(few) / 2, double(most)));
}

Expected<std::vector<cost::Timed>>
RowMeasurer::measure(llvm::ArrayRef<const cost::Contender *> contenders, cost::Effort effort) {
  outgrown.clear();
  Contest contest(*this);
  std::vector<std::optional<Row>> rows(contenders.size());
  KINTSUGI_ASSIGN(size_t launches,
                  launchesFor(*static_cast<const Kernel *>(contenders[0]), contest));
  for (auto [row, contender] : llvm::zip_equal(rows, contenders)) {
    auto entered = contest.enter(*static_cast<const Kernel *>(contender), launches);
    if (entered.ok())
      row.emplace(std::move(*entered));
    else if (&row == &rows[0])
      return entered.takeError();
  }
  auto times = inTurns(rows.size(), roundsFor(effort), [&](size_t number) -> Expected<double> {
    if (!rows[number])
      return INFINITY; // It does not run here.
    return rows[number]->run(launches);
  });
  if (times.ok() && effort == cost::Effort::Confirm)
    KINTSUGI_RETURN_IF_ERROR(checkAgreement(contenders, contest, *times));
  return times;
}

Status RowMeasurer::checkAgreement(llvm::ArrayRef<const cost::Contender *> contenders,
                                   Contest &contest, std::vector<cost::Timed> &times) {
  KINTSUGI_ASSIGN(Results right, contest.resultsOf(*static_cast<const Kernel *>(contenders[0])));
  auto coarsest = [&](size_t number) {
    return static_cast<const Kernel *>(contenders[number])->coarsest;
  };
  for (size_t number = 1; number < contenders.size(); ++number) {
    if (std::isinf(times[number].share))
      continue;
    Expected<Results> own = contest.resultsOf(*static_cast<const Kernel *>(contenders[number]));
    times[number].agrees = own.ok() && agree(right, *own, coarserOf(coarsest(0), coarsest(number)));
  }
  return Status::success();
}

} // namespace kintsugi::tune
