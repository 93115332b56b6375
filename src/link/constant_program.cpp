#include "link/constant_program.h"

#include "link/manifest.h"
#include "link/stage_artifact.h"
#include "orchestrate/plan_buffers.h"
#include "runtime/host_memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace kintsugi::link {

using orchestrate::BufferKind;
using orchestrate::Plan;

namespace {

class ConstantRun {
public:
  ConstantRun(const Plan &plan, ConstantPool &pool, const ConstantOptions &options)
      : plan(plan), pool(pool), options(options), needed(orchestrate::buffersOfRoot(plan)),
        uses(plan.buffers.size(), 0), memory(plan.buffers.size()) {
    Plan::forEachStage(plan.constants, [&](unsigned stage) {
      stages.push_back(stage);
      for (unsigned operand : plan.stages[stage].operands)
        ++uses[operand];
    });
  }

  llvm::ArrayRef<unsigned> stageList() const { return stages; }

  Expected<ConstantResult> run(runtime::DeviceQueue *queue) {
    for (unsigned number = 0; number < plan.buffers.size(); ++number)
      if (needed[number] && plan.buffers[number].kind == BufferKind::Source && !uses[number])
        KINTSUGI_RETURN_IF_ERROR(copySource(number));
    if (queue)
      queue->beginRun({});
    for (auto [position, stage] : llvm::enumerate(stages)) {
      Status status = runStage(position, plan.stages[stage], *queue);
      if (!status.ok())
        return status.takeError();
    }
    if (queue)
      queue->endRun();
    return std::move(result);
  }

private:
  Status runStage(unsigned position, const orchestrate::Stage &stage, runtime::DeviceQueue &queue) {
    llvm::SmallVector<void *> addresses;
    for (unsigned operand : stage.operands) {
      Expected<std::byte *> address = materialize(operand);
      if (!address.ok())
        return located(stage.origins, address.takeError());
      addresses.push_back(*address);
    }
    KINTSUGI_RETURN_IF_ERROR(queue.launch(position, addresses.data()));
    KINTSUGI_RETURN_IF_ERROR(queue.finish());
    for (unsigned operand : stage.operands)
      if (--uses[operand] == 0)
        KINTSUGI_RETURN_IF_ERROR(retire(operand));
    return Status::success();
  }

  /// Names the model's file, and those of its nodes that the constant is for.
  Error located(llvm::ArrayRef<std::string> nodes, Error error) const {
    if (!nodes.empty())
      error = at((nodes.size() == 1 ? "node '" : "nodes '") + llvm::join(nodes, "', '") + "'",
                 std::move(error));
    return options.model.empty() ? error : at(options.model, std::move(error));
  }

  /// The bytes of a buffer, loaded or allocated at its first use.
  Expected<std::byte *> materialize(unsigned number) {
    const orchestrate::PlanBuffer &buffer = plan.buffers[number];
    if (buffer.kind == BufferKind::Source && buffer.source->bytes())
      return const_cast<std::byte *>(buffer.source->bytes());
    if (!memory[number].data()) {
      inFlight += buffer.bytes;
      result.peakBytes = std::max(result.peakBytes, inFlight);
      if (inFlight > options.memoryBudget)
        return machineError("computing the constant '" + buffer.name + "' takes " +
                            std::to_string(inFlight >> 20) + " MiB; compiling may take " +
                            std::to_string(options.memoryBudget >> 20) +
                            " MiB, which --max-memory raises");
      KINTSUGI_ASSIGN(memory[number],
                      runtime::HostMemory::allocate(std::max<uint64_t>(buffer.bytes, 1)));
      if (buffer.kind == BufferKind::Source)
        KINTSUGI_RETURN_IF_ERROR(buffer.source->load(memory[number].data()));
    }
    return memory[number].data();
  }

  /// After its last use here: into the artifact if the main program wants it, and out of memory.
  Status retire(unsigned number) {
    const orchestrate::PlanBuffer &buffer = plan.buffers[number];
    if (needed[number]) {
      KINTSUGI_ASSIGN(std::byte * bytes, materialize(number));
      KINTSUGI_ASSIGN(result.offsets[number], pool.add({bytes, buffer.bytes}));
    }
    if (memory[number].data()) {
      inFlight -= buffer.bytes;
      memory[number] = {};
    }
    return Status::success();
  }

  /// A source that no constant stage reads.
  Status copySource(unsigned number) {
    Status status = materialize(number).status();
    return status.ok() ? retire(number) : located({}, status.takeError());
  }

  const Plan &plan;
  ConstantPool &pool;
  const ConstantOptions &options;
  std::vector<bool> needed;
  std::vector<unsigned> uses;
  std::vector<runtime::HostMemory> memory;
  std::vector<unsigned> stages;
  uint64_t inFlight = 0;
  ConstantResult result;
};

} // namespace

Expected<uint64_t> ConstantPool::add(std::span<const std::byte> bytes) {
  if (!shared)
    return writer.addConstant(bytes);
  auto [entry, fresh] = offsets.try_emplace(blake3(bytes), 0);
  if (fresh) {
    Expected<uint64_t> offset = writer.addConstant(bytes);
    if (!offset.ok())
      return offset;
    entry->second = *offset;
  }
  return entry->second;
}

Expected<ConstantResult> runConstantProgram(const Plan &plan, std::span<const std::byte> code,
                                            std::string_view targetName, runtime::Device &device,
                                            ConstantPool &pool, const ConstantOptions &options) {
  ConstantRun run(plan, pool, options);
  if (run.stageList().empty())
    return run.run(nullptr);
  KINTSUGI_ASSIGN(runtime::Artifact artifact,
                  artifactOfStages(plan, run.stageList(), code, targetName));
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceProgram> program, device.load(artifact));
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::DeviceQueue> queue,
                  device.createQueue(*program, {options.threads}));
  return run.run(queue.get());
}

} // namespace kintsugi::link
