#include "orchestrate/plan.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

namespace {

/// When a buffer is alive, in positions of a walk over the tree. Whatever a repeat touches lives
/// for all of it.
struct Life {
  unsigned first = ~0u, last = 0;
  void touch(unsigned position) {
    first = std::min(first, position);
    last = std::max(last, position);
  }
};

class Liveness {
public:
  explicit Liveness(const Plan &plan) : lives(plan.buffers.size()), plan(plan) {
    visit(plan.root);
    for (const Plan::Output &output : plan.outputs) {
      lives[output.buffer].touch(position);
      for (const Plan::Count &count : output.counts)
        lives[count.buffer].touch(position);
    }
    for (const Plan::Check &check : plan.checks)
      lives[check.buffer].touch(position);
  }

  std::vector<Life> lives;

private:
  void touch(unsigned buffer) {
    if (buffer != ~0u)
      lives[buffer].touch(position);
  }

  void touchAll(const PlanNode &node) {
    for (const std::vector<BufferCopy> *copies : {&node.copies, &node.stacks})
      for (const BufferCopy &copy : *copies) {
        touch(copy.from);
        touch(copy.to);
      }
    touch(node.step);
    touch(node.condition);
    if (node.kind == PlanNode::Kind::Stage)
      for (const auto &buffers : {llvm::ArrayRef(plan.stages[node.stage].operands),
                                  llvm::ArrayRef(plan.stages[node.stage].memory)})
        for (unsigned buffer : buffers)
          touch(buffer);
    for (const PlanNode &child : node.children)
      touchAll(child);
  }

  void visit(const PlanNode &node) {
    if (node.kind == PlanNode::Kind::Sequence) {
      for (const PlanNode &child : node.children)
        visit(child);
      return;
    }
    // One position for a whole repeat or branch: all that it touches is alive together.
    touchAll(node);
    ++position;
  }

  const Plan &plan;
  unsigned position = 0;
};

} // namespace

void assignArena(Plan &plan) {
  Liveness liveness(plan);
  std::vector<unsigned> order;
  for (unsigned number = 0; number < plan.buffers.size(); ++number)
    if (plan.buffers[number].kind == BufferKind::Temporary && liveness.lives[number].first != ~0u)
      order.push_back(number);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::make_pair(plan.buffers[b].bytes, a) < std::make_pair(plan.buffers[a].bytes, b);
  });
  auto rounded = [&](unsigned number) {
    return std::max<uint64_t>(64, (plan.buffers[number].bytes + 63) / 64 * 64);
  };
  // Largest first, each at the lowest offset that is free during its life.
  std::vector<unsigned> placed;
  plan.arenaBytes = 0;
  for (unsigned number : order) {
    const Life &life = liveness.lives[number];
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (unsigned other : placed) {
      const Life &its = liveness.lives[other];
      if (its.first <= life.last && life.first <= its.last)
        taken.push_back(
            {plan.buffers[other].arenaOffset, plan.buffers[other].arenaOffset + rounded(other)});
    }
    llvm::sort(taken);
    uint64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + rounded(number) <= begin)
        break;
      offset = std::max(offset, end);
    }
    plan.buffers[number].arenaOffset = offset;
    plan.arenaBytes = std::max(plan.arenaBytes, offset + rounded(number));
    placed.push_back(number);
  }
}

} // namespace kintsugi::orchestrate
