#include "pipeline/bodies.h"

#include "pipeline/forms.h"
#include "simplify/rebuild.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::pipeline {

/// Whether there is anything for rules and formats in a body: all of them look at sums.
static bool hasSums(const te::Program &body) {
  return llvm::any_of(body.nodes, [](const te::Node &node) {
    const auto *definition = std::get_if<te::Definition>(&node);
    return (definition && definition->isReduction()) || std::holds_alternative<te::Scan>(node);
  });
}

/// Whether a body has weights of its own. Those of recurrent operators are captured, and other
/// rules look at them (derive/scan_chain).
static bool hasWeights(const te::Program &body) {
  constexpr double leastBytes = 1024;
  return llvm::any_of(body.values, [](const te::Value &value) {
    return value.kind == te::ValueKind::Constant && value.bytes() >= leastBytes;
  });
}

Expected<te::Program> withFormsOfBodies(te::Program program, const Planning &planning,
                                        derive::Assumptions &assumed) {
  auto hasForms = [](const te::Node &node) {
    const auto *scan = std::get_if<te::Scan>(&node);
    return scan && (scan->goesOnWhile || hasWeights(*scan->body)) && hasSums(*scan->body);
  };
  if (!planning.options.open.empty() || llvm::none_of(program.nodes, hasForms))
    return program;
  CompileOptions options = planning.options;
  options.log = nullptr;
  options.likely = nullptr;
  options.chosen = nullptr;
  options.priced = 0;
  Planning ofBody{options,       planning.target, planning.phases,
                  planning.memo, false,           planning.measured};
  simplify::Rebuilder out(program);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (!hasForms(program.nodes[node])) {
      out.copy(node);
      continue;
    }
    const te::Program &body = *std::get<te::Scan>(program.nodes[node]).body;
    KINTSUGI_ASSIGN(ChosenForm form, chooseForm(body, ofBody));
    assumed.join(form.assumed);
    out.copyNode(node, std::shared_ptr<const te::Program>(std::move(form.program)));
    out.keepFacts(node);
  }
  return out.finish();
}

} // namespace kintsugi::pipeline
