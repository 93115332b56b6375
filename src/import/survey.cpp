//===- survey.cpp - What each node asks for, and whether it can be imported --===//
//
// For whoever has another runtime for what is refused here: the import goes on past it.
//
//===----------------------------------------------------------------------===//

#include "base/checked.h"
#include "import/importer.h"
#include "import/needed_nodes.h"
#include "te/constant.h"
#include "te/operations.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::import {

void Importer::addInputsFor(const Node &node, Scope &scope) {
  for (const std::string &name : node.outputs) {
    if (name.empty())
      continue;
    scope.names.erase(name);
    auto declared = scope.declared.find(name);
    if (declared == scope.declared.end() || !addInput(*declared->second, scope).ok())
      scope.absent[name] = "its input '" + name + "' comes of " + describe(node) +
                           ", which is refused, and its type or shape is not known when compiling";
  }
}

NodeSurvey Importer::surveyNode(const Node &node, Scope &scope) {
  NodeSurvey result;
  size_t before = program.nodes.size();
  uint64_t left = nodesLeft;
  unknownInputs.clear();
  Status status = checkOperators(model, node);
  if (status.ok())
    status = importNode(node, scope);
  if (!status.ok()) {
    failedDepth.reset();
    nodesLeft = left;
    result.refusal = status.takeError().message;
    for (const ValueInfo &input : model.graph.inputs)
      if (unknownInputs.count(input.name))
        result.needs.push_back(input.name);
    addInputsFor(node, scope);
    return result;
  }
  for (size_t added = before; added < program.nodes.size(); ++added)
    result.operations += te::operationsOf(program.nodes[added]);
  for (const std::string &name : node.outputs)
    if (auto found = scope.names.find(name); found != scope.names.end() && found->second.tensor) {
      const te::Value &value = program.value(*found->second.tensor);
      std::vector<int64_t> dims = te::plainShape(program.shape(*found->second.tensor));
      result.bytes += uint64_t(bytesOf(value.type, dims).value_or(0));
    }
  return result;
}

void Importer::refuseSharersOfSequences(const Scope &scope,
                                        std::vector<NodeSurvey> &surveys) const {
  auto namesOf = [&](const NodeSurvey &survey) {
    const Node &node = model.graph.nodes[survey.node];
    std::vector<std::string> names = node.inputs;
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
    return names;
  };
  auto isSequence = [&](const std::string &name) {
    auto found = scope.names.find(name);
    return found != scope.names.end() && found->second.sequence;
  };
  std::vector<std::string> names = outputNames(model.graph);
  std::set<std::string> outside(names.begin(), names.end());
  for (const NodeSurvey &survey : surveys)
    if (survey.refusal)
      for (const std::string &name : namesOf(survey))
        outside.insert(name);
  // Backwards first: who takes a sequence mostly stands behind who gives it.
  for (bool changes = true; changes;) {
    changes = false;
    for (NodeSurvey &survey : llvm::reverse(surveys)) {
      std::vector<std::string> own = namesOf(survey);
      auto shared = llvm::find_if(
          own, [&](const std::string &name) { return isSequence(name) && outside.count(name); });
      if (survey.refusal || shared == own.end())
        continue;
      survey.refusal = "the sequence '" + *shared + "' is also read or made by what is refused";
      outside.insert(own.begin(), own.end());
      changes = true;
    }
  }
}

Expected<std::vector<NodeSurvey>> Importer::survey() {
  surveys = true;
  KINTSUGI_RETURN_IF_ERROR(checkModel());
  KINTSUGI_ASSIGN(Opsets opsets, opsetsOf(model.opsets));
  Scope scope;
  scope.opsets = &opsets;
  scope.nodes = &model.graph.nodes;
  current = &scope;
  openGraph(model.graph, scope);
  KINTSUGI_RETURN_IF_ERROR(checkOptionsUsed(scope));
  for (const ValueInfo &input : model.graph.inputs)
    if (Status status = addInput(input, scope); !status.ok())
      scope.absent[input.name] = status.takeError().message;

  std::vector<NodeSurvey> result;
  std::vector<bool> needed = neededNodes(model.graph.nodes, outputNames(model.graph));
  for (auto [number, node] : llvm::enumerate(model.graph.nodes))
    if (needed[number]) {
      result.push_back(surveyNode(node, scope));
      result.back().node = number;
    }
  refuseSharersOfSequences(scope, result);
  return result;
}

Expected<std::vector<NodeSurvey>> surveyNodes(const Model &model, const std::string &folder,
                                              const ImportOptions &options) {
  return Importer(model, folder, options).survey();
}

} // namespace kintsugi::import
