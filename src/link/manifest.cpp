#include "link/manifest.h"

#include "link/joins.h"
#include "link/trim.h"
#include "loops/block_registers.h"
#include "orchestrate/plan_buffers.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::link {

using orchestrate::BufferKind;
using orchestrate::Plan;
using orchestrate::PlanNode;

runtime::Buffer bufferOf(const orchestrate::PlanBuffer &buffer, runtime::Home home) {
  runtime::Buffer result;
  result.name = buffer.name;
  result.type = buffer.type;
  for (te::Extent extent : buffer.shape)
    result.shape.push_back(extent.constant());
  result.bytes = buffer.bytes;
  result.home = home;
  return result;
}

static runtime::Work workOf(const orchestrate::Stage &stage, const std::string &symbol) {
  return {symbol, stage.origins, stage.operations, stage.predictedSeconds, stage.movedBytes};
}

/// What is known of a stage whatever it runs.
static runtime::Stage describedStage(const orchestrate::Stage &stage, const std::string &symbol,
                                     llvm::function_ref<uint32_t(unsigned)> bufferNumber) {
  runtime::Stage result;
  static_cast<runtime::Work &>(result) = workOf(stage, symbol);
  for (unsigned operand : stage.operands)
    result.buffers.push_back(bufferNumber(operand));
  result.resultCount = stage.results;
  result.expressions = stage.expressions;
  return result;
}

runtime::Stage stageOf(const Plan &plan, const orchestrate::Stage &stage,
                       llvm::function_ref<uint32_t(unsigned)> bufferNumber) {
  if (stage.kind == orchestrate::Stage::Kind::Call) {
    runtime::Stage result = describedStage(stage, stage.callee, bufferNumber);
    result.kind = runtime::Stage::Kind::Call;
    result.attributes = stage.attributes;
    return result;
  }
  const orchestrate::Kernel &kernel = plan.kernels[stage.kernel];
  runtime::Stage result = describedStage(stage, kernel.symbol, bufferNumber);
  result.tiles = kernel.shape->schedule.tiles();
  if (kernel.shape->schedule.threads == 0)
    result.together = kernel.shape->schedule.tilesTogether();
  result.scratchBytes = kernel.shape->schedule.scratchBytes;
  result.threads = kernel.shape->schedule.threads;
  if (result.threads > 0)
    result.registers = loops::registersOf(kernel.shape->schedule);
  return result;
}

namespace {

class ManifestWriter {
public:
  ManifestWriter(const Plan &plan, const std::map<unsigned, uint64_t> &constantOffsets)
      : plan(plan), joins(plan), trims(!plan.open.empty() && orchestrate::mayLeaveOut(plan)),
        numbers(plan.buffers.size(), ~0u) {
    std::vector<bool> used = orchestrate::buffersOfRoot(plan);
    for (auto [number, buffer] : llvm::enumerate(plan.buffers)) {
      if (!used[number])
        continue;
      numbers[number] = manifest.buffers.size();
      manifest.buffers.push_back(bufferOf(buffer, homeOf(number, buffer, constantOffsets)));
    }
    placeOutputs();
  }

  runtime::Manifest run() {
    manifest.modelName = plan.model;
    manifest.arenaBytes = plan.arenaBytes;
    manifest.open = plan.open;
    for (unsigned input : plan.inputs)
      manifest.inputs.push_back(portOf(plan.buffers[input].name, input));
    for (const Plan::Output &output : plan.outputs)
      manifest.outputs.push_back(outputOf(output));
    declare(plan.declaredInputs, manifest.inputs);
    declare(plan.declaredOutputs, manifest.outputs);
    for (const Plan::Check &check : plan.checks)
      manifest.checks.push_back({numbers[check.buffer], check.node, check.text, check.range});
    manifest.plan = nodeOf(plan.root);
    return std::move(manifest);
  }

private:
  static runtime::Home homeOf(unsigned number, const orchestrate::PlanBuffer &buffer,
                              const std::map<unsigned, uint64_t> &constantOffsets) {
    switch (buffer.kind) {
    case BufferKind::Input:
      return runtime::Home::input(buffer.port);
    case BufferKind::Size:
      return runtime::Home::size(buffer.port);
    case BufferKind::Source:
    case BufferKind::Derived:
      return runtime::Home::constant(constantOffsets.at(number));
    case BufferKind::Temporary:
      break;
    }
    return runtime::Home::arena(buffer.arenaOffset);
  }

  /// A temporary that is an output, once, is computed in the caller's memory.
  void placeOutputs() {
    std::map<unsigned, unsigned> uses;
    for (const Plan::Output &output : plan.outputs)
      ++uses[output.buffer];
    for (auto [port, output] : llvm::enumerate(plan.outputs))
      if (plan.buffers[output.buffer].kind == BufferKind::Temporary && uses[output.buffer] == 1)
        manifest.buffers[numbers[output.buffer]].home = runtime::Home::output(port);
  }

  static void declare(const std::vector<Plan::Declared> &declared,
                      std::vector<runtime::Port> &ports) {
    if (declared.empty())
      return;
    for (auto [known, port] : llvm::zip_equal(declared, ports)) {
      port.type = known.type;
      port.shape = te::plainShape(known.shape);
      for (auto [number, validity] : llvm::enumerate(known.validity))
        if (validity.isSteps())
          port.open.push_back(
              {validity.axes.front().dimension, validity.axes.front().step, uint32_t(number)});
    }
  }

  runtime::Port portOf(const std::string &name, unsigned buffer) const {
    const runtime::Buffer &described = manifest.buffers[numbers[buffer]];
    runtime::Port port;
    port.name = name;
    port.type = described.type;
    port.shape = described.shape;
    port.buffer = numbers[buffer];
    return port;
  }

  runtime::Port outputOf(const Plan::Output &output) const {
    runtime::Port port = portOf(output.name, output.buffer);
    for (const Plan::Count &count : output.counts)
      port.dynamic.push_back({count.dimension, numbers[count.buffer]});
    return port;
  }

  std::vector<runtime::BufferCopy> copiesOf(const PlanNode &node) const {
    std::vector<runtime::BufferCopy> copies;
    // Stacks first: a carried copy may overwrite what a step produced.
    for (const orchestrate::BufferCopy &stack : node.stacks)
      copies.push_back({numbers[stack.from], numbers[stack.to], 0, plan.buffers[stack.from].bytes});
    for (const orchestrate::BufferCopy &copy : node.copies)
      copies.push_back({numbers[copy.from], numbers[copy.to]});
    return copies;
  }

  int64_t numberOrNone(unsigned buffer) const {
    return buffer == ~0u ? runtime::none : static_cast<int64_t>(numbers[buffer]);
  }

  runtime::Plan addStage(runtime::Stage stage) {
    manifest.stages.push_back(std::move(stage));
    return runtime::Plan::ofStage(manifest.stages.size() - 1);
  }

  runtime::Stage joinedStage(const PlanNode &node) const {
    const JoinedStage &joined = joins.of(node);
    runtime::Stage stage = describedStage(joined.stage, joined.symbol, numberOf());
    for (unsigned number : joined.parts) {
      const orchestrate::Stage &part = plan.stages[number];
      stage.parts.push_back(workOf(part, plan.kernels[part.kernel].symbol));
    }
    stage.tiles = joined.tiles;
    stage.scratchBytes = joined.scratchBytes;
    stage.threads = joined.threads;
    stage.meets = joined.meets;
    return stage;
  }

  runtime::Stage trimmedStage(const orchestrate::Stage &stage) const {
    runtime::Stage result = stageOf(plan, stage, numberOf());
    if (trims && result.kind == runtime::Stage::Kind::Kernel)
      result.trims = trimsOf(plan, stage);
    return result;
  }

  /// One of the launches that a call is on the device.
  runtime::Stage launchedStage(const orchestrate::Stage &call, const calls::Launch &launch) const {
    runtime::Stage stage;
    stage.symbol = launch.symbol;
    stage.call = call.callee;
    stage.attributes = call.attributes;
    stage.expressions = "call " + call.callee + " " + printJson(call.attributes) + "\n";
    stage.nodes = call.origins;
    for (const auto *places : {&launch.reads, &launch.writes})
      for (unsigned place : *places) {
        stage.buffers.push_back(numbers[call.bufferAt(place)]);
        stage.movedBytes += plan.buffers[call.bufferAt(place)].bytes;
      }
    stage.resultCount = launch.writes.size();
    stage.tiles = launch.blocks;
    stage.threads = launch.threads;
    stage.scratchBytes = launch.sharedBytes;
    stage.predictedSeconds = call.predictedSeconds / double(call.device->launches.size());
    return stage;
  }

  runtime::Plan callNode(const orchestrate::Stage &call) {
    std::vector<runtime::Plan> launches;
    for (const calls::Launch &launch : call.device->launches)
      launches.push_back(addStage(launchedStage(call, launch)));
    return runtime::Plan::sequence(std::move(launches));
  }

  std::function<uint32_t(unsigned)> numberOf() const {
    return [&](unsigned buffer) { return numbers[buffer]; };
  }

  runtime::Plan nodeOf(const PlanNode &node) {
    if (node.kind == PlanNode::Kind::Joined)
      return addStage(joinedStage(node));
    std::vector<runtime::Plan> children;
    for (const PlanNode &child : node.children)
      children.push_back(nodeOf(child));
    switch (node.kind) {
    case PlanNode::Kind::Stage:
      if (plan.stages[node.stage].device)
        return callNode(plan.stages[node.stage]);
      return addStage(trimmedStage(plan.stages[node.stage]));
    case PlanNode::Kind::Joined:
      break;
    case PlanNode::Kind::Sequence:
      return runtime::Plan::sequence(std::move(children));
    case PlanNode::Kind::Repeat:
      return runtime::Plan::repeat(node.count, std::move(children[0]), copiesOf(node),
                                   numberOrNone(node.step), numberOrNone(node.condition));
    case PlanNode::Kind::Branch:
      return runtime::Plan::branch(numbers[node.condition], std::move(children[0]),
                                   std::move(children[1]));
    case PlanNode::Kind::Copy:
      return runtime::Plan::copy(copiesOf(node));
    case PlanNode::Kind::Lanes:
      return runtime::Plan::lanes(std::move(children));
    }
    return {};
  }

  const Plan &plan;
  Joins joins;
  bool trims; ///< Whether sizes below the greatest leave tiles out.
  runtime::Manifest manifest;
  std::vector<uint32_t> numbers;
};

} // namespace

runtime::Manifest manifestOf(const Plan &plan, const std::map<unsigned, uint64_t> &offsets) {
  return ManifestWriter(plan, offsets).run();
}

} // namespace kintsugi::link
