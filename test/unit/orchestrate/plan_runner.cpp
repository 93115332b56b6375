#include "plan_runner.h"

#include "../loops/runner.h"
#include "base/tensor.h"
#include "te/constant.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::orchestrate {

namespace {

constexpr unsigned nobody = ~0u;

class Runner {
public:
  explicit Runner(const Plan &plan)
      : plan(plan), contents(plan.buffers.size()), owner(plan.arenaBytes, nobody) {}

  PlanRun run(const std::vector<std::vector<double>> &inputs) {
    for (auto [number, buffer] : llvm::enumerate(plan.buffers)) {
      if (buffer.kind == BufferKind::Input)
        contents[number] = inputs[buffer.port];
      if (buffer.kind == BufferKind::Source)
        load(number);
    }
    visit(plan.constants);
    visit(plan.root);
    PlanRun run;
    for (const Plan::Output &output : plan.outputs)
      run.outputs.push_back(read(output.buffer));
    run.problem = problem;
    return run;
  }

private:
  void load(unsigned number) {
    const PlanBuffer &buffer = plan.buffers[number];
    Expected<Tensor> tensor = Tensor::create(buffer.type, te::plainShape(buffer.shape));
    if (!tensor.ok() || !buffer.source->load(tensor->bytes().data()).ok())
      return fail("constant " + std::to_string(number) + " can't be loaded");
    for (int64_t k = 0; k < tensor->count(); ++k)
      contents[number].push_back(loadDouble(tensor->view(), k));
  }

  void fail(const std::string &reason) {
    if (problem.empty())
      problem = reason;
  }

  llvm::MutableArrayRef<unsigned> bytesOf(unsigned number) {
    const PlanBuffer &buffer = plan.buffers[number];
    if (buffer.arenaOffset + buffer.bytes > owner.size()) {
      fail("buffer " + std::to_string(number) + " is not in the arena");
      return {};
    }
    return llvm::MutableArrayRef(owner).slice(buffer.arenaOffset, buffer.bytes);
  }

  const std::vector<double> &read(unsigned number) {
    const PlanBuffer &buffer = plan.buffers[number];
    if (buffer.bytes && contents[number].empty())
      fail("buffer " + std::to_string(number) + " is read before it is written");
    if (buffer.kind == BufferKind::Temporary &&
        llvm::any_of(bytesOf(number), [&](unsigned who) { return who != number; }))
      fail("buffer " + std::to_string(number) + " was overwritten in the arena");
    return contents[number];
  }

  void write(unsigned number, std::vector<double> values) {
    if (plan.buffers[number].kind == BufferKind::Temporary)
      llvm::fill(bytesOf(number), number);
    contents[number] = std::move(values);
  }

  void visit(const PlanNode &node) {
    if (!problem.empty())
      return;
    switch (node.kind) {
    case PlanNode::Kind::Stage:
      return runStage(plan.stages[node.stage]);
    case PlanNode::Kind::Sequence:
    case PlanNode::Kind::Lanes:
    case PlanNode::Kind::Joined:
      for (const PlanNode &child : node.children)
        visit(child);
      return;
    case PlanNode::Kind::Copy:
      return copyAll(node.copies);
    case PlanNode::Kind::Branch: {
      unsigned taken = read(node.condition)[0] != 0 ? 0 : 1;
      visit(node.children[taken]);
      return leaveOut(node.children[1 - taken]);
    }
    case PlanNode::Kind::Repeat:
      break;
    }
    for (int64_t step = 0; step < node.count; ++step) {
      if (node.condition != ~0u && read(node.condition)[0] == 0)
        return;
      if (node.step != ~0u)
        write(node.step, {static_cast<double>(step)});
      visit(node.children[0]);
      for (const BufferCopy &stack : node.stacks) {
        std::vector<double> part = read(stack.from), whole = contents[stack.to];
        whole.resize(part.size() * node.count, NAN);
        llvm::copy(part, whole.begin() + step * part.size());
        if (step)
          read(stack.to);
        write(stack.to, std::move(whole));
      }
      copyAll(node.copies);
    }
  }

  /// What stages would have made may be read, if to no effect.
  void leaveOut(const PlanNode &node) {
    Plan::forEachStage(node, [&](unsigned number) {
      const Stage &stage = plan.stages[number];
      for (unsigned result : llvm::ArrayRef(stage.operands).take_back(stage.results))
        write(result,
              std::vector<double>(
                  elementCount(te::plainShape(plan.buffers[result].shape)).value_or(0), NAN));
    });
  }

  void copyAll(llvm::ArrayRef<BufferCopy> copies) {
    for (const BufferCopy &copy : copies)
      write(copy.to, read(copy.from));
  }

  void runStage(const Stage &stage) {
    if (stage.kind == Stage::Kind::Call)
      return fail("calls are not run here");
    const loops::Schedule &schedule = plan.kernels[stage.kernel].shape->schedule;
    if (stage.operands.size() != schedule.memoryBuffers())
      return fail("a stage has not its kernel's operands");
    test::Memory memory;
    for (const loops::Buffer &buffer : schedule.buffers)
      memory.emplace_back(buffer.elements, NAN);
    size_t read = stage.operands.size() - stage.results;
    for (size_t k = 0; k < read; ++k)
      memory[k] = this->read(stage.operands[k]);
    std::string failure = test::runSchedule(schedule, memory);
    if (!failure.empty())
      fail(failure);
    for (size_t k = read; k < stage.operands.size(); ++k)
      write(stage.operands[k], memory[k]);
  }

  const Plan &plan;
  std::vector<std::vector<double>> contents; ///< By buffer.
  std::vector<unsigned> owner;               ///< By byte of the arena.
  std::string problem;
};

} // namespace

PlanRun runPlan(const Plan &plan, const std::vector<std::vector<double>> &inputs) {
  return Runner(plan).run(inputs);
}

} // namespace kintsugi::orchestrate
