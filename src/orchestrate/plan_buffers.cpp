#include "orchestrate/plan_buffers.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

static void markNode(const Plan &plan, const PlanNode &node, std::vector<bool> &used) {
  auto mark = [&](unsigned buffer) {
    if (buffer != ~0u)
      used[buffer] = true;
  };
  if (node.kind == PlanNode::Kind::Stage) {
    llvm::for_each(plan.stages[node.stage].operands, mark);
    llvm::for_each(plan.stages[node.stage].memory, mark);
  }
  for (const auto *copies : {&node.copies, &node.stacks})
    for (const BufferCopy &copy : *copies) {
      mark(copy.from);
      mark(copy.to);
    }
  mark(node.step);
  mark(node.condition);
  for (const PlanNode &child : node.children)
    markNode(plan, child, used);
}

std::vector<bool> buffersOfRoot(const Plan &plan) {
  std::vector<bool> used(plan.buffers.size(), false);
  markNode(plan, plan.root, used);
  for (const Plan::Output &output : plan.outputs) {
    used[output.buffer] = true;
    for (const Plan::Count &count : output.counts)
      used[count.buffer] = true;
  }
  for (unsigned input : plan.inputs)
    used[input] = true;
  for (const Plan::Check &check : plan.checks)
    used[check.buffer] = true;
  return used;
}

bool mayLeaveOut(const Plan &plan) {
  std::vector<bool> used = buffersOfRoot(plan);
  for (auto [number, buffer] : llvm::enumerate(plan.buffers))
    if (used[number] && llvm::any_of(buffer.validity, std::mem_fn(&te::Validity::isMixed)))
      return false;
  return true;
}

} // namespace kintsugi::orchestrate
