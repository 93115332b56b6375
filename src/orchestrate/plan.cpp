#include "orchestrate/plan.h"

#include "cost/cost.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

void Stage::addOperations(const std::string &origin, uint64_t count) {
  size_t place = llvm::find(origins, origin) - origins.begin();
  if (place == origins.size()) {
    origins.push_back(origin);
    operations.push_back(0);
  }
  operations[place] += count;
}

double PlanNode::predictedTimes() const {
  if (kind == Kind::Branch)
    return cost::predictSteps(1);
  if (kind != Kind::Repeat)
    return 1;
  return isCounted() ? double(count) : cost::predictSteps(count);
}

void Plan::forEachStage(const PlanNode &node, llvm::function_ref<void(unsigned)> visit) {
  if (node.kind == PlanNode::Kind::Stage)
    visit(node.stage);
  for (const PlanNode &child : node.children)
    forEachStage(child, visit);
}

} // namespace kintsugi::orchestrate
