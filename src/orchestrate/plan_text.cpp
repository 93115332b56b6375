#include "orchestrate/plan_text.h"

#include "te/parse_tokens.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using te::quote;
using te::spellName;
using te::spellReal;

namespace {

template <typename List, typename Spell> std::string listed(const List &list, Spell spell) {
  std::string text;
  for (const auto &element : list)
    text += (text.empty() ? "" : ", ") + spell(element);
  return "[" + text + "]";
}

std::string copiesText(llvm::ArrayRef<BufferCopy> copies) {
  return listed(copies, [](const BufferCopy &copy) {
    return std::to_string(copy.from) + " > " + std::to_string(copy.to);
  });
}

std::string headOf(const PlanNode &node) {
  switch (node.kind) {
  case PlanNode::Kind::Stage:
    return "stage " + std::to_string(node.stage);
  case PlanNode::Kind::Copy:
    return "copy " + copiesText(node.copies);
  case PlanNode::Kind::Sequence:
    return "sequence";
  case PlanNode::Kind::Lanes:
    return "lanes";
  case PlanNode::Kind::Branch:
    return "branch " + std::to_string(node.condition);
  case PlanNode::Kind::Joined:
    return "joined seconds " + spellReal(node.predictedSeconds);
  case PlanNode::Kind::Repeat:
    break;
  }
  std::string text = "repeat " + std::to_string(node.count);
  if (node.step != ~0u)
    text += " step " + std::to_string(node.step);
  if (node.condition != ~0u)
    text += " while " + std::to_string(node.condition);
  if (!node.copies.empty())
    text += " carry " + copiesText(node.copies);
  if (!node.stacks.empty())
    text += " stack " + copiesText(node.stacks);
  return text;
}

void printNode(const PlanNode &node, const std::string &indent, std::string &text) {
  text += headOf(node);
  if (node.kind != PlanNode::Kind::Stage && node.kind != PlanNode::Kind::Copy) {
    text += " {\n";
    for (const PlanNode &child : node.children) {
      text += indent + "  ";
      printNode(child, indent + "  ", text);
    }
    text += indent + "}";
  }
  text += "\n";
}

std::string kindText(const PlanBuffer &buffer) {
  switch (buffer.kind) {
  case BufferKind::Input:
    return "input " + std::to_string(buffer.port);
  case BufferKind::Size:
    return "size " + std::to_string(buffer.port);
  case BufferKind::Source:
    return "source " + quote(buffer.source->identity());
  case BufferKind::Derived:
    return "derived";
  case BufferKind::Temporary:
    break;
  }
  return "temporary at " + std::to_string(buffer.arenaOffset);
}

std::string stageText(const Stage &stage, const Plan &plan) {
  std::string text =
      stage.kind == Stage::Kind::Kernel
          ? "kernel " + spellName(plan.kernels[stage.kernel].symbol)
          : "call " + spellName(stage.callee) + " " +
                printJson(stage.attributes.is_null() ? Json::object() : stage.attributes);
  text += " operands " + listed(stage.operands, [](unsigned n) { return std::to_string(n); });
  text += " results " + std::to_string(stage.results);
  text += " definitions " + std::to_string(stage.definitions);
  text += " seconds " + spellReal(stage.predictedSeconds);
  text += " moves " + std::to_string(stage.movedBytes);
  text += " serves [";
  for (auto [origin, operations] : llvm::zip_equal(stage.origins, stage.operations))
    text += (&origin == &stage.origins.front() ? "" : ", ") + quote(origin) + " " +
            std::to_string(operations);
  text += "]";
  text += " {\n";
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(stage.expressions).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    text += "  " + quote(line) + "\n";
  return text + "}\n";
}

} // namespace

std::string Plan::print() const {
  std::string text = "plan " + quote(model) + " arena " + std::to_string(arenaBytes) +
                     " objective " + spellReal(objectiveSeconds) + " gap " + spellReal(gap) +
                     " candidates " + std::to_string(candidates) + "\n";
  for (auto [number, buffer] : llvm::enumerate(buffers))
    text += "buffer " + std::to_string(number) + " " + quote(buffer.name) + " " +
            std::string(nameOf(buffer.type)) + " " +
            listed(buffer.shape, [](te::Extent e) { return std::to_string(e.constant()); }) + " " +
            kindText(buffer) + "\n";
  for (const Kernel &kernel : kernels)
    text += "kernel " + spellName(kernel.symbol) + " key " + quote(kernel.key.str()) + " seconds " +
            spellReal(kernel.predictedSeconds) + "\n";
  for (auto [number, stage] : llvm::enumerate(stages))
    text += "stage " + std::to_string(number) + " " + stageText(stage, *this);
  for (const Output &output : outputs) {
    text += "output " + quote(output.name) + " " + std::to_string(output.buffer);
    for (const Count &count : output.counts)
      text += " dimension " + std::to_string(count.dimension) + " extent " +
              std::to_string(count.buffer);
    text += "\n";
  }
  text += "constants ";
  printNode(constants, "", text);
  text += "root ";
  printNode(root, "", text);
  return text;
}

} // namespace kintsugi::orchestrate
