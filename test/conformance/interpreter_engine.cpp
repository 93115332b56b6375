#include "interpreter_engine.h"

#include "te/interpreter.h"

namespace kintsugi::conformance {

Means meansOf(const te::Program &program) {
  std::vector<bool> reached(program.nodes.size());
  std::vector<te::ValueId> pending;
  for (const te::Program::Output &output : program.outputs)
    pending.push_back(output.value);
  bool folded = true, called = false;
  while (!pending.empty()) {
    const te::Value &value = program.value(pending.back());
    pending.pop_back();
    folded &= value.kind != te::ValueKind::Input;
    if (value.kind != te::ValueKind::Result || reached[value.node])
      continue;
    reached[value.node] = true;
    called |= std::holds_alternative<te::Call>(program.nodes[value.node]);
    for (te::ValueId operand : program.operandsOf(value.node))
      pending.push_back(operand);
  }
  return folded ? Means::Folded : called ? Means::Call : Means::Generated;
}

Expected<Outcome> InterpreterEngine::run(const Case &which, std::map<std::string, Tensor> inputs) {
  KINTSUGI_ASSIGN(import::ImportOptions options, importOptions(which, inputs));
  Diagnostics diagnostics;
  KINTSUGI_ASSIGN(te::Program program, import::importOnnx(which.model(), options, diagnostics));
  std::vector<TensorView> views;
  for (te::ValueId id : program.inputs) {
    auto input = inputs.find(program.value(id).name);
    if (input == inputs.end())
      return internalError("the program has the input '" + program.value(id).name +
                           "', the case has none");
    views.push_back(input->second.view());
  }
  KINTSUGI_ASSIGN(std::vector<Tensor> results, te::interpret(program, views));
  Outcome outcome;
  outcome.means = meansOf(program);
  for (size_t i = 0; i < results.size(); ++i)
    outcome.outputs.insert_or_assign(program.outputs[i].name, std::move(results[i]));
  return outcome;
}

} // namespace kintsugi::conformance
