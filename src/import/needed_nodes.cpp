//===- needed_nodes.cpp - The nodes that a graph's outputs need --------------===//

#include "import/needed_nodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace kintsugi::import {

static void addNames(const Node &node, llvm::StringSet<> &names) {
  for (const std::string &input : node.inputs)
    names.insert(input);
  for (const Attribute &attribute : node.attributes) {
    if (!attribute.graph)
      continue;
    for (const ValueInfo &output : attribute.graph->outputs)
      names.insert(output.name);
    for (const Node &inner : attribute.graph->nodes)
      addNames(inner, names);
  }
}

std::vector<bool> neededNodes(const std::vector<Node> &nodes,
                              const std::vector<std::string> &outputs) {
  llvm::StringSet<> wanted;
  for (const std::string &output : outputs)
    wanted.insert(output);
  std::vector<bool> needed(nodes.size(), false);
  for (size_t number = nodes.size(); number-- > 0;) {
    const Node &node = nodes[number];
    needed[number] = llvm::any_of(node.outputs, [&](const std::string &output) {
      return !output.empty() && wanted.contains(output);
    });
    if (needed[number])
      addNames(node, wanted);
  }
  return needed;
}

std::vector<std::string> outputNames(const Graph &graph) {
  std::vector<std::string> names;
  for (const ValueInfo &output : graph.outputs)
    names.push_back(output.name);
  return names;
}

} // namespace kintsugi::import
