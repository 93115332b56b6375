//===- check_operators.cpp - Finds what can't be imported, all at once -------===//
//
// Looks at every node before any is imported: all unsupported operators are named together, and
// nodes that are not as ONNX says of their operators go no further.
//

#include "import/importer.h"
#include "import/needed_nodes.h"
#include "import/registry.h"
#include "import/schemas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace kintsugi::import {
namespace {

constexpr size_t namedNodes = 3; ///< For each operator, in the message.

struct Use {
  std::vector<std::string> nodes; ///< The first few.
  uint64_t count = 0;
};

class OperatorCheck {
public:
  explicit OperatorCheck(const Model &model) : model(model), functions(model) {}

  Status run(const std::vector<Node> &nodes, const std::vector<std::string> &outputs) {
    KINTSUGI_ASSIGN(auto opsets, opsetsOf(model.opsets));
    visit(nodes, outputs, opsets);
    while (!pending.empty()) {
      const Function *function = pending.back();
      pending.pop_back();
      auto own = opsets;
      if (!function->opsets.empty()) {
        KINTSUGI_ASSIGN(own, opsetsOf(function->opsets));
      }
      visit(function->nodes, function->outputs, own);
    }
    if (!unsupported.empty())
      return inputError(message());
    return std::move(malformed);
  }

private:
  void visit(const std::vector<Node> &nodes, const std::vector<std::string> &outputs,
             const std::map<std::string, int64_t> &opsets) {
    std::vector<bool> needed = neededNodes(nodes, outputs);
    for (auto [number, node] : llvm::enumerate(nodes)) {
      auto opset = opsets.find(node.domain);
      int64_t version = opset == opsets.end() ? 1 : opset->second;
      const Function *function = functions.find(node);
      if (!function && malformed.ok())
        if (Status status = checkAgainstSchema(node, version); !status.ok())
          malformed = at(describe(node), status.takeError());
      if (!needed[number])
        continue;
      for (const Attribute &attribute : node.attributes)
        if (attribute.graph)
          visit(attribute.graph->nodes, outputNames(*attribute.graph), opsets);
      if (function) {
        if (seen.insert(function).second)
          pending.push_back(function);
        continue;
      }
      if (findOperator(node.domain, node.op, version))
        continue;
      Use &use = unsupported[node.domain.empty() ? node.op : node.domain + "." + node.op];
      if (++use.count <= namedNodes)
        use.nodes.push_back(
            "'" + (node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name) + "'");
    }
  }

  std::string message() const {
    std::string text = unsupported.size() == 1
                           ? "1 operator is not supported: "
                           : std::to_string(unsupported.size()) + " operators are not supported: ";
    bool first = true;
    for (const auto &[name, use] : unsupported) {
      text += (first ? "" : "; ") + name + (use.count == 1 ? " (node " : " (nodes ");
      text += llvm::join(use.nodes, ", ");
      if (use.count > namedNodes)
        text += " and " + std::to_string(use.count - namedNodes) + " more";
      text += ")";
      first = false;
    }
    return text + "; export the model without them";
  }

  const Model &model;
  FunctionTable functions;
  std::map<std::string, Use> unsupported;
  Status malformed; ///< The first one.
  std::set<const Function *> seen;
  std::vector<const Function *> pending;
};

} // namespace

Status checkOperators(const Model &model) {
  return OperatorCheck(model).run(model.graph.nodes, outputNames(model.graph));
}

Status checkOperators(const Model &model, const Node &node) {
  return OperatorCheck(model).run({node}, node.outputs);
}

Expected<std::map<std::string, int64_t>> opsetsOf(const std::vector<OpsetImport> &imports) {
  std::map<std::string, int64_t> result;
  for (const OpsetImport &import : imports)
    result[import.domain] = import.version;
  auto own = result.find("");
  if (own != result.end() && (own->second < oldestOpset || own->second > newestOpset))
    return inputError("it uses version " + std::to_string(own->second) +
                      " of ONNX's operators; versions " + std::to_string(oldestOpset) + " to " +
                      std::to_string(newestOpset) +
                      " are supported: convert it with onnx.version_converter");
  return result;
}

std::string describe(const Node &node) {
  const std::string &name =
      node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return "node '" + name + "' (" + (node.domain.empty() ? "" : node.domain + ".") + node.op + ")";
}

} // namespace kintsugi::import
