#include "orchestrate/plan.h"

namespace kintsugi::orchestrate {

void Plan::forEachStage(const PlanNode &node, llvm::function_ref<void(unsigned)> visit) {
  if (node.kind == PlanNode::Kind::Stage)
    visit(node.stage);
  for (const PlanNode &child : node.children)
    forEachStage(child, visit);
}

} // namespace kintsugi::orchestrate
