#include "orchestrate/plan.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

void Plan::forEachStage(const PlanNode &node, llvm::function_ref<void(unsigned)> visit) {
  if (node.kind == PlanNode::Kind::Stage)
    visit(node.stage);
  for (const PlanNode &child : node.children)
    forEachStage(child, visit);
}

namespace {

std::string joined(llvm::ArrayRef<unsigned> numbers) {
  std::string text;
  for (unsigned number : numbers)
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string copiesText(llvm::ArrayRef<BufferCopy> copies) {
  std::string text;
  for (const BufferCopy &copy : copies)
    text += " " + std::to_string(copy.from) + "->" + std::to_string(copy.to);
  return text;
}

void printNode(const PlanNode &node, const std::string &indent, std::string &text) {
  text += indent;
  switch (node.kind) {
  case PlanNode::Kind::Stage:
    text += "stage " + std::to_string(node.stage) + "\n";
    return;
  case PlanNode::Kind::Copy:
    text += "copy" + copiesText(node.copies) + "\n";
    return;
  case PlanNode::Kind::Sequence:
    text += "sequence {\n";
    break;
  case PlanNode::Kind::Repeat:
    text += "repeat " + std::to_string(node.count) + " step " + std::to_string(node.step) +
            " carry" + copiesText(node.copies) + " stack" + copiesText(node.stacks) + " {\n";
    break;
  case PlanNode::Kind::Branch:
    text += "branch " + std::to_string(node.condition) + " {\n";
    break;
  }
  for (const PlanNode &child : node.children)
    printNode(child, indent + "  ", text);
  text += indent + "}\n";
}

const char *nameOf(BufferKind kind) {
  static const char *const names[] = {"input", "source", "derived", "temporary"};
  return names[static_cast<unsigned>(kind)];
}

} // namespace

std::string Plan::print() const {
  std::string text = "plan " + Json(model).dump() + " arena " + std::to_string(arenaBytes) + "\n";
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    text += "buffer " + std::to_string(number) + " " + Json(buffer.name).dump() + " " +
            std::string(kintsugi::nameOf(buffer.type)) + " [";
    for (auto [d, extent] : llvm::enumerate(buffer.shape))
      text += (d ? ", " : "") + std::to_string(extent.constant());
    text += std::string("] ") + nameOf(buffer.kind);
    if (buffer.kind == BufferKind::Input)
      text += " " + std::to_string(buffer.port);
    if (buffer.kind == BufferKind::Temporary)
      text += " at " + std::to_string(buffer.arenaOffset);
    text += "\n";
  }
  for (auto [number, stage] : llvm::enumerate(stages)) {
    text += "stage " + std::to_string(number) + " ";
    if (stage.kind == Stage::Kind::Kernel)
      text += "kernel " + kernels[stage.kernel].symbol;
    else
      text += "call " + stage.callee + " " + stage.attributes.dump();
    text += " operands [" + joined(stage.operands) + "] results " + std::to_string(stage.results) +
            " serves " + Json(stage.origins).dump() + "\n";
  }
  for (const Output &output : outputs)
    text += "output " + Json(output.name).dump() + " " + std::to_string(output.buffer) + "\n";
  text += "constants ";
  printNode(constants, "", text);
  text += "root ";
  printNode(root, "", text);
  return text;
}

} // namespace kintsugi::orchestrate
